// A node with a log in the world: what it answers to proposals and changes of members, what its host is told, and that hundreds of drawn worlds break nothing.
import { describe, expect, it } from "vitest";
import { createRng, type LogEntry, type Message, settingsOf } from "conclave/protocols";
import { type HostEvent, huntProtocol, type LogSubject, ProtocolWorld, specOf, subjectNamed } from "conclave/simulator";

/** Three members, one of which leads. */
function led(settings: Readonly<Record<string, number>> = {}): {
  world: ProtocolWorld;
  leader: number;
  others: readonly number[];
} {
  const world = new ProtocolWorld(specOf("toy-log", { nodes: 3, settings }));
  world.clients?.stop();
  world.runTo(3000);
  const leader = world.agreedLeader();
  expect(leader).not.toBe(0);
  return { world, leader, others: [1, 2, 3].filter((id) => id !== leader) };
}

const PROPOSAL = { key: "a", value: 7 };

describe("a node with a log", () => {
  it("says where a proposal was appended, and applies it everywhere when a majority has it", () => {
    const { world, leader } = led();
    const { term } = world.member(leader);
    const before = world.member(leader).log?.applied ?? 0;
    const proposed = world.member(leader).replica?.propose(PROPOSAL);
    expect(proposed).toEqual({ outcome: "appended", index: before + 1, term });
    expect(world.members.map(({ log }) => log?.applied)).toEqual([before, before, before]);
    world.runTo(world.nowMs + 200);
    expect(world.members.map(({ log }) => log?.kept())).toEqual(Array.from({ length: 3 }, () => [["a", 7, 1]]));
  });

  it("takes back what a deposed leader has appended alone, and tells no client that it is done", () => {
    const { world, leader, others } = led();
    world.apply({ type: "partition", how: `${leader}/${others.join(",")}` });
    const lost = world.member(leader).replica?.propose({ key: "a", value: 1 });
    world.runTo(world.nowMs + 3000);
    const next = world.agreedLeader(others);
    expect(others).toContain(next);
    world.member(next).replica?.propose(PROPOSAL);
    world.runTo(world.nowMs + 500);
    const index = lost?.outcome === "appended" ? lost.index : 0;
    expect(world.member(leader).log?.entryAt(index)).toMatchObject({ kind: "proposal", proposal: { value: 1 } });
    world.apply({ type: "heal" });
    world.runTo(world.nowMs + 3000);
    expect(world.member(leader).log?.entryAt(index)).toMatchObject({ kind: "nothing" });
    expect(world.members.map(({ log }) => log?.kept())).toEqual(Array.from({ length: 3 }, () => [["a", 7, 1]]));
    expect(world.violations).toEqual([]);
  });

  it("refuses, with who leads, what only the leader takes", () => {
    const { world, leader, others } = led();
    const { replica } = world.member(others[0] ?? 0);
    const refused = { outcome: "refused", why: "not-leader", leader };
    expect(replica?.propose(PROPOSAL)).toEqual(refused);
    expect(replica?.changeMembers({ type: "remove", node: leader })).toEqual(refused);
  });

  it("changes its members one at a time", () => {
    const { world, leader, others } = led();
    const [gone = 0, stays = 0] = others;
    const change = (type: "add-learner" | "promote" | "remove", node: number): unknown =>
      world.member(leader).replica?.changeMembers({ type, node });
    expect(change("remove", leader)).toMatchObject({ outcome: "refused", why: "not-supported" });
    expect(change("promote", gone)).toMatchObject({ outcome: "refused", why: "no-such-change" });
    expect(change("remove", gone)).toMatchObject({ outcome: "appended" });
    expect(change("remove", stays)).toMatchObject({ outcome: "refused", why: "change-pending" });
    world.runTo(world.nowMs + 500);
    const voters = [leader, stays].toSorted((a, b) => a - b);
    expect(world.member(stays).log?.members()).toEqual({ voters, learners: [] });
    expect(change("add-learner", gone)).toMatchObject({ outcome: "appended" });
    world.runTo(world.nowMs + 500);
    expect(change("promote", gone)).toMatchObject({ outcome: "appended" });
    world.runTo(world.nowMs + 500);
    expect(world.member(gone).log?.members()).toEqual({ voters: [...voters, gone], learners: [] });
    expect(world.violations).toEqual([]);
  });

  it("gives its machine back after a crash: the snapshot, and the entries after it", () => {
    const { world, leader, others } = led({ compactAfter: 3 });
    const [node = 0] = others;
    for (let value = 0; value < 12; value++) {
      world.member(leader).replica?.propose({ key: "a", value });
      world.runTo(world.nowMs + 300);
    }
    const before = world.member(node).log;
    const [kept, applied] = [before?.kept(), before?.applied ?? 0];
    expect(before?.bounds().snapshot).toBeGreaterThan(0);
    world.apply({ type: "crash", node });
    world.apply({ type: "restart", node });
    expect(world.member(node).log?.applied).toBeGreaterThan(0);
    world.runTo(world.nowMs + 500);
    expect([world.member(node).log?.kept(), world.member(node).log?.applied]).toEqual([kept, applied]);
    expect(world.violations).toEqual([]);
  });
});

/** Node 1 of three, without a world: what it sends, applies and writes. */
class Lone {
  readonly sent: unknown[] = [];
  readonly applied: unknown[] = [];
  readonly written: unknown[] = [];
  readonly #node = subjectNamed("toy-log").node as LogSubject["node"];
  readonly #state: object;

  constructor(image?: object) {
    const setup = { id: 1, members: [1, 2, 3], attribute: 1, leader: 0, settings: settingsOf(this.#node) };
    this.#state = this.#node.create({ ...setup, rng: createRng(1, 1) });
    this.#node.start(this.#state, image, 0, this);
  }

  hear(from: number, message: Message & object): void {
    this.#node.receive(this.#state, from, message, 0, this);
  }

  /** All writes are done. */
  sync(): void {
    this.#node.stored(this.#state, this.written.length, 0, this);
  }

  /** Leads in the term after that of its disk, by the vote of node 2. */
  lead(term: number): void {
    this.#node.expire(this.#state, 1, 0, 0, this);
    for (const from of [1, 2]) this.hear(from, { type: "GRANTED", term } as Message);
    this.sync();
  }

  remove(node: number): object {
    return this.#node.changeMembers(this.#state, { type: "remove", node }, 0, this);
  }

  compact(index: number): void {
    this.#node.compact(this.#state, index, [], 0, this);
  }

  // The effects.
  send(to: number, message: object): void {
    this.sent.push({ to, ...message });
  }
  apply(entry: LogEntry<unknown>): void {
    this.applied.push(entry.index);
  }
  persist(_ticket: number, write: unknown): void {
    this.written.push(write);
  }
  setTimer(): void {}
  cancelTimer(): void {}
  announce(): void {}
  explain(): void {}
  restore(): void {}
  readable(): void {}
  unreadable(): void {}
}

const START = { index: 0, term: 0 };
const nothing = (index: number, term: number): object => ({ index, term, kind: "nothing" });
const append = (term: number, entries: readonly object[], committed: number): Message =>
  ({ type: "APPEND", term, round: 0, previous: START, entries, committed }) as Message;
const appended = (term: number, upTo: number): Message =>
  ({ type: "APPENDED", term, round: 0, isMatch: true, upTo }) as Message;

describe("rules that a world seldom needs", () => {
  it("a follower applies nothing that the leader has not matched, though as much is committed", () => {
    const node = new Lone();
    node.hear(2, append(1, [nothing(1, 1), nothing(2, 1)], 0));
    node.hear(3, append(2, [], 2));
    expect(node.applied).toEqual([]);
  });

  it("what is on disk too late is no longer told to a leader that was deposed meanwhile; and a vote is on disk first", () => {
    const node = new Lone();
    node.hear(2, append(1, [nothing(1, 1)], 0));
    node.hear(3, { type: "WANT", term: 2, last: { index: 5, term: 1 } } as Message);
    node.sync();
    expect(node.sent).toEqual([{ to: 3, type: "GRANTED", term: 2 }]);
    expect(node.written.at(-1)).toEqual({ ballot: { term: 2, vote: 3 } });
  });

  it("a leader commits an entry of an older term, and changes members, only behind an entry of its own", () => {
    const node = new Lone({ ballot: { term: 2, vote: 0 }, snapshot: undefined, entries: [nothing(1, 1)] });
    node.lead(3);
    node.hear(2, appended(3, 1));
    expect(node.applied).toEqual([]);
    expect(node.remove(3)).toMatchObject({ outcome: "refused", why: "change-pending" });
    node.hear(2, appended(3, 2));
    expect(node.applied).toEqual([1, 2]);
    expect(node.remove(3)).toMatchObject({ outcome: "appended", index: 3 });
  });

  it("a snapshot has the members after its last entry, not those of a later change", () => {
    const node = new Lone();
    node.lead(1);
    node.hear(2, appended(1, 1));
    node.remove(3);
    node.compact(1);
    expect(node.written.at(-1)).toMatchObject({ snapshot: { index: 1, members: { voters: [1, 2, 3] } } });
  });
});

it("keeps its promises in 100 drawn worlds, which read, compact, restore, crash and change members", () => {
  const done = new Map<string, number>();
  for (let seed = 1; seed <= 100; seed++) {
    const { violation, trace } = huntProtocol("toy-log", seed, { isRecorded: true });
    expect(violation, `seed ${seed}`).toBeUndefined();
    for (const event of trace) {
      const what = event.type === "hosted" ? named(event.event) : event.type;
      done.set(what, (done.get(what) ?? 0) + 1);
    }
  }
  for (const what of ["applied", "acknowledged", "answered", "members", "compacted", "restored", "crash"])
    expect(done.get(what), what).toBeGreaterThan(50);
});

/** A change of members that was applied counts for itself. */
function named(event: HostEvent): string {
  return event.type === "applied" && event.entry.kind === "members" ? "members" : event.type;
}
