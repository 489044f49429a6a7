import { describe, expect, it } from "vitest";
import {
  type GuardEffect,
  type GuardInput,
  guardOf,
  type GuardState,
  soughtBy,
  stepGuard,
} from "../../src/failover/guard-machine.ts";
import type { FailoverRecord, Step } from "conclave/failover";
import { firstRecord } from "../../src/failover/record.ts";

function record(step: Step, primary: string | undefined = "a"): FailoverRecord {
  return { ...firstRecord, epoch: 5, primary, histories: ["h"], step };
}

const PROMOTING_ME = record({ at: "promoting", why: "down", from: "a", to: "me", position: 7, fencedBy: "seat" });
const STEADY_A = record({ at: "steady" });
const FENCING_ME = record({ at: "fencing", why: "down", from: "me", wish: undefined }, "me");

/** One guard, step by step. */
class Post {
  state: GuardState = guardOf("me");
  isLeading = true;

  on(input: GuardInput): readonly string[] {
    const { state, effects } = stepGuard(this.state, input, { isLeading: this.isLeading });
    this.state = state;
    return effects.map(inWords);
  }

  emptied(): readonly string[] {
    return this.on({ type: "emptied", life: this.state.life });
  }
}

function inWords(effect: GuardEffect): string {
  return [
    effect.type,
    ...Object.values(effect)
      .slice(1)
      .filter((value) => typeof value === "string"),
  ].join(" ");
}

describe("a service that was started and does not answer", () => {
  it("may get what it lacks from the primary of the record, also if that is another one than at the start", () => {
    const post = new Post();
    post.on({ type: "record", record: STEADY_A });
    expect(soughtBy(post.state), "nothing was started").toBe(undefined);
    post.on({ type: "begin" });
    expect(soughtBy(post.state)).toBe("a");
    post.on({ type: "record", record: record({ at: "repointing", from: "a", to: "b" }, "b") });
    expect(soughtBy(post.state)).toBe("b");
    post.on({ type: "started", life: 1 });
    expect(soughtBy(post.state), "it answers").toBe(undefined);
  });

  it("may get it from nobody while a change is under way, nor from itself", () => {
    const post = new Post();
    post.on({ type: "begin" });
    expect(soughtBy(post.state), "there is no record").toBe(undefined);
    const changes: readonly Step[] = [
      { at: "fencing", why: "down", from: "a", wish: undefined },
      { at: "handing-over", from: "a", to: "b" },
      { at: "choosing", why: "down", from: "a", wish: undefined, fencedBy: "seat" },
      { at: "promoting", why: "down", from: "a", to: "b", position: 7, fencedBy: "seat" },
    ];
    for (const step of changes) {
      post.on({ type: "record", record: record(step) });
      expect(soughtBy(post.state), step.at).toBe(undefined);
    }
    post.on({ type: "record", record: record({ at: "steady" }, "me") });
    expect(soughtBy(post.state)).toBe(undefined);
  });
});

function replica(): Post {
  const post = new Post();
  post.on({ type: "record", record: STEADY_A });
  expect(post.on({ type: "begin" })).toEqual(["start a"]);
  expect(post.on({ type: "started", life: 1 })).toEqual([]);
  return post;
}

function primary(): Post {
  const post = replica();
  expect(post.on({ type: "record", record: PROMOTING_ME })).toEqual(["stand"]);
  expect(post.on({ type: "seat-granted" })).toEqual(["reread"]);
  expect(post.on({ type: "reread", record: PROMOTING_ME })).toEqual(["promote"]);
  expect(post.on({ type: "promoted", outcome: "done" })).toEqual(["announce"]);
  return post;
}

describe("a guard", () => {
  it("starts its service as a replica, and follows whom the record names", () => {
    const post = replica();
    expect(post.on({ type: "record", record: record({ at: "steady" }, "b") })).toEqual(["follow b"]);
    expect(post.on({ type: "record", record: record({ at: "steady" }, "b") })).toEqual([]);
  });

  it("promotes only in the seat, on a record that was read after the grant and still names it", () => {
    primary();
    const post = replica();
    post.on({ type: "record", record: PROMOTING_ME });
    post.on({ type: "seat-granted" });
    expect(post.on({ type: "unread" })).toEqual(["reread"]);
    expect(post.on({ type: "reread", record: STEADY_A })).toEqual(["resign"]);
  });

  it("does not promote if the seat has run out meanwhile", () => {
    const post = replica();
    post.on({ type: "record", record: PROMOTING_ME });
    post.on({ type: "seat-granted" });
    post.isLeading = false;
    expect(post.on({ type: "reread", record: PROMOTING_ME })).toEqual(["resign"]);
  });

  it("does not stand again by itself after a restart: whoever was primary has to be chosen anew", () => {
    const post = new Post();
    post.on({ type: "record", record: record({ at: "steady" }, "me") });
    post.on({ type: "begin" });
    expect(post.on({ type: "started", life: 1 })).toEqual([]);
    expect(post.state.at).toBe("replica");
  });

  it("kills a service that may be writable when the seat ends, and gives the seat back only when nothing of it lives", () => {
    const post = primary();
    expect(post.on({ type: "seat-ended" })).toEqual(["kill"]);
    expect(post.emptied()).toEqual(["start a"]);
    const asked = primary();
    expect(asked.on({ type: "record", record: FENCING_ME })).toEqual(["kill"]);
    expect(asked.emptied()).toEqual(["resign", "start"]);
  });

  it("kills a service of which nobody knows whether it was promoted", () => {
    for (const outcome of ["unknown", "not-done"] as const) {
      const post = replica();
      post.on({ type: "record", record: PROMOTING_ME });
      post.on({ type: "seat-granted" });
      post.on({ type: "reread", record: PROMOTING_ME });
      expect(post.on({ type: "promoted", outcome })).toEqual(["kill"]);
    }
  });

  it("ignores the end of a service that it has replaced already", () => {
    const post = primary();
    post.on({ type: "seat-ended" });
    post.emptied();
    expect(post.on({ type: "emptied", life: 1 })).toEqual([]);
  });

  it("hands over when it is asked to, and kills if nobody knows how that ended", () => {
    const handing = record({ at: "handing-over", from: "me", to: "b" }, "me");
    const post = primary();
    expect(post.on({ type: "record", record: handing })).toEqual(["retire b"]);
    expect(post.on({ type: "retired", outcome: "done" })).toEqual(["resign"]);
    const unsure = primary();
    unsure.on({ type: "record", record: handing });
    expect(unsure.on({ type: "retired", outcome: "unknown" })).toEqual(["kill"]);
  });

  it("asks a service to take writes again when the hand-over was given up, and believes only what it hears of the hand-over", () => {
    const handing = record({ at: "handing-over", from: "me", to: "b" }, "me");
    const givenUp = (): Post => {
      const post = primary();
      post.on({ type: "record", record: handing });
      expect(post.on({ type: "record", record: record({ at: "steady" }, "me") })).toEqual(["unretire"]);
      return post;
    };
    expect(givenUp().on({ type: "retired", outcome: "not-done" })).toEqual(["announce"]);
    expect(givenUp().on({ type: "retired", outcome: "unknown" })).toEqual(["kill"]);
    expect(givenUp().on({ type: "retired", outcome: "done" })).toEqual(["resign"]);
    // It is not begun a second time while the first is under way.
    expect(givenUp().on({ type: "record", record: { ...handing, epoch: 6 } })).toEqual([]);
  });

  it("looks on the disk of a replica that ended before it ever answered, once a primary is settled", () => {
    const post = new Post();
    post.on({ type: "record", record: STEADY_A });
    post.on({ type: "begin" });
    const { state, effects } = stepGuard(post.state, { type: "emptied", life: 1 }, { isLeading: false });
    expect(effects).toContainEqual(expect.objectContaining({ type: "start", mends: true }));
    const inAChange = { ...state, record: FENCING_ME, follows: "a" };
    expect(stepGuard(inAChange, { type: "emptied", life: 2 }, { isLeading: false }).effects).toContainEqual(
      expect.objectContaining({ type: "start", mends: false }),
    );
  });

  it("mends a replica that has parted from the primary of the record, and nothing else", () => {
    const steadyB = record({ at: "steady" }, "b");
    const post = replica();
    expect(post.on({ type: "parted", life: 1, primary: "b" })).toEqual([]);
    post.on({ type: "record", record: steadyB });
    expect(post.on({ type: "parted", life: 0, primary: "b" })).toEqual([]);
    expect(post.on({ type: "parted", life: 1, primary: "b" })).toEqual(["stop"]);
    expect(post.emptied()).toEqual(["start b"]);
    expect(post.state.mends).toBe(true);
    // It did not answer: it is mended again, but not while somebody is being replaced.
    post.on({ type: "record", record: record({ at: "fencing", why: "down", from: "b", wish: undefined }, "b") });
    expect(stepGuard(post.state, { type: "emptied", life: post.state.life }, { isLeading: false }).effects).toEqual([
      expect.objectContaining({ type: "start", mends: false }),
    ]);
    post.on({ type: "record", record: steadyB });
    expect(stepGuard(post.state, { type: "emptied", life: post.state.life }, { isLeading: false }).effects).toEqual([
      expect.objectContaining({ type: "start", mends: true }),
    ]);
    post.on({ type: "started", life: post.state.life });
    expect(post.state.mends).toBe(false);
    const standing = replica();
    standing.on({ type: "record", record: PROMOTING_ME });
    expect(standing.on({ type: "parted", life: 1, primary: "a" })).toEqual([]);
    expect(primary().on({ type: "parted", life: 1, primary: "a" })).toEqual([]);
  });

  it("throws nothing away while a change is under way: it may be the one that has everything", () => {
    const post = replica();
    post.on({ type: "record", record: record({ at: "fencing", why: "down", from: "a", wish: undefined }) });
    expect(post.on({ type: "parted", life: 1, primary: "a" })).toEqual([]);
  });
});
