// Large worlds of partitions, with time: requests take a while, and takers judge. A member dies, or the controller and a member. Everything must be led again within what is promised, and nothing else may have moved.
import { describe, expect, it } from "vitest";
import { layoutOf } from "../../../src/partitions/layout.ts";
import type { PartitionWorldSpec } from "../../../src/simulator/partitions/spec.ts";
import { PartitionWorld } from "../../../src/simulator/partitions/world.ts";

const TTL_MS = 1500;
/** When it has long been at rest. */
const KILL_AT_MS = 6500;
/** What a look and two requests take in that world. */
const REQUESTS_MS = 100;

/** Nothing fails but those that are killed at the end. */
function specOf(members: number, partitions: number, killsController: boolean): PartitionWorldSpec {
  return {
    seed: 1,
    members,
    layout: layoutOf(partitions, { keys: 128, bytes: 65_536 }),
    movesAtOnce: partitions / 10,
    ttlMs: TTL_MS,
    drainMs: TTL_MS / 5,
    latencyMaxMs: 2,
    lossChance: 0,
    lateChance: 0,
    stopMaxMs: 0,
    deafChance: 0,
    faults: [],
    weights: Array.from({ length: members }, () => 1),
    hasZones: false,
    preferred: undefined,
    takersJudge: true,
    calmAtMs: 1,
    killAtMs: KILL_AT_MS,
    killsController,
    endMs: KILL_AT_MS + (killsController ? 2 : 1) * TTL_MS + TTL_MS / 3 + REQUESTS_MS,
  };
}

describe("a large world of partitions", () => {
  // The second is smaller only because each takes seconds.
  it.each([
    { members: 1000, partitions: 100_000, dead: "a member", killsController: false },
    { members: 200, partitions: 20_000, dead: "the controller and a member", killsController: true },
  ])(
    "$members members, $partitions partitions, $dead killed: led again in time, and nothing else moves",
    { timeout: 120_000 },
    ({ members, partitions, killsController }) => {
      const world = new PartitionWorld(specOf(members, partitions, killsController), {
        isRecorded: false,
        judgedBy: undefined,
      });
      world.run();
      expect(world.judge.violation).toBeUndefined();
      const { begun, revoked, "taken from the dead": taken } = world.tallies;
      expect(taken).toBe(((killsController ? 2 : 1) * partitions) / members);
      expect(begun).toBe(partitions + taken);
      expect(revoked).toBe(0);
      // The judge has looked at the end of the time that is promised.
      expect(world.tallies["led again under another controller"]).toBe(killsController ? 1 : 0);
      expect(world.tallies["led again under the same controller"]).toBe(killsController ? 0 : 1);
    },
  );
});
