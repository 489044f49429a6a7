// A node with a log in the world: what it answers to proposals and changes of members, what its host is told, and that hundreds of drawn worlds break nothing.
import { describe, expect, it } from "vitest";
import { huntProtocol, type LogSubject, ProtocolWorld, specOf, subjectNamed } from "conclave/simulator";

function toy(): LogSubject {
  const subject = subjectNamed("toy-log");
  if (subject.log === undefined) throw new TypeError("the toy has a log");
  return subject;
}

/** Three members, the first of which leads. */
function led(): ProtocolWorld {
  const world = new ProtocolWorld(specOf("toy-log", { nodes: 3 }));
  world.clients?.stop();
  world.runTo(500);
  expect(world.agreedLeader()).toBe(1);
  return world;
}

const PROPOSAL = { key: "a", value: 7 };

describe("a node with a log", () => {
  it("says where a proposal was appended, and applies it everywhere when a majority has it", () => {
    const world = led();
    const proposed = world.member(1).replica?.propose(PROPOSAL);
    expect(proposed).toEqual({ outcome: "appended", index: 2, term: 1 });
    expect(world.members.map(({ log }) => log?.applied)).toEqual([1, 1, 1]);
    world.runTo(world.nowMs + 200);
    expect(world.members.map(({ log }) => log?.kept())).toEqual(Array.from({ length: 3 }, () => [["a", 7, 1]]));
  });

  it("applies nothing while no majority can have it, and tells no client that it is done", () => {
    const world = led();
    world.apply({ type: "partition", how: "1/2,3" });
    world.member(1).replica?.propose(PROPOSAL);
    world.runTo(world.nowMs + 2000);
    expect([world.member(1).log?.applied, world.clients?.acknowledged]).toEqual([1, 0]);
    world.apply({ type: "heal" });
    world.runTo(world.nowMs + 200);
    expect([world.member(1).log?.applied, world.clients?.acknowledged]).toEqual([2, 2]);
  });

  it("refuses, with who leads, what only the leader takes; and says of members that they do not change", () => {
    const world = led();
    expect(world.member(2).replica?.propose(PROPOSAL)).toEqual({ outcome: "refused", why: "not-leader", leader: 1 });
    const { node } = toy();
    const change = (id: number): unknown => {
      const member = world.member(id);
      return node.changeMembers(member.state, { type: "remove", node: 3 }, member.now(), member);
    };
    expect(change(1)).toMatchObject({ outcome: "refused", why: "not-supported" });
    expect(change(2)).toEqual({ outcome: "refused", why: "not-leader", leader: 1 });
    expect(node.members(world.member(1).state)).toEqual({ voters: [1, 2, 3], learners: [] });
  });

  it("gives its machine back after a crash: the snapshot, and the entries after it", () => {
    const world = new ProtocolWorld(specOf("toy-log", { nodes: 3, settings: { compactAfter: 3 } }));
    world.runTo(2000);
    world.clients?.stop();
    world.runTo(2500);
    const before = world.member(3).log;
    const [kept, applied] = [before?.kept(), before?.applied ?? 0];
    expect(before?.bounds().snapshot).toBeGreaterThan(0);
    world.apply({ type: "crash", node: 3 });
    world.apply({ type: "restart", node: 3 });
    expect(world.member(3).log?.applied).toBeGreaterThan(0);
    world.runTo(3000);
    expect([world.member(3).log?.kept(), world.member(3).log?.applied]).toEqual([kept, applied]);
    expect(world.violations).toEqual([]);
  });
});

it("keeps its promises in 100 drawn worlds, which read, compact, restore and crash", () => {
  const done = new Map<string, number>();
  for (let seed = 1; seed <= 100; seed++) {
    const { violation, trace } = huntProtocol("toy-log", seed, { isRecorded: true });
    expect(violation, `seed ${seed}`).toBeUndefined();
    for (const event of trace) {
      const what = event.type === "hosted" ? event.event.type : event.type;
      done.set(what, (done.get(what) ?? 0) + 1);
    }
  }
  for (const what of ["applied", "acknowledged", "answered", "compacted", "restored", "crash"])
    expect(done.get(what), what).toBeGreaterThan(50);
});
