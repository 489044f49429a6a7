// The machines of a member and of a controller, rule by rule. Their interplay is hunted (test/simulator/partitions).
import { describe, expect, it } from "vitest";
import { type Chunk, type ChunkEntry, sessionRef, UNASSIGNED } from "../../src/partitions/chunk.ts";
import {
  type ControllerEffect,
  type ControllerState,
  createController,
  type GroupPlan,
  idsToWatch,
  type SeatedMember,
  stepController,
} from "../../src/partitions/controller.ts";
import {
  type Ack,
  createMember,
  type MemberEffect,
  type MemberState,
  stepMember,
} from "../../src/partitions/member.ts";
import type { Revision } from "../../src/partitions/revision.ts";

const at = (token: bigint, n: number): Revision => ({ term: { token, bid: `b${token}` }, n });
const a = sessionRef("a", 1n, "x");
const b = sessionRef("b", 1n, "y");

describe("a member", () => {
  const chunk = (revision: Revision, entries: readonly ChunkEntry[]): Chunk => ({ revision, entries });
  const read = (member: MemberState, chunkRead: Chunk): readonly MemberEffect[] =>
    stepMember(member, { type: "chunk", index: 0, chunk: chunkRead });
  const mine: ChunkEntry = { owner: a, epoch: at(1n, 1), revokedAt: undefined };

  it("begins what is assigned to its session, and says nothing", () => {
    const member = createMember(a, 4);
    expect(read(member, chunk(at(1n, 1), [mine, UNASSIGNED]))).toEqual([
      { type: "begin", partition: 0, epoch: at(1n, 1) },
    ]);
  });

  it("inherits nothing from an earlier session of the same id", () => {
    const member = createMember(sessionRef("a", 2n, "z"), 4);
    expect(read(member, chunk(at(1n, 1), [mine]))).toEqual([]);
  });

  it("stops what is revoked, says that it is still stopping, and says so again when it has settled", () => {
    const member = createMember(a, 4);
    read(member, chunk(at(1n, 1), [mine]));
    const revoked = chunk(at(1n, 2), [{ ...mine, revokedAt: at(1n, 2) }]);
    expect(read(member, revoked)).toEqual([
      { type: "stop", partition: 0 },
      { type: "state", acks: [{ chunk: 0, seen: at(1n, 2), stopping: [0] }] },
    ]);
    expect(stepMember(member, { type: "settled", partition: 0 })).toEqual([
      { type: "state", acks: [{ chunk: 0, seen: at(1n, 2), stopping: [] }] },
    ]);
  });

  it("acknowledges a revocation of what it never began", () => {
    const member = createMember(a, 4);
    expect(read(member, chunk(at(1n, 2), [{ ...mine, revokedAt: at(1n, 2) }]))).toEqual([
      { type: "state", acks: [{ chunk: 0, seen: at(1n, 2), stopping: [] }] },
    ]);
  });

  it("takes no notice of a revision that is not later than the last", () => {
    const member = createMember(a, 4);
    read(member, chunk(at(2n, 1), [{ ...mine, revokedAt: at(2n, 1) }]));
    expect(read(member, chunk(at(1n, 9), [mine]))).toEqual([]);
    expect(read(member, chunk(at(2n, 1), [mine]))).toEqual([]);
  });

  it("begins anew under a later epoch, after the work of the earlier one has settled", () => {
    const member = createMember(a, 4);
    read(member, chunk(at(1n, 1), [mine]));
    const again: ChunkEntry = { owner: a, epoch: at(1n, 3), revokedAt: undefined };
    expect(read(member, chunk(at(1n, 3), [again]))).toEqual([{ type: "stop", partition: 0 }]);
    expect(stepMember(member, { type: "settled", partition: 0 })).toEqual([
      { type: "begin", partition: 0, epoch: at(1n, 3) },
    ]);
  });

  it("stops everything when its session ends, and neither begins nor says anything more", () => {
    const member = createMember(a, 4);
    read(member, chunk(at(1n, 1), [mine]));
    expect(stepMember(member, { type: "leave" })).toEqual([{ type: "stop", partition: 0 }]);
    expect(read(member, chunk(at(1n, 2), [mine, mine]))).toEqual([]);
    expect(stepMember(member, { type: "settled", partition: 0 })).toEqual([]);
  });
});

describe("a controller", () => {
  const plan: GroupPlan = { layout: { count: 4, chunkSize: 2 }, movesAtOnce: 10 };
  const seen = (session: SeatedMember["session"], acks: readonly Ack[] = []): SeatedMember => ({
    session,
    weight: 1,
    acks,
  });
  const see = (state: ControllerState, ...members: readonly SeatedMember[]): readonly ControllerEffect[] =>
    stepController(state, { type: "seen", members });
  const ownersOf = (effects: readonly ControllerEffect[]): readonly string[] =>
    effects.flatMap(({ chunk }) =>
      chunk.entries.map(({ owner, revokedAt }) => `${owner?.id ?? "-"}${revokedAt === undefined ? "" : "!"}`),
    );
  const acknowledge = (state: ControllerState, effects: readonly ControllerEffect[]): readonly ControllerEffect[] =>
    effects.flatMap(({ index }) => stepController(state, { type: "written", index }));

  /** Everything is with a, written down. */
  function ruledByA(): ControllerState {
    const state = createController(plan, { token: 5n, bid: "c5" }, []);
    acknowledge(state, see(state, seen(a)));
    return state;
  }

  it("assigns what nobody leads, in one write for each chunk, and then is at rest", () => {
    const state = createController(plan, { token: 5n, bid: "c5" }, []);
    const effects = see(state, seen(a), seen(b));
    expect(ownersOf(effects)).toEqual(["a", "b", "a", "b"]);
    expect(effects.map(({ chunk }) => chunk.revision.n)).toEqual([1, 1]);
    expect(acknowledge(state, effects)).toEqual([]);
    expect(see(state, seen(a), seen(b))).toEqual([]);
  });

  it("writes a chunk only when the write before it is known to be written", () => {
    const state = createController(plan, { token: 5n, bid: "c5" }, []);
    see(state, seen(a));
    expect(see(state, seen(a), seen(b))).toEqual([]);
    expect(ownersOf(stepController(state, { type: "written", index: 1 }))).toEqual(["a!", "a!"]);
  });

  it("takes from the living only what they have acknowledged", () => {
    const state = ruledByA();
    const revoking = see(state, seen(a), seen(b));
    expect(ownersOf(revoking)).toEqual(["a!", "a!"]);
    acknowledge(state, revoking);
    const revision = revoking[0]?.chunk.revision as Revision;
    const early: Revision = { ...revision, n: revision.n - 1 };
    expect(see(state, seen(a, [{ chunk: 1, seen: early, stopping: [] }]), seen(b))).toEqual([]);
    const some = see(state, seen(a, [{ chunk: 1, seen: revision, stopping: [3] }]), seen(b));
    expect(ownersOf(some)).toEqual(["b", "a!"]);
    acknowledge(state, some);
    const handed = see(state, seen(a, [{ chunk: 1, seen: revision, stopping: [] }]), seen(b));
    expect(ownersOf(handed)).toEqual(["b", "b"]);
    expect(handed[0]?.chunk.entries.map(({ epoch }) => epoch?.n)).toEqual([3, 4]);
  });

  it("takes nothing from a session that is not seen, until it is proven to be over", () => {
    const state = ruledByA();
    expect(see(state, seen(b))).toEqual([]);
    expect(idsToWatch(state)).toEqual(new Set(["a", "b"]));
    expect(stepController(state, { type: "over", id: "a", below: 1n })).toEqual([]);
    expect(ownersOf(stepController(state, { type: "over", id: "a", below: 2n }))).toEqual(["b", "b", "b", "b"]);
  });

  it("gives a restarted member nothing of what its earlier session had, but assigns anew", () => {
    const state = ruledByA();
    const again = sessionRef("a", 2n, "q");
    const effects = see(state, seen(again));
    expect(effects.flatMap(({ chunk }) => chunk.entries.map(({ owner }) => owner?.token))).toEqual([2n, 2n, 2n, 2n]);
  });

  it("changes nothing that is assigned when it begins anew", () => {
    const state = ruledByA();
    const chunks = state.books.map(({ entries, n }): Chunk => ({ revision: { term: state.term, n }, entries }));
    const next = createController(plan, { token: 6n, bid: "c6" }, chunks);
    expect(see(next, seen(a))).toEqual([]);
    expect(see(next)).toEqual([]);
  });

  it("never has more on the move than it may", () => {
    const state = createController({ ...plan, movesAtOnce: 1 }, { token: 5n, bid: "c5" }, []);
    acknowledge(state, see(state, seen(a)));
    const effects = see(state, seen(a), seen(b));
    expect(ownersOf(effects).filter((owner) => owner === "a!")).toHaveLength(1);
    expect(acknowledge(state, effects)).toEqual([]);
  });
});
