// Takeovers between real processes, again and again: the leader is killed, stopped or asked to resign, and the next one's first fenced write is waited for.
// For tests, benchmarks and the stress run alike. Every process writes what the judge reads; times are of the clock that all of them share.
//
// A takeover lasts from before the signal is sent (or from the moment at which the old leader's work has ended) until a write of the next one has passed
// the fence and is committed. For a stopped leader the ttl is counted from its last renewal, as its row says.
import { readFileSync } from "node:fs";
import { judgeLog, type LogVerdict } from "conclave/testing";
import { heldUntilMs, nextKeep, nowMs, type Player, sleep, Stage } from "./processes.ts";

export interface Samples {
  /** Milliseconds, one a round. */
  readonly kill: number[];
  /** After SIGSTOP, over the ttl. */
  readonly stop: number[];
  readonly resign: number[];
  /** Rounds in which a stopped leader was not waited for. */
  early: number;
  /** Rounds done again: the leader was stopped in the midst of a commit, with SQLite's lock in its hand, or had just lost its term to the load. */
  again: number;
}

export interface Rounds {
  /** Of each kind. */
  readonly rounds: number;
  /** Right after a renewal, which is the longest that a stopped leader can be waited for; or at any moment. */
  readonly stopAt: "renewal" | "any-moment";
  /** Pairs that are stopped side by side. */
  readonly pairs: number;
}

const STOP_TTL_MS = 1000;
const TTL_MS = 10_000;
/** On a machine with nothing to spare. */
const PATIENCE_MS = 30_000;

/** Runs them all in a folder of their own. */
export async function takeOver({
  rounds,
  stopAt,
  pairs,
}: Rounds): Promise<{ samples: Samples; verdicts: LogVerdict[] }> {
  const samples: Samples = { kill: [], stop: [], resign: [], early: 0, again: 0 };
  const stage = new Stage();
  try {
    await killInTurn(stage, rounds, samples);
    await resignInTurn(stage, rounds, samples);
    const each = Math.ceil(rounds / pairs);
    await Promise.all(
      Array.from({ length: pairs }, (_, pair) => stopInTurn(stage, `stop-${pair}`, each, stopAt, samples)),
    );
    const logs = ["kill", "resign", ...Array.from({ length: pairs }, (_, pair) => `stop-${pair}`)];
    const verdicts = logs.map((name) => judgeLog(readFileSync(stage.file(`${name}.log`), "utf8")));
    return { samples, verdicts };
  } finally {
    await stage.end();
  }
}

function places(stage: Stage, name: string): { path: string; log: string; ledger: string } {
  return { path: stage.file(`${name}.db`), log: stage.file(`${name}.log`), ledger: stage.file(`${name}-ledger.db`) };
}

/** There are always two who wait when the leader is killed, and one of them is new. */
async function killInTurn(stage: Stage, rounds: number, samples: Samples): Promise<void> {
  const shared = { ...places(stage, "kill"), ttlMs: TTL_MS };
  let started = 0;
  const start = async (): Promise<Player> => await stage.start({ ...shared, id: `k${++started}` });
  let leader = await start();
  await leader.hears("wrote", 0, PATIENCE_MS);
  let waiters: readonly Player[] = await Promise.all([start(), start()]);
  for (let round = 0; round < rounds; round++) {
    await Promise.all(waiters.map((waiter) => waiter.hears("leader", 0, PATIENCE_MS)));
    await sleep(50);
    const killedAt = nowMs();
    leader.signal("SIGKILL");
    const next = await firstToWrite(waiters, killedAt);
    samples.kill.push(next.at - killedAt);
    leader = next.player;
    waiters = [...waiters.filter((waiter) => waiter !== next.player), await start()];
  }
  await Promise.all([leader, ...waiters].map((player) => player.kill()));
}

async function firstToWrite(players: readonly Player[], fromMs: number): Promise<{ player: Player; at: number }> {
  return await Promise.any(
    players.map(async (player) => ({ player, at: (await player.hears("wrote", fromMs, PATIENCE_MS)).at })),
  );
}

async function pair(
  stage: Stage,
  name: string,
  ttlMs: number,
): Promise<{ path: string; holder: Player; rival: Player }> {
  const shared = { ...places(stage, name), ttlMs };
  const holder = await stage.start({ ...shared, id: `${name}-a` });
  await holder.hears("wrote", 0, PATIENCE_MS);
  const rival = await stage.start({ ...shared, id: `${name}-b` });
  await rival.hears("leader", 0, PATIENCE_MS);
  return { path: shared.path, holder, rival };
}

async function resignInTurn(stage: Stage, rounds: number, samples: Samples): Promise<void> {
  let { holder, rival } = await pair(stage, "resign", TTL_MS);
  for (let round = 0; round < rounds; round++) {
    const askedAt = nowMs();
    holder.tell("resign");
    const { at } = await rival.hears("wrote", askedAt, PATIENCE_MS);
    samples.resign.push(at - (await holder.hears("resigned", askedAt, PATIENCE_MS)).at);
    await holder.hears("released", askedAt, PATIENCE_MS);
    holder.tell("stand");
    await holder.hears("leader", at, PATIENCE_MS);
    await sleep(20);
    [holder, rival] = [rival, holder];
  }
  await Promise.all([holder.kill(), rival.kill()]);
}

async function stopInTurn(
  stage: Stage,
  name: string,
  rounds: number,
  stopAt: Rounds["stopAt"],
  samples: Samples,
): Promise<void> {
  const { path, ...players } = await pair(stage, name, STOP_TTL_MS);
  const both = [players.holder, players.rival];
  for (let round = 0; round < rounds;) {
    const [holder, rival] = await whoLeads(both);
    if (stopAt === "renewal") await nextKeep(path);
    else await sleep((round * 37) % 400);
    const stoppedAt = nowMs();
    holder.signal("SIGSTOP");
    const untilMs = await heldUntilMs(path);
    const wrote = await Promise.race([rival.hears("wrote", stoppedAt, 2 * PATIENCE_MS), sleep(5 * STOP_TTL_MS)]);
    const wasStopped = wrote !== undefined && !rival.heard.some(({ event, at }) => event === "lost" && at > stoppedAt);
    holder.signal("SIGCONT");
    if (wasStopped) {
      round++;
      samples.stop.push(wrote.at - stoppedAt - STOP_TTL_MS);
      if ((await rival.hears("elected", stoppedAt)).at < untilMs) samples.early++;
    } else samples.again++;
    await sleep(50);
  }
  await Promise.all(both.map((player) => player.kill()));
}

/** The one that leads, and the other, which knows it. */
async function whoLeads([a, b]: readonly Player[]): Promise<readonly [leader: Player, other: Player]> {
  if (a === undefined || b === undefined) throw new Error("two take turns");
  for (const until = nowMs() + PATIENCE_MS; nowMs() < until; await sleep(20)) {
    if (a.leads === b.leads) continue;
    const [leader, other] = a.leads ? [a, b] : [b, a];
    const since = leader.heard.findLast(({ event }) => event === "elected")?.at ?? 0;
    if (
      other.heard.some(
        ({ event, at, leader: named }) =>
          event === "leader" && named?.startsWith(`${leader.id}_`) === true && at >= since - 50,
      )
    )
      return [leader, other];
  }
  throw new Error(`nobody leads: ${JSON.stringify([a, b].map(({ heard }) => heard.slice(-5)))}`);
}
