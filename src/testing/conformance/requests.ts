// Requests to hand over, where a store can keep them (`AsksToLeave`): a request is kept for exactly the term that it names, and shown to that term's keeps, and to no other. A store that cannot keep
// requests shows none.
import type { Hold, Kept, Token } from "../../lease/exchange.ts";
import type { AskedToLeave, AsksToLeave, Store } from "../../stores/contract.ts";
import type { Bench, Case } from "./bench.ts";
import { check, checkEqual, checkHolds, checkKind } from "./check.ts";

export const requestCases: readonly Case[] = [
  { name: "a request to hand over is shown to the keeps of the term that it names, and ends nothing", run: isShown },
  { name: "a request to hand over that names another token, bid or domain is not kept", run: namesOneTerm },
  { name: "a request to hand over is for a name that is held now", run: isForAHolder },
  { name: "a grant clears the request to hand over of the term before", run: isCleared },
  { name: "a request to hand over moves no version", run: movesNoVersion },
];

type Ask = (name: string, token: Token) => Promise<AskedToLeave>;

/** Returns a session, a name that it holds, and a function that asks. Undefined if the store cannot keep requests, and shows none. */
async function begin(
  bench: Bench,
): Promise<{ hold: Hold & { token: Token }; keep: () => Promise<readonly Hold[]>; ask: Ask } | undefined> {
  const session = await bench.open();
  const hold = await bench.win(session, bench.name());
  const keep = async (): Promise<readonly Hold[]> => askedOf(await bench.kept(session, [hold]));
  checkHolds(await keep(), [], "nothing is shown that nobody has asked for");
  const store = bench.store as Store & Partial<AsksToLeave>;
  if (store.askToLeave === undefined || hold.token === undefined) return undefined;
  const ask: Ask = (name, token) => (store as Store & AsksToLeave).askToLeave(name, token, bench.call());
  return { hold: { ...hold, token: hold.token }, keep, ask };
}

function askedOf(kept: Extract<Kept, { kind: "kept" }>): readonly Hold[] {
  return kept.asked ?? [];
}

async function isShown(bench: Bench): Promise<void> {
  const begun = await begin(bench);
  if (begun === undefined) return;
  const { hold, keep, ask } = begun;
  const line = "a request for the term that holds the name is kept, and may be sent again";
  checkKind(await ask(hold.name, hold.token), "asked", line);
  checkKind(await ask(hold.name, hold.token), "asked", line);
  for (let times = 0; times < 2; times++) {
    const [shown, ...others] = await keep();
    checkEqual(
      [shown?.name, shown?.token, others.length],
      [hold.name, hold.token, 0],
      "every keep of the asked term shows the token that was asked",
    );
  }
  check((await bench.holder(hold.name)) !== undefined, "a request ends nothing by itself", "the holder", undefined);
}

async function namesOneTerm(bench: Bench): Promise<void> {
  const begun = await begin(bench);
  if (begun === undefined) return;
  const { hold, keep, ask } = begun;
  const { token } = hold;
  const others: readonly Token[] = [
    { ...token, value: token.value + 1n },
    { ...token, bid: bench.bid() },
    { ...token, domain: `${token.domain}-other` },
  ];
  const line = "a request that names another term than the one in office is not kept";
  for (const other of others) {
    const { seat } = checkKind(await ask(hold.name, other), "not-leading", line);
    checkEqual(seat.holder?.token, token.value, "the answer shows who leads");
    checkHolds(await keep(), [], line);
  }
}

async function isForAHolder(bench: Bench): Promise<void> {
  const begun = await begin(bench);
  if (begun === undefined) return;
  const line = "nobody can be asked who does not lead";
  checkKind(await begun.ask(bench.name(), begun.hold.token), "not-leading", line);
  const session = await bench.open();
  const hold = await bench.win(session, bench.name());
  await bench.giveBack(session, [hold]);
  checkKind(await begun.ask(hold.name, hold.token ?? begun.hold.token), "not-leading", line);
  const last = await bench.win(session, bench.name());
  await bench.giveBack(session, [], true);
  checkKind(await begun.ask(last.name, last.token ?? begun.hold.token), "not-leading", line);
}

async function isCleared(bench: Bench): Promise<void> {
  const begun = await begin(bench);
  if (begun === undefined) return;
  const session = await bench.open();
  const first = await bench.win(session, bench.name());
  checkKind(await begun.ask(first.name, first.token ?? begun.hold.token), "asked", "the holder can be asked");
  await bench.giveBack(session, [first]);
  const second = await bench.win(session, first.name);
  const line = "a request for a term that is over is shown to no later one";
  checkHolds(askedOf(await bench.kept(session, [second])), [], line);
  checkKind(await begun.ask(first.name, first.token ?? begun.hold.token), "not-leading", line);
  checkHolds(askedOf(await bench.kept(session, [second])), [], line);
}

/** A rival that watches for silence must see the holder's own writes, and not the requests of others. */
async function movesNoVersion(bench: Bench): Promise<void> {
  const begun = await begin(bench);
  if (begun === undefined) return;
  const { version } = await bench.seat(begun.hold.name);
  checkKind(await begun.ask(begun.hold.name, begun.hold.token), "asked", "the holder can be asked");
  checkEqual((await bench.seat(begun.hold.name)).version, version, "a request is no sign of life of the holder");
}
