// The hunt for protocols: it finds a protocol that was broken on purpose, tells the same of the same seed, and shrinks what it found.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bully } from "conclave/protocols";
import {
  drawHuntedWorld,
  formatAction,
  type HuntOptions,
  huntProtocol,
  shrink,
  type Subject,
  subjectNamed,
  SUBJECTS,
} from "conclave/simulator";

const COORDINATOR_TIMER = bully.timers.indexOf("coordinator");
const subject = subjectNamed("bully");
/** Waits for a coordinator for ever. */
const patient: Subject = withNode("bully-patient", (node) => ({
  ...node,
  expire: (state, timer, about, now, effects) => {
    if (timer !== COORDINATOR_TIMER) node.expire(state, timer, about, now, effects);
  },
}));
/** Throws at what a peer sent. */
const brittle: Subject = withNode("bully-brittle", (node) => ({
  ...node,
  receive: (_state, _from, { type }) => {
    throw new Error(`cannot read ${type}`);
  },
}));
const registered = SUBJECTS as Subject[];

/** Bully as a subject, with another node. */
function withNode(name: string, change: (node: Subject["node"]) => Subject["node"]): Subject {
  if (subject.log !== undefined) throw new TypeError("Bully has no log");
  return { ...subject, node: { ...change(subject.node), name } };
}

beforeAll(() => void registered.push(patient, brittle));
afterAll(() => void registered.splice(registered.length - 2));

describe("the hunt", () => {
  const failing = (name: string): number => {
    for (let seed = 1; seed <= 3000; seed++) if (huntProtocol(name, seed).violation !== undefined) return seed;
    return 0;
  };

  it("finds a node that waits for ever, and shrinks the world to the faults it needs", () => {
    const seed = failing("bully-patient");
    const { violation, world } = huntProtocol("bully-patient", seed);
    expect(violation?.invariant).toBe("liveness");
    const shrunk = shrink((options: HuntOptions) => huntProtocol("bully-patient", seed, options), {});
    expect(shrunk?.result.violation?.invariant).toBe("liveness");
    expect(shrunk?.faults.length).toBeLessThanOrEqual(world.faults);
    for (const left of shrunk?.faults ?? []) {
      const fewer = (shrunk?.faults ?? []).filter((fault) => fault !== left);
      expect(huntProtocol("bully-patient", seed, { faults: fewer }).violation?.invariant).not.toBe("liveness");
    }
    expect(huntProtocol("bully", seed).violation).toBeUndefined();
  });

  it("takes an exception of a node for a finding", () => {
    const seed = failing("bully-brittle");
    expect(huntProtocol("bully-brittle", seed).violation).toMatchObject({ invariant: "assertion" });
  });

  it("lets only those judge who are asked", () => {
    const seed = failing("bully-patient");
    expect(huntProtocol("bully-patient", seed, { judgedBy: ["one-leader"] }).violation).toBeUndefined();
  });

  it("has nothing to shrink where nothing is broken", () => {
    expect(shrink((options: HuntOptions) => huntProtocol("bully", 1, options), {})).toBeUndefined();
  });
});

describe("a drawn world", () => {
  it("has only such faults as the protocol tolerates", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const { spec, faults } = drawHuntedWorld("bully", seed);
      const kinds = new Set(spec.schedule.slice(0, faults).map(({ action }) => formatAction(action).split(" ")[0]));
      expect([...kinds].filter((kind) => kind !== "crash" && kind !== "restart")).toEqual([]);
      expect(spec.links.lossChance).toBe(0);
      const { minMs, spreadMs, tailMs } = spec.links.latency;
      expect(minMs + spreadMs).toBeLessThanOrEqual(subject.delayMaxMs(spec.settings));
      expect(tailMs).toBe(0);
    }
  });

  it("mends a core and shuts out the rest for good", () => {
    const cores = new Set<number>();
    for (let seed = 1; seed <= 100; seed++) {
      const { spec, core, calmAtMs, faults } = drawHuntedWorld("bully", seed);
      cores.add(spec.nodes - core.length);
      const mending = spec.schedule.slice(faults);
      expect(mending.every(({ atMs }) => atMs >= calmAtMs && atMs < calmAtMs + 0.01)).toBe(true);
      const crashed = mending.flatMap(({ action }) => (action.type === "crash" ? [action.node] : []));
      expect([...crashed, ...core].toSorted((a, b) => a - b)).toEqual(
        Array.from({ length: spec.nodes }, (_, index) => index + 1),
      );
    }
    expect(cores.size).toBeGreaterThan(2);
  });
});
