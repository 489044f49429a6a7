// A crowd that waits on one file, in a few processes: the process that leads is killed, again and again, with everybody who waits in it. For the test of
// herds, and for bench/sqlite-crowd.mjs.
import { readFileSync } from "node:fs";
import { judgeLog, type LogVerdict } from "conclave/testing";
import { type Heard, nowMs, type Player, Stage } from "./processes.ts";

export interface Crowd {
  readonly processes: number;
  /** In each of them. */
  readonly candidates: number;
  readonly rounds: number;
}

export interface CrowdRounds {
  /** From before the signal until the next candidate says that it leads. */
  readonly killedMs: readonly number[];
  /** What candidates of living processes reported as errors between the two. */
  readonly errors: number;
  readonly verdict: LogVerdict;
}

export async function killLeaders(crowd: Crowd): Promise<CrowdRounds> {
  const stage = new Stage();
  try {
    return await play(stage, crowd);
  } finally {
    await stage.end();
  }
}

async function play(stage: Stage, { processes, candidates, rounds }: Crowd): Promise<CrowdRounds> {
  const shared = { path: stage.file("crowd.db"), log: stage.file("crowd.log"), ttlMs: 15_000, candidates };
  let begun = 0;
  const begin = async (): Promise<Player> => {
    const player = await stage.start({ ...shared, id: `p${++begun}` });
    await player.hears("ready", 0, 120_000);
    return player;
  };
  let players: Player[] = [];
  for (let index = 0; index < processes; index++) players.push(await begin());
  const killedMs: number[] = [];
  let errors = 0;
  for (let round = 0; round < rounds; round++) {
    const leader = players.find(({ leads }) => leads);
    if (leader === undefined) throw new Error("nobody leads");
    players = players.filter((player) => player !== leader);
    const before = await errorsOf(players);
    const killedAt = nowMs();
    leader.signal("SIGKILL");
    const { at } = await firstElected(players, killedAt);
    killedMs.push(at - killedAt);
    await leader.exited();
    errors += (await errorsOf(players)) - before;
    players.push(await begin());
  }
  await Promise.all(players.map((player) => player.kill()));
  return { killedMs, errors, verdict: judgeLog(readFileSync(shared.log, "utf8")) };
}

async function firstElected(players: readonly Player[], fromMs: number): Promise<Heard> {
  return await Promise.any(players.map((player) => player.hears("elected", fromMs, 30_000)));
}

async function errorsOf(players: readonly Player[]): Promise<number> {
  const askedAt = nowMs();
  for (const player of players) player.tell("count");
  const counts = await Promise.all(players.map((player) => player.hears("counted", askedAt, 30_000)));
  return counts.reduce((sum, { heard }) => sum + (heard?.["error"] ?? 0), 0);
}
