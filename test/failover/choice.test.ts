import { describe, expect, it } from "vitest";
import type { FailoverRecord, Step, View, Views } from "conclave/failover";
import { choose, type ChoiceRule } from "../../src/failover/choice.ts";
import { firstRecord, type SyncRule } from "../../src/failover/record.ts";

const RULE: ChoiceRule = { servers: { a: 100, b: 100, c: 100 }, lagMax: 0 };

function up(position: number, history = "h2", more: Partial<Extract<View, { is: "up" }>> = {}): View {
  return { is: "up", role: "replica", history, position, follows: "a", isLinked: false, isEmpty: false, ...more };
}

function choosing(step: Partial<Extract<Step, { at: "choosing" }>> = {}, sync?: SyncRule): FailoverRecord {
  return {
    ...firstRecord,
    sync,
    primary: "a",
    histories: ["h2", "h1"],
    step: { at: "choosing", why: "down", from: "a", wish: undefined, fencedBy: "seat", ...step },
  };
}

function waitingFor(confirmations: number): SyncRule {
  return { sets: [{ primary: "a", confirmations, promotable: ["b", "c"] }] };
}

function chosen(views: Views, record = choosing(), rule = RULE, hasSettled = true): string {
  const choice = choose(rule, record, views, hasSettled);
  return choice.is === "chosen" ? choice.server : choice.is;
}

describe("who becomes the primary", () => {
  it("is the server with the greatest position in the latest history, whatever its priority", () => {
    expect(chosen({ a: { is: "down" }, b: up(5), c: up(7) })).toBe("c");
    expect(chosen({ b: up(5), c: up(7) }, choosing(), { ...RULE, servers: { a: 1, b: 900, c: 1 } })).toBe("c");
  });

  it("is one of an older history only if nobody has the latest, and never one of an unknown history", () => {
    expect(chosen({ b: up(5), c: up(700, "h1") })).toBe("b");
    expect(chosen({ b: up(5, "h1"), c: up(700, "elsewhere") })).toBe("b");
    expect(chosen({ b: up(5, "elsewhere"), c: { is: "unknown" } })).toBe("wait");
  });

  it("is the server that is the primary already, where nothing was fenced; of two of them a human decides", () => {
    const first: FailoverRecord = {
      ...firstRecord,
      step: { at: "choosing", why: "first", from: undefined, wish: undefined, fencedBy: "nothing" },
    };
    const running = up(7, "h1", { role: "primary" });
    expect(chosen({ a: up(7, "h1"), b: up(9, "h1"), c: running }, first)).toBe("c");
    const rule = { ...RULE, servers: { a: 900, b: 100, c: 0 } };
    expect(chosen({ a: up(7, "h1"), b: up(9, "h1"), c: running }, first, rule)).toBe("c");
    expect(chosen({ a: running, b: up(9, "h1"), c: running }, first)).toBe("refused");
    const unfenced = choosing({ fencedBy: "nothing" });
    expect(chosen({ a: up(5, "h2", { role: "primary" }), b: up(5), c: up(7) }, unfenced)).toBe("a");
  });

  it("is decided by priority only within the lag limit, and then not against the wish of an order", () => {
    const rule = { servers: { a: 1, b: 900, c: 1 }, lagMax: 2 };
    expect(chosen({ b: up(5), c: up(7) }, choosing(), rule)).toBe("b");
    expect(chosen({ b: up(4), c: up(7) }, choosing(), rule)).toBe("c");
    const ordered = choosing({ why: "order", wish: { server: "c", isForced: false } });
    expect(chosen({ b: up(7), c: up(7) }, ordered, rule)).toBe("c");
    expect(chosen({ b: up(7), c: up(6) }, ordered, rule)).toBe("b");
  });

  it("is never a server of priority 0", () => {
    expect(chosen({ b: up(5), c: up(7) }, choosing(), { ...RULE, servers: { a: 1, b: 1, c: 0 } })).toBe("b");
  });

  it("is another than one that was tried in vain, if that one has nothing more", () => {
    const again = { ...choosing(), tried: ["b"] };
    expect(chosen({ b: up(7), c: up(7) }, again)).toBe("c");
    expect(chosen({ b: up(8), c: up(7) }, again)).toBe("b");
  });

  it("waits a while for those that do not answer", () => {
    const views: Views = { a: { is: "unknown" }, b: up(5), c: { is: "unknown" } };
    expect(chosen(views, choosing(), RULE, false)).toBe("wait");
    expect(chosen(views, choosing(), RULE, true)).toBe("b");
  });

  it("waits until n − k + 1 of the synchronous standbys answer, however long that takes", () => {
    const sync = waitingFor(1);
    expect(chosen({ b: up(5), c: { is: "unknown" } }, choosing({}, sync))).toBe("wait");
    expect(chosen({ b: up(5), c: up(6) }, choosing({}, sync))).toBe("c");
    expect(chosen({ b: up(5), c: { is: "unknown" } }, choosing({}, waitingFor(2)))).toBe("b");
  });

  it("takes the old primary's own word for its whole set, if its history is the latest that answers", () => {
    expect(chosen({ a: up(9), b: up(5) }, choosing({}, waitingFor(1)))).toBe("a");
    expect(chosen({ a: up(9, "h1"), b: up(5) }, choosing({}, waitingFor(1)))).toBe("wait");
    expect(chosen({ a: up(9, "elsewhere"), b: up(5) }, choosing({}, waitingFor(1)))).toBe("wait");
  });

  it("does not count a standby of an unknown history: it may have the commit that the others lack", () => {
    expect(chosen({ b: up(9, "elsewhere"), c: up(5) }, choosing({}, waitingFor(1)))).toBe("wait");
  });

  it("is again the one that was promoted in this change without being confirmed, and nobody's fork of an earlier change", () => {
    const fork = up(9, "h4", { ancestors: ["h3", "h2"], generation: 4 });
    const tried = { ...choosing({}, waitingFor(1)), tried: ["b"], attempts: [3, 4] };
    expect(chosen({ b: fork, c: up(5) }, tried)).toBe("b");
    // Who has followed it meanwhile has what it has; and one that was tried before, and wrote more, does not.
    expect(chosen({ b: { is: "down" }, a: up(9, "h4", { ancestors: ["h2"], generation: 4 }), c: up(5) }, tried)).toBe(
      "a",
    );
    expect(chosen({ b: fork, c: up(99, "h3", { ancestors: ["h2"], generation: 3 }) }, tried)).toBe("b");
    expect(chosen({ b: fork, c: up(5) }, choosing({}, waitingFor(1)))).toBe("wait");
    expect(chosen({ b: fork, c: up(5) })).toBe("c");
  });

  it("ignores the lag limit where commits wait for standbys", () => {
    const rule = { servers: { a: 1, b: 900, c: 1 }, lagMax: 100 };
    expect(chosen({ b: up(5), c: up(6) }, choosing({}, waitingFor(1)), rule)).toBe("c");
  });

  it("is whom an operator has forced, if that one answers", () => {
    const forced = choosing({ why: "order", wish: { server: "c", isForced: true } });
    expect(chosen({ b: up(7), c: up(1, "elsewhere") }, forced)).toBe("c");
    expect(chosen({ b: up(7), c: { is: "unknown" } }, forced)).toBe("wait");
  });
});

describe("the first primary", () => {
  const first: FailoverRecord = {
    ...firstRecord,
    step: { at: "choosing", why: "first", from: undefined, wish: undefined, fencedBy: "seat" },
  };
  const empty = (history: string): View => up(0, history, { isEmpty: true });

  it("is chosen only when every server answers", () => {
    expect(chosen({ a: empty("x"), b: empty("y"), c: { is: "unknown" } }, first)).toBe("wait");
    expect(chosen({ a: empty("x"), b: empty("y"), c: empty("z") }, first)).toBe("a");
  });

  it("is the one that has data, and nobody if two have different data", () => {
    expect(chosen({ a: empty("x"), b: up(0, "y"), c: empty("z") }, first)).toBe("b");
    expect(chosen({ a: up(9, "x"), b: up(3, "y"), c: empty("z") }, first)).toBe("refused");
  });
});
