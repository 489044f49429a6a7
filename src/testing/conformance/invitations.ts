// The next leader: invitations, where a store passes them on (`PassesInvitations`), and the second of a line, where a store shows it (`ShowsNext`). A store that cannot do one of the two does not declare
// it.
import type { Hint, Hold, Invitation, Token } from "../../lease/exchange.ts";
import { passesInvitations, type Store, type ShowsNext } from "../../stores/contract.ts";
import type { Bench, Case } from "./bench.ts";
import { check, checkEqual, checkKind } from "./check.ts";

export const invitationCases: readonly Case[] = [
  { name: "a store that passes invitations on is a fenced race that is watched", run: isDeclared },
  { name: "an invitation reaches those who watch the name, and changes nothing else", run: isPassedOn },
  { name: "the second of a line is shown to the first, and to nobody else", run: showsSecond },
];

const HINT_WITHIN_MS = 10_000;
const AGAIN_AFTER_MS = 300;

async function isDeclared({ store, guarantee }: Bench): Promise<void> {
  const line = "invitations name a term by its token, reach those who watch, and are for races";
  const { invites = false, shape, wakes, fencing } = guarantee;
  checkEqual(invites, passesInvitations(store), "a store that declares invitations has the methods for them");
  const isFit = shape === "race" && wakes === "watch" && fencing === "fenced";
  check(!invites || isFit, line, "a fenced race with watches", { shape, wakes, fencing });
}

async function isPassedOn(bench: Bench): Promise<void> {
  const { store } = bench;
  if (!passesInvitations(store)) return;
  const session = await bench.open();
  const hold = await bench.win(session, bench.name());
  const [before, token] = [await bench.seat(hold.name), tokenOf(hold)];
  const invitation: Invitation = { token, to: 'it\'s \\ "she" — 他', priority: 3 };
  const stop = new AbortController();
  const heard = firstInvitation(bench.hints({ name: hold.name }, stop.signal));
  let hint: Hint | string = "no hint";
  for (let waitedMs = 0; waitedMs < HINT_WITHIN_MS && hint === "no hint"; waitedMs += AGAIN_AFTER_MS) {
    checkKind(await store.invite(hold.name, invitation, bench.call()), "told", "an invitation may be sent again");
    hint = await Promise.race([heard, bench.sleep(AGAIN_AFTER_MS).then(() => "no hint")]);
  }
  stop.abort();
  const invited = typeof hint === "string" ? hint : hint.invited;
  checkEqual(invited, invitation, "those who watch the name are told the invitation as it was sent");
  const after = await bench.seat(hold.name);
  checkEqual([after.version, after.holder], [before.version, before.holder], "an invitation is no sign of life");
  const kept = await bench.kept(session, [hold]);
  checkEqual([kept.lost, kept.asked ?? []], [[], []], "an invitation asks nobody to leave");
}

async function firstInvitation(hints: AsyncIterator<Hint>): Promise<Hint | string> {
  for (;;) {
    const result = await hints.next();
    if (result.done === true) return "the watch ended";
    if (result.value.invited !== undefined) return result.value;
  }
}

async function showsSecond(bench: Bench): Promise<void> {
  const store = bench.store as Store & Partial<ShowsNext>;
  if (!bench.isLine || store.showNext === undefined) return;
  const showNext = (token: Token) => (store as Store & ShowsNext).showNext(name, token, bench.call());
  const name = bench.name();
  const [first, second, third] = [await bench.open(), await bench.open(), await bench.open()];
  const hold = await bench.win(first, name);
  const token = tokenOf(hold);
  const line = "the first is shown who stands directly behind it";
  checkEqual(checkKind(await showNext(token), "next", line).candidate, undefined, line);
  const { hold: behind } = checkKind(await bench.stand(second, name), "waiting", "a held name is not granted");
  await bench.stand(third, name);
  checkEqual(checkKind(await showNext(token), "next", line).candidate, second.candidate, line);
  const only = "only the term that is the first is shown it";
  checkKind(await showNext(tokenOf(behind)), "not-leading", only);
  checkKind(await showNext({ ...token, domain: `${token.domain}-other` }), "not-leading", only);
  await bench.giveBack(first, [hold]);
  checkKind(await showNext(token), "not-leading", only);
}

function tokenOf({ token }: Hold): Token {
  check(token !== undefined, "a fenced store gives tokens", "a token", token);
  return token;
}
