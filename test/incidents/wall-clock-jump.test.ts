// Elsewhere: the wall clock jumped an hour on leader, follower or store, and a lease was stolen early or never ended (etcd, ShedLock).
// Here: no effect, because nobody reads it. First leader, waiter and store of one process see the jumps; then real processes on a file or a real server, each
// with a wall clock of its own that is set while it runs (libfaketime; the monotonic clock stays the kernel's). The clock of the server itself: that of Postgres is
// set in test/stores/postgres/faults.test.ts; that of etcd, a Go program, cannot be set for it alone.
// Taken out: test/defences/wall-clock-jump.patch
import { readFileSync } from "node:fs";
import { afterAll, afterEach, expect, it, vi } from "vitest";
import { elect } from "conclave";
import { memory } from "conclave/stores/memory";
import { judgeLog } from "conclave/testing";
import { WallClock } from "../support/faketime.ts";
import { usePlaces } from "../support/real-stores.ts";
import { nowMs, type Player, sleep, Stage } from "../support/processes.ts";

const stage = new Stage();
const places = usePlaces(stage);
afterEach(() => vi.restoreAllMocks());
afterAll(() => stage.end());

it.each([3_600_000, -3_600_000])(
  "wall-clock-jump: by %d ms, a held term stays held and a waiter goes on waiting",
  async (jumpMs) => {
    const store = memory();
    await using leader = elect("x", { store, id: "leader", ttlMs: 600, drainMs: 100 });
    await using waiter = elect("x", { store, id: "waiter", ttlMs: 600, drainMs: 100 });
    const term = await leader.campaign();
    waiter.start();
    const real = Date.now.bind(Date);
    vi.spyOn(Date, "now").mockImplementation(() => real() + jumpMs);
    const until = performance.now() + 1500;
    while (performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(term.isHeld()).toBe(true);
      expect(waiter.term()).toBeUndefined();
    }
    vi.restoreAllMocks();
    await term.resign();
    await expect.poll(() => waiter.term()?.token.value).toBe(term.token.value + 1n);
  },
);

async function wallOf(player: Player): Promise<number> {
  const askedAt = nowMs();
  player.tell("time");
  return (await player.hears("time", askedAt)).wall ?? 0;
}

const JUMPS = [
  ["leader", 3600],
  ["leader", -3600],
  ["follower", 3600],
  ["follower", -3600],
] as const;
/** On a server the two that would be a steal too early, and a lease without end. */
const cases = places.flatMap((place) =>
  (place[0] === "sqlite" ? JUMPS : JUMPS.slice(1, 3)).map((jump) => [...jump, ...place] as const),
);

it.each(cases)(
  "wall-clock-jump: of the %s's process by %d s, nothing changes; then the leader is killed, and is followed (%s)",
  { timeout: 30_000 },
  async (whose, jump, name, place) => {
    const file = stage.file(`${name}${whose}${jump}`);
    const shared = { ...place(), log: `${file}.log`, ttlMs: name === "sqlite" ? 1000 : 2000 };
    const clocks = {
      leader: new WallClock(stage.file("clock of leader")),
      follower: new WallClock(stage.file("clock of follower")),
    };
    const leader = await stage.start({ ...shared, id: "leader", under: clocks.leader.under });
    const { token = "" } = await leader.hears("elected");
    const follower = await stage.start({ ...shared, id: "follower", under: clocks.follower.under });
    await follower.hears("leader");
    clocks[whose].set(jump > 0 ? `+${jump}` : `${jump}`);
    const [seen, other] = whose === "leader" ? [leader, follower] : [follower, leader];
    expect((await wallOf(seen)) - Date.now()).toBeCloseTo(jump * 1000, -4);
    expect((await wallOf(other)) - Date.now()).toBeCloseTo(0, -4);
    await sleep(1.25 * shared.ttlMs + 500);
    // A busy disk may hold up a request, which is tried again. That is no change.
    const isNews = ({ event, code }: Player["heard"][number]): boolean =>
      event === "error" && code !== "STORE_UNREACHABLE";
    expect(leader.heard.filter((heard) => heard.event === "lost" || isNews(heard))).toEqual([]);
    expect(follower.heard.filter((heard) => heard.event === "elected" || isNews(heard))).toEqual([]);
    const killedAt = nowMs();
    await leader.kill();
    expect(BigInt((await follower.hears("elected", killedAt)).token ?? 0)).toBeGreaterThan(BigInt(token));
    follower.tell("close");
    await follower.exited();
    const verdict = judgeLog(readFileSync(shared.log, "utf8"));
    expect(verdict).toMatchObject({ terms: 2, overlaps: [], regressions: [], unread: [] });
  },
);
