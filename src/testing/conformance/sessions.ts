// Sessions are opened once, kept, and over for good; a keep reports the holds that are bound to its session.
import type { Bench, Case } from "./bench.ts";
import { check, checkEqual, checkHolds, checkKind } from "./check.ts";

export const sessionCases: readonly Case[] = [
  { name: "opening twice with one nonce is one opening", run: opensOnce },
  { name: "an opening grants a ttl within the bounds of the guarantee, and no keep changes it", run: grantsTtl },
  { name: "a keep of a session that was never opened answers session-lost", run: refusesUnknown },
  { name: "a keep of an ended session answers session-lost", run: staysOver },
  { name: "opening again with the nonce of an ended session answers session-lost", run: staysOverWhenOpened },
  { name: "a claim by an ended session is not applied", run: refusesClaims },
  { name: "a keep reports exactly the holds that are gone", run: reportsLost },
  { name: "a keep reports what stands in its session and was not sent along", run: reportsStrays },
  { name: "two hundred holds are kept in one call", run: keepsMany },
];

async function opensOnce(bench: Bench): Promise<void> {
  const spec = bench.spec();
  const first = await bench.open(spec);
  const name = bench.name();
  const hold = await bench.win(first, name);
  const second = await bench.open(spec);
  checkEqual(second, first, "opening again with the same nonce is the same opening");
  checkEqual(first.candidate, spec.candidate, "a session carries the candidate it was opened for");
  const kept = await bench.kept(second, [hold]);
  checkHolds(kept.lost, [], "opening again changes nothing that the session holds");
}

async function grantsTtl(bench: Bench): Promise<void> {
  const { minMs, maxMs } = bench.guarantee.ttl;
  const session = await bench.open();
  check(
    session.ttlMs >= minMs && session.ttlMs <= maxMs,
    "a session's ttl is one that the store can grant",
    `${minMs} to ${maxMs}`,
    session.ttlMs,
  );
  const kept = await bench.kept(session);
  checkEqual(kept.session, session, "the session is fixed by the opening; no keep changes it");
}

async function refusesUnknown(bench: Bench): Promise<void> {
  const real = await bench.open();
  await bench.giveBack(real, [], true);
  const kept = await bench.keep({ ...real, id: unlike(real.id) });
  checkKind(kept, "session-lost", "a session that the store does not know is lost");
}

/** Returns another id of the same form, since stores have forms of their own. */
function unlike(id: string): string {
  const last = id.at(-1) ?? "";
  return id.slice(0, -1) + (last === "1" ? "2" : "1");
}

async function staysOver(bench: Bench): Promise<void> {
  const session = await bench.open();
  const hold = await bench.win(session, bench.name());
  await bench.giveBack(session, [], true);
  const line = "a session that is over stays over";
  checkKind(await bench.keep(session, [hold]), "session-lost", line);
  checkKind(await bench.keep(session), "session-lost", line);
}

async function staysOverWhenOpened(bench: Bench): Promise<void> {
  const spec = bench.spec();
  await bench.giveBack(await bench.open(spec), [], true);
  checkKind(await bench.keep(spec), "session-lost", "the nonce of a session that is over is spent");
}

async function refusesClaims(bench: Bench): Promise<void> {
  const session = await bench.open();
  const name = bench.name();
  const { version } = await bench.seat(name);
  await bench.giveBack(session, [], true);
  const claimed = await bench.claim(session, name, bench.bid(), version);
  checkKind(claimed, "session-lost", "a claim by a session that is over is not applied");
  await bench.checkVacant(name, "a claim by a session that is over leaves nothing behind");
}

async function reportsLost(bench: Bench): Promise<void> {
  const session = await bench.open();
  const stays = await bench.win(session, bench.name());
  const goes = await bench.win(session, bench.name());
  checkHolds(
    (await bench.kept(session, [stays, goes])).lost,
    [],
    "lost: of the holds sent along, those that are no longer there",
  );
  await bench.giveBack(session, [goes]);
  const kept = await bench.kept(session, [stays, goes]);
  checkHolds(kept.lost, [goes], "lost: of the holds sent along, those that are no longer there");
  await bench.win(await bench.open(), goes.name);
  const again = await bench.kept(session, [stays, goes]);
  checkHolds(again.lost, [goes], "a hold that is another's now is lost");
}

async function reportsStrays(bench: Bench): Promise<void> {
  const session = await bench.open();
  const known = await bench.win(session, bench.name());
  const stray = await bench.win(session, bench.name());
  await bench.win(await bench.open(), bench.name());
  const line = "strays: entries of this session that were not sent along";
  checkHolds((await bench.kept(session, [known])).strays, [stray], line);
  checkHolds((await bench.kept(session, [known, stray])).strays, [], line);
  await bench.giveBack(session, [stray]);
  checkHolds((await bench.kept(session, [known])).strays, [], line);
}

async function keepsMany(bench: Bench): Promise<void> {
  const session = await bench.open();
  const count = Math.min(200, bench.guarantee.holdsPerSession);
  const names = Array.from({ length: count }, () => bench.name());
  const seats = await bench.seats(names.map((name) => ({ name })));
  const claims = names.map((name, index) => ({
    session,
    name,
    bid: bench.bid(),
    over: seats[index]?.version,
    value: "",
  }));
  const claimed = await bench.claims(claims);
  checkEqual(claimed.length, count, "claims are answered one by one");
  const holds = claimed.map(
    (answer) => checkKind(answer, "granted", "a name that is free is granted to the session that claims it").hold,
  );
  const kept = await bench.kept(session, holds);
  checkHolds(kept.lost, [], "one keep extends a session and every hold bound to it");
  checkHolds(kept.strays, [], "what was sent along is no stray");
  await bench.giveBack(session, holds, true);
}
