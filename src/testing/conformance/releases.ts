// Releases: conditioned on session and bid, never on a version; idempotent; the end of a session is final.
import type { Bench, Case } from "./bench.ts";
import { checkEqual, checkHolds, checkKind } from "./check.ts";

export const releaseCases: readonly Case[] = [
  { name: "a released name is free at once", run: freesAtOnce },
  { name: "a release by another session or with another bid changes nothing", run: isConditioned },
  { name: "a release sent again is released again, and takes nothing from a successor", run: isIdempotent },
  { name: "a release counts although keeps have moved the version", run: ignoresVersion },
  { name: "several names are released in one call, and only those", run: releasesSeveral },
  { name: "ending a session frees all that it held", run: endsAll },
  {
    name: "an ended session has nothing left in flight: its claims are refused wherever they were aimed",
    run: refusesLateClaims,
  },
];

async function freesAtOnce(bench: Bench): Promise<void> {
  const [first, second] = [await bench.open(), await bench.open()];
  const hold = await bench.win(first, bench.name());
  await bench.giveBack(first, [hold]);
  await bench.checkVacant(hold.name, "a name that was given back is vacant");
  await bench.win(second, hold.name);
  await bench.checkHeldBy(hold.name, second, "a name that was given back may be claimed at once");
  checkHolds((await bench.kept(first, [])).strays, [], "the session of what was given back goes on without it");
}

async function isConditioned(bench: Bench): Promise<void> {
  const [holder, stranger] = [await bench.open(), await bench.open()];
  const hold = await bench.win(holder, bench.name());
  const line = "a release is conditioned on session and bid";
  await bench.giveBack(stranger, [hold]);
  await bench.checkHeldBy(hold.name, holder, line);
  await bench.giveBack(holder, [{ name: hold.name, bid: bench.bid() }]);
  await bench.checkHeldBy(hold.name, holder, line);
  checkHolds((await bench.kept(holder, [hold])).lost, [], line);
}

async function isIdempotent(bench: Bench): Promise<void> {
  const [first, second] = [await bench.open(), await bench.open()];
  const hold = await bench.win(first, bench.name());
  await bench.giveBack(first, [hold]);
  await bench.giveBack(first, [hold]);
  const next = await bench.win(second, hold.name);
  await bench.giveBack(first, [hold]);
  await bench.checkHeldBy(hold.name, second, "an old release takes nothing from a successor");
  await bench.giveBack(second, [next]);
  const own = await bench.win(first, hold.name);
  await bench.giveBack(first, [hold]);
  checkHolds(
    (await bench.kept(first, [own])).lost,
    [],
    "an old release takes nothing from a later term of the same session",
  );
}

async function ignoresVersion(bench: Bench): Promise<void> {
  const session = await bench.open();
  const hold = await bench.win(session, bench.name());
  await bench.kept(session, [hold]);
  await bench.kept(session, [hold]);
  await bench.giveBack(session, [hold]);
  await bench.checkVacant(hold.name, "a release is never conditioned on a version: renewals still in flight move it");
}

async function releasesSeveral(bench: Bench): Promise<void> {
  const session = await bench.open();
  const holds = [];
  for (let index = 0; index < 4; index++) holds.push(await bench.win(session, bench.name()));
  const [first, ...others] = holds;
  await bench.giveBack(session, others);
  checkEqual(
    await seatStates(bench, holds),
    ["held", "vacant", "vacant", "vacant"],
    "a release gives back what it names",
  );
  checkHolds((await bench.kept(session, holds)).lost, others, "a release gives back what it names, and no more");
  await bench.giveBack(session, first === undefined ? [] : [first]);
}

async function endsAll(bench: Bench): Promise<void> {
  const [session, other] = [await bench.open(), await bench.open()];
  const holds = [
    await bench.win(session, bench.name()),
    await bench.win(session, bench.name()),
    await bench.win(other, bench.name()),
  ];
  await bench.giveBack(session, [], true);
  checkEqual(
    await seatStates(bench, holds),
    ["vacant", "vacant", "held"],
    "the end of a session frees its seats, and nobody else's",
  );
  await bench.giveBack(session, [], true);
  for (const { name } of holds.slice(0, 2)) await bench.win(other, name);
}

async function seatStates(bench: Bench, holds: readonly { readonly name: string }[]): Promise<readonly string[]> {
  return (await bench.seats(holds.map(({ name }) => ({ name })))).map(({ state }) => state);
}

async function refusesLateClaims(bench: Bench): Promise<void> {
  const session = await bench.open();
  const hold = await bench.win(session, bench.name());
  const aimed = bench.name();
  const { version } = await bench.seat(aimed);
  await bench.giveBack(session, [hold], true);
  const line = "what a session had in flight when it ended is refused";
  const again = await bench.stand(session, hold.name, hold.bid);
  checkKind(again, "session-lost", line);
  checkKind(await bench.claim(session, aimed, bench.bid(), version), "session-lost", line);
  checkEqual(await seatStates(bench, [hold, { name: aimed }]), ["vacant", "vacant"], line);
}
