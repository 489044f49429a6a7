// Tokens exist exactly where the store fences. The grant chooses them, they grow for ever, and each is bound to its bid.
import type { Hold, Session, Token } from "../../lease/exchange.ts";
import type { Bench, Case } from "./bench.ts";
import { check, checkEqual } from "./check.ts";

export const tokenCases: readonly Case[] = [
  { name: "tokens are given exactly if the guarantee says fenced", run: givesTokens },
  { name: "a token carries the bid of its claim and a domain that stays", run: carriesBid },
  { name: "a look shows the holder's token with its domain", run: showsToken },
  { name: "tokens grow from holder to holder, across release, re-claim and the end of a session", run: grows },
];

async function givesTokens(bench: Bench): Promise<void> {
  const hold = await bench.win(await bench.open(), bench.name());
  const fenced = bench.guarantee.fencing === "fenced";
  check(
    (hold.token !== undefined) === fenced,
    "a hold has a token exactly if the store declares fencing",
    fenced ? "a token" : "no token",
    hold,
  );
  check(
    hold.token === undefined || typeof hold.token.value === "bigint",
    "a token's value is a bigint",
    "a bigint",
    typeof hold.token?.value,
  );
}

async function carriesBid(bench: Bench): Promise<void> {
  const session = await bench.open();
  const [a, b] = [await bench.win(session, bench.name()), await bench.win(await bench.open(), bench.name())];
  for (const { token, bid } of [a, b])
    checkEqual(token?.bid, isFenced(bench) ? bid : undefined, "a token carries the bid of its claim");
  checkEqual(b.token?.domain, a.token?.domain, "tokens of one store are of one domain");
  check(!isFenced(bench) || a.token?.domain !== "", "a token names its domain", "a domain", a.token);
}

/** Checks the token that a look shows, if it shows one. Without its domain nobody could compare it: tokens compare only within one domain. */
async function showsToken(bench: Bench): Promise<void> {
  const hold = await bench.win(await bench.open(), bench.name());
  const holder = (await bench.seat(hold.name)).holder;
  if (holder?.token === undefined) return;
  checkEqual(holder.token, hold.token?.value, "a look shows the token of the holder");
  checkEqual(holder.domain, hold.token?.domain, "a look that shows a token shows its domain beside it");
}

async function grows(bench: Bench): Promise<void> {
  const name = bench.name();
  const tokens: (Token | undefined)[] = [];
  const win = async (session: Session): Promise<Hold> => {
    const hold = await bench.win(session, name);
    tokens.push(hold.token);
    return hold;
  };
  for (let round = 0; round < 3; round++) {
    const session = await bench.open();
    await bench.giveBack(session, [await win(session)]);
    await bench.giveBack(session, [await win(session)]);
    await win(session);
    await bench.giveBack(session, [], true);
  }
  tokens.forEach((token, index) => {
    const before = tokens[index - 1];
    const line =
      "of two grants of one name in one domain the later has the greater value; the counter outlives the record";
    if (isFenced(bench))
      check(
        index === 0 || (token?.value ?? 0n) > (before?.value ?? 0n),
        line,
        `more than ${before?.value}`,
        token?.value,
      );
    else checkEqual(token, undefined, "an unfenced store gives no tokens");
  });
}

function isFenced({ guarantee }: Bench): boolean {
  return guarantee.fencing === "fenced";
}
