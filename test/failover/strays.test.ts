// A server that takes writes beside the primary of the record: what a leader of the monitors tells of it, and when it orders it to follow the primary.
import { createCandidate } from "conclave";
import type { FailoverRecord, Replication, View, Views } from "conclave/failover";
import { memory } from "conclave/stores/memory";
import { describe, expect, it } from "vitest";
import { nodeClock } from "../../src/election/clock.ts";
import { writeReservedMemo } from "../../src/election/memo.ts";
import { Conductor } from "../../src/failover/conductor.ts";
import { formatRecord, RECORD_KEY } from "../../src/failover/record-text.ts";
import type { FailoverNews } from "../../src/failover/state.ts";
import { ALL_UP, leading, PLAN, STEADY, up, vote } from "./desk.ts";

const STRAY: Views = { ...ALL_UP, b: up("primary", 9, { history: "its own" }) };

describe("with guards, a second server that takes writes", () => {
  it("is told of once, and is told to follow the primary until it does", () => {
    const desk = leading(STEADY);
    expect(desk.see({ views: STRAY })).toEqual(["tell two-writable", "follow b a"]);
    expect(desk.news).toEqual([{ is: "two-writable", servers: ["a", "b"], lost: {} }]);
    expect(desk.see({ views: STRAY })).toEqual(["follow b a"]);
    expect(desk.see({ views: { ...STRAY, b: { is: "unknown" } } })).toEqual([]);
    expect(desk.see({ views: STRAY })).toEqual(["follow b a"]);
    expect(desk.see({ views: ALL_UP })).toEqual([]);
    expect(desk.see({ views: STRAY })).toEqual(["tell two-writable", "follow b a"]);
  });

  it("is told of again when it was started anew, and another one is told of too, each with its own loss", () => {
    const desk = leading({ ...STEADY, histories: ["h", "old"], begunAt: 4 });
    expect(desk.see({ views: STRAY })).toEqual(["tell two-writable", "follow b a"]);
    const anew = { ...STRAY, b: up("primary", 9, { history: "another" }) };
    expect(desk.see({ views: anew })).toEqual(["tell two-writable", "follow b a"]);
    const both = { ...anew, c: up("primary", 9, { history: "old" }) };
    expect(desk.see({ views: both })).toEqual(["tell two-writable", "follow b a", "follow c a"]);
    expect(desk.news).toEqual([{ is: "two-writable", servers: ["a", "b", "c"], lost: { c: 5 } }]);
    expect(desk.see({ views: both })).toEqual(["follow b a", "follow c a"]);
  });

  it("is not told of again when the record changes meanwhile", () => {
    const desk = leading(STEADY);
    desk.see({ views: STRAY });
    const holder = { server: "a", epoch: 4 };
    const renamed = { ...STRAY, a: up("primary", 7, { history: "renamed" }) };
    expect(desk.see({ views: renamed, holder })).toEqual(["write 4 steady"]);
    expect(desk.on({ type: "written" })).toEqual([]);
    expect(desk.see({ views: renamed, holder })).toEqual(["follow b a"]);
  });

  it("is not one that took writes before this step, when it was the primary itself", () => {
    const desk = leading(STEADY);
    const repointing = leading({ ...STEADY, step: { at: "repointing", from: "b", to: "a" } });
    for (const each of [desk, repointing]) {
      each.nowMs = 100;
      expect(each.see({ views: STRAY, askedAtMs: { a: 100, b: -1, c: 100 } })).toEqual([]);
      expect(each.see({ views: STRAY, askedAtMs: { a: 100, c: 100 } })).toEqual([]);
      expect(each.see({ views: STRAY, askedAtMs: { b: 0 } })).toEqual(["tell two-writable", "follow b a"]);
    }
  });

  it("is left alone while a change is under way", () => {
    const fencing = { at: "fencing", why: "down", from: "a", wish: undefined } as const;
    const choosing = { ...fencing, at: "choosing", fencedBy: "seat" } as const;
    const promoting = { at: "promoting", why: "down", from: "a", to: "c", position: 7, fencedBy: "seat" } as const;
    const handing = { at: "handing-over", from: "a", to: "c" } as const;
    for (const step of [fencing, choosing, promoting, handing] satisfies FailoverRecord["step"][])
      expect(leading({ ...STEADY, step }).see({ views: STRAY })).toEqual([]);
    const desk = leading(STEADY);
    expect(desk.see({ views: STRAY, votes: [vote("m1"), vote("m2")] })).toEqual([
      "tell objectively-down",
      "write 5 fencing",
    ]);
  });

  it("is told of and not told to follow while failover is paused, and in a dry run", () => {
    for (const desk of [leading({ ...STEADY, isPaused: true }), leading(STEADY, { isDryRun: true })]) {
      expect(desk.see({ views: STRAY })).toEqual(["tell two-writable"]);
      expect(desk.see({ views: STRAY })).toEqual([]);
    }
  });

  it("replicas that follow nobody are left to their guards", () => {
    expect(leading(STEADY).see({ views: { ...ALL_UP, c: up("replica", 7, { follows: undefined }) } })).toEqual([]);
  });
});

/** A leader whose record says that a is the primary, and b takes writes. `whenAsked` is done when b is asked, before it answers. */
async function ordered(
  whenAsked: (term: object) => Promise<unknown>,
  { view = STRAY["b"], outcome = "done", lastMs = 250 }: { view?: View; outcome?: string; lastMs?: number } = {},
): Promise<{ readonly orders: readonly string[]; readonly told: readonly string[] }> {
  const candidate = createCandidate({ store: memory(), ttlMs: 3000, id: "m1" });
  const orders: string[] = [];
  const told: string[] = [];
  const election = candidate.election("failover/orders");
  const term = await election.campaign();
  await writeReservedMemo(term, RECORD_KEY, formatRecord(STEADY));
  const servers = Object.fromEntries(["a", "b", "c"].map((name) => [name, { name }]));
  let asked: Promise<unknown> | undefined;
  const connect = async ({ name }: { name: string }): Promise<object> => ({
    view: async () => (await (asked ??= whenAsked(term)), view),
    follow: async (primary: { name: string }) => (orders.push(`${name} follows ${primary.name}`), outcome),
    close: () => {},
  });
  const sight = { views: STRAY, votes: [], holder: undefined, order: undefined, reports: {} };
  const conductor = new Conductor({
    plan: PLAN,
    clock: nodeClock(),
    term,
    election,
    seat: candidate.election("primary/orders"),
    replication: { servers, connect } as unknown as Replication,
    fence: undefined,
    lookEveryMs: 10,
    timeoutMs: 100,
    sight: () => ({ ...sight, askedAtMs: { a: Infinity, b: Infinity, c: Infinity } }),
    tell: (news: FailoverNews) => void (news.is === "step" || told.push(news.is)),
    report: (what) => void told.push(what),
  });
  const conducted = conductor.conduct();
  await new Promise((resolve) => setTimeout(resolve, lastMs));
  await candidate.close();
  await conducted;
  return { orders, told };
}

describe("the last look before a server is told to follow another", () => {
  it("a server that takes writes beside the primary is told", async () => {
    const { orders, told } = await ordered(async () => {});
    expect(orders[0]).toBe("b follows a");
    expect(told).toEqual(["two-writable"]);
  });

  it("nobody is told if the record names that very server by then, or a change is under way, or it is paused", async () => {
    const changes: readonly Partial<FailoverRecord>[] = [
      { epoch: 5, primary: "b" },
      { epoch: 5, step: { at: "promoting", why: "down", from: "a", to: "b", position: 7, fencedBy: "seat" } },
      { epoch: 5, step: { at: "fencing", why: "down", from: "a", wish: undefined } },
      { epoch: 5, primary: "c" },
      { isPaused: true },
    ];
    for (const change of changes) {
      const write = (term: object): Promise<void> =>
        writeReservedMemo(term, RECORD_KEY, formatRecord({ ...STEADY, ...change }));
      expect((await ordered(write)).orders).toEqual([]);
    }
  });

  it("nobody is told if the term is over by then", async () => {
    expect((await ordered((term) => (term as { resign(): Promise<void> }).resign())).orders).toEqual([]);
  });

  it("nobody is told who says by then that it is a replica: its guard tells it", async () => {
    expect((await ordered(async () => {}, { view: up("replica") })).orders).toEqual([]);
  });

  it("a server that cannot be made a replica, as with PostgreSQL, is told of loudly, once", async () => {
    const { told } = await ordered(async () => {}, { outcome: "not-done" });
    expect(told).toEqual([
      "two-writable",
      "b takes writes beside a, and cannot be made a replica from here: end it on its host, so that its guard starts it as a replica",
    ]);
  });
});
