// Silence: a session that sends no keeps loses everything, no earlier than its ttl, for good; and only a keep ends the silence. Where the store judges, these cases wait for it. Where a rival judges,
// they take the seat: then the rules that the rival follows vouch for the silence, not the store.
import type { Hold, Session } from "../../lease/exchange.ts";
import type { Bench, Case } from "./bench.ts";
import { check, checkEqual, checkHolds, checkKind } from "./check.ts";

export const silenceCases: readonly Case[] = [
  { name: "a silent session loses its seats, and its keeps and claims are refused for ever", run: endsForGood },
  { name: "no seat is freed before the ttl of its silent holder", run: waitsForTtl },
  { name: "looking extends nothing", run: looksExtendNothing },
  { name: "opening again extends nothing", run: openingsExtendNothing },
  { name: "keeps hold a session for longer than its ttl", run: keepsExtend },
];

const FREED = "a session that is silent for its ttl is over";

/** Waits until the judge frees the seat of a silent holder. Returns the session that has it then. */
async function replace(bench: Bench, hold: Hold, ttlMs: number): Promise<Session> {
  const taker = await bench.open();
  if (!bench.isTaken)
    await bench.until(async () => (await bench.seat(hold.name)).state === "vacant", ttlMs, FREED, "a vacant seat");
  const next = await bench.win(taker, hold.name);
  check(
    next.token === undefined || next.token.value > (hold.token?.value ?? 0n),
    "a successor's token is greater",
    `more than ${hold.token?.value}`,
    next.token?.value,
  );
  return taker;
}

async function endsForGood(bench: Bench): Promise<void> {
  const silent = await bench.open(bench.spec(bench.isTaken ? undefined : bench.shortTtlMs));
  const [taken, other] = [await bench.win(silent, bench.name()), await bench.win(silent, bench.name())];
  const taker = await replace(bench, taken, silent.ttlMs);
  await bench.checkHeldBy(taken.name, taker, "the session that swapped over a silent seat holds it");
  if (bench.guarantee.keep === "per-hold") {
    checkHolds(
      (await bench.kept(silent, [taken, other])).lost,
      [taken],
      "a record that another holds is lost to its old holder",
    );
    return;
  }
  const line = "dead is stable: no keep and no claim of a session that was taken over, or ran out, can succeed";
  checkKind(await bench.keep(silent, [taken, other]), "session-lost", line);
  await bench.checkVacant(other.name, "one proof of death frees all seats of the session");
  checkKind(await bench.stand(silent, other.name, other.bid), "session-lost", line);
  checkKind(await bench.stand(silent, bench.name()), "session-lost", line);
  checkKind(await bench.keep(silent), "session-lost", line);
  await bench.checkHeldBy(taken.name, taker, "what a dead session sends changes nothing");
}

async function waitsForTtl(bench: Bench): Promise<void> {
  const silent = await bench.open(bench.spec(bench.shortTtlMs));
  const hold = await bench.win(silent, bench.name());
  const sentAtMs = bench.nowMs();
  await bench.kept(silent, [hold]);
  if (bench.isTaken) {
    // No rival claims, so no rival judges: the seat is still held, and shows the ttl to judge it by.
    await bench.sleep(silent.ttlMs * 1.5);
    const seat = await bench.seat(hold.name);
    checkEqual(
      [seat.state, seat.ttlMs],
      ["held", silent.ttlMs],
      "where takers judge, the store frees nothing by itself and records the holder's ttl",
    );
    return;
  }
  await bench.until(async () => (await bench.seat(hold.name)).state === "vacant", silent.ttlMs, FREED, "a vacant seat");
  const elapsedMs = bench.nowMs() - sentAtMs;
  const leastMs = silent.ttlMs * 0.99 - 5;
  check(
    bench.mayEndEarly(silent) || elapsedMs >= leastMs,
    "the judge counts the granted ttl from the receipt of the last keep",
    `at least ${leastMs} ms`,
    elapsedMs,
  );
}

async function looksExtendNothing(bench: Bench): Promise<void> {
  const silent = await bench.open(bench.spec(bench.shortTtlMs));
  const hold = await bench.win(silent, bench.name());
  const line = "a look extends nothing";
  const look = (): ReturnType<Bench["seat"]> => bench.seat(hold.name, { bid: hold.bid, session: silent });
  if (bench.isTaken) checkEqual((await look()).version, (await look()).version, line);
  else
    await bench.until(
      async () => (await look()).state === "vacant",
      silent.ttlMs,
      line,
      "a session that runs out although it is looked at",
    );
}

async function openingsExtendNothing(bench: Bench): Promise<void> {
  const spec = bench.spec(bench.shortTtlMs);
  const silent = await bench.open(spec);
  const hold = await bench.win(silent, bench.name());
  const line = "opening again with the same nonce extends nothing";
  const before = await bench.seat(hold.name);
  if (bench.isTaken) {
    checkEqual((await bench.keep(spec)).kind, "kept", "opening again with the same nonce is the same opening");
    checkEqual((await bench.seat(hold.name)).version, before.version, line);
  } else
    await bench.until(
      async () => (await bench.keep(spec)).kind === "session-lost",
      silent.ttlMs,
      line,
      "a session that runs out although it is opened again",
    );
}

/** On a machine that is busy for longer than the ttl, keeps come too late. The store's reaction then proves nothing, and the case begins again. */
async function keepsExtend(bench: Bench): Promise<void> {
  for (let attempt = 1; attempt < ATTEMPTS; attempt++) if (await wasKeptInTime(bench)) return;
  check(await wasKeptInTime(bench), "keeps can be sent within the ttl", "a keep within each ttl", "none in time");
}

const ATTEMPTS = 5;

async function wasKeptInTime(bench: Bench): Promise<boolean> {
  const line = "a session that is kept in time goes on, with every hold bound to it";
  let provenAtMs = bench.nowMs();
  const session = await bench.open(bench.spec(bench.shortTtlMs));
  const hold = await bench.win(session, bench.name());
  const isLate = (): boolean => bench.nowMs() - provenAtMs >= session.ttlMs * 0.9;
  const untilMs = provenAtMs + 1.5 * session.ttlMs;
  for (let sentAtMs = provenAtMs; sentAtMs < untilMs; provenAtMs = sentAtMs) {
    await bench.sleep(session.ttlMs / 10);
    sentAtMs = bench.nowMs();
    const answer = await bench.keep(session, [hold]);
    if ((answer.kind !== "kept" || answer.lost.length > 0) && isLate()) return false;
    checkHolds(checkKind(answer, "kept", line).lost, [], line);
  }
  if ((await bench.seat(hold.name)).state !== "held" && isLate()) return false;
  await bench.checkHeldBy(hold.name, session, "a session that is kept in time goes on");
  return true;
}
