// The memos of a term on the table: what is sent when, what is sent again, and what is never sent.
import { describe, expect, it } from "vitest";
import type { Bid, StoredMemo, MemoWrite, Version } from "conclave/stores/contract";
import type { Effect } from "../../src/lease/state.ts";
import { holdOf, Rig } from "./rig.ts";

const v = (text: string): Version => text as Version;

class MemoRig extends Rig {
  bid: Bid = this.lead();

  memo(id: number, key: string, value: string): void {
    this.input({ type: "memo", id, name: "x", bid: this.bid, key, value });
  }

  read(stands?: Partial<StoredMemo>): void {
    this.answer(this.next("readMemos"), { kind: "memos", memos: stands === undefined ? [] : [this.stands(stands)] });
  }

  stands(memo: Partial<StoredMemo>): StoredMemo {
    const token = { domain: "table", value: 0n, bid: "other" as Bid };
    return { key: "k", value: "", token, n: 1, version: v("v"), ...memo };
  }

  /** The write that is under way. */
  written(): MemoWrite {
    const call = this.next("writeMemo");
    this.answer(call, { kind: "written", version: v(`w${call.request.write.n}`) });
    return call.request.write;
  }

  /** id → "ok" or the code of its error. */
  get outcomes(): Record<number, string> {
    const done = this.effects.filter((effect): effect is Extract<Effect, { type: "done" }> => effect.type === "done");
    return Object.fromEntries(done.map(({ id, error }) => [id, error?.code ?? "ok"]));
  }
}

describe("the memos of a term", () => {
  it("reads a key before its first write, and writes over what it has read", () => {
    const rig = new MemoRig();
    rig.memo(1, "k", "a");
    expect(rig.has("writeMemo")).toBe(false);
    rig.read({ key: "k", version: v("old") });
    const { hold, ...write } = rig.written();
    expect(hold).toEqual(holdOf({ name: "x", bid: rig.bid }, 1n));
    expect(write).toMatchObject({ key: "k", value: "a", n: 1, over: "old" });
    expect(rig.outcomes).toEqual({ 1: "ok" });
  });

  it("writes one value of a key at a time, in the order of the calls", () => {
    const rig = new MemoRig();
    for (const id of [1, 2, 3]) rig.memo(id, "k", `value ${id}`);
    rig.read();
    const writes = [1, 2, 3].map(() => {
      expect(rig.pending.filter(({ request }) => request.method === "writeMemo")).toHaveLength(1);
      return rig.written();
    });
    expect(writes.map(({ n, over, value }) => [n, over, value])).toEqual([
      [1, undefined, "value 1"],
      [2, "w1", "value 2"],
      [3, "w2", "value 3"],
    ]);
  });

  it("does not let one key wait for another", () => {
    const rig = new MemoRig();
    rig.memo(1, "a", "1");
    rig.memo(2, "b", "2");
    rig.read();
    rig.read();
    expect([rig.written().key, rig.written().key]).toEqual(["a", "b"]);
  });

  it("sends a write without an answer again with the same n, over the same version", () => {
    const rig = new MemoRig();
    rig.memo(1, "k", "a");
    rig.memo(2, "k", "b");
    rig.read({ key: "k", version: v("old") });
    const first = rig.next("writeMemo");
    rig.unknown(first);
    expect([rig.has("writeMemo"), rig.outcomes]).toEqual([false, {}]);
    rig.pass(200);
    const second = rig.next("writeMemo");
    expect(second.request.write).toEqual(first.request.write);
    rig.answer(second, { kind: "written", version: v("w") });
    expect(rig.written()).toMatchObject({ n: 2, over: "w", value: "b" });
    expect(rig.outcomes).toEqual({ 1: "ok", 2: "ok" });
  });

  it("sends nothing once its deadline has passed, although no timer has fired", () => {
    const rig = new MemoRig();
    rig.memo(1, "k", "a");
    rig.read();
    rig.unknown(rig.next("writeMemo"));
    rig.jump(rig.remaining + 1);
    rig.memo(2, "k", "b");
    rig.pass(1000);
    expect(rig.has("writeMemo")).toBe(false);
    expect(rig.outcomes).toEqual({ 1: "TERM_LOST", 2: "TERM_LOST" });
  });

  it("still writes while the term is ending, and sends nothing after its work has settled", () => {
    const rig = new MemoRig();
    rig.memo(1, "k", "a");
    rig.read();
    rig.input({ type: "withdraw", name: "x" });
    rig.written();
    rig.memo(2, "k", "b");
    const late = rig.next("writeMemo");
    rig.memo(3, "k", "c");
    rig.input({ type: "settle", name: "x" });
    rig.pass(0);
    expect(rig.outcomes).toEqual({ 1: "ok", 2: "TERM_LOST", 3: "TERM_LOST" });
    rig.answer(late, { kind: "written", version: v("w2") });
    rig.memo(4, "k", "d");
    rig.pass(50);
    expect(rig.has("writeMemo")).toBe(false);
    expect(rig.outcomes[4]).toBe("TERM_LOST");
  });

  it("moves no deadline, whatever is answered", () => {
    const rig = new MemoRig();
    const { deadline } = rig;
    rig.pass(500);
    rig.memo(1, "k", "a");
    rig.read();
    rig.written();
    expect(rig.deadline).toBe(deadline);
  });

  it("loses the term at once if the seat is gone, and the session's terms if the session is", () => {
    for (const [kind, reason] of [
      ["seat-lost", "superseded"],
      ["session-lost", "session-lost"],
    ] as const) {
      const rig = new MemoRig();
      rig.memo(1, "k", "a");
      rig.read();
      rig.answer(rig.next("writeMemo"), { kind });
      expect(rig.isHeld(rig.bid)).toBe(false);
      expect(rig.happened("lost")).toEqual([{ type: "lost", election: "x", reason }]);
      expect(rig.outcomes).toEqual({ 1: "TERM_LOST" });
    }
  });

  it("rejects a write that finds what nobody but this term may have written, and reads before the next", () => {
    const rig = new MemoRig();
    rig.memo(1, "k", "a");
    rig.memo(2, "k", "b");
    rig.read();
    rig.answer(rig.next("writeMemo"), { kind: "conflict", memo: rig.stands({ version: v("by hand") }) });
    expect(rig.outcomes).toEqual({ 1: "STORE_FOREIGN_DATA" });
    expect(rig.isHeld(rig.bid)).toBe(true);
    rig.read({ version: v("by hand") });
    expect(rig.written()).toMatchObject({ n: 2, over: "by hand", value: "b" });
  });

  it("writes over an earlier write of its own that was given up and came late", () => {
    const rig = new MemoRig();
    const token = { domain: "table", value: 1n, bid: rig.bid };
    rig.memo(1, "k", "a");
    rig.memo(2, "k", "b");
    rig.read();
    rig.unknown(rig.next("writeMemo"));
    rig.pass(200);
    rig.answer(rig.next("writeMemo"), { kind: "refused", code: "STORE_DENIED", message: "no", retryable: false });
    expect(rig.outcomes).toEqual({ 1: "STORE_DENIED" });
    rig.read();
    rig.answer(rig.next("writeMemo"), { kind: "conflict", memo: rig.stands({ token, n: 1, version: v("late") }) });
    expect(rig.written()).toMatchObject({ n: 2, over: "late", value: "b" });
    expect(rig.outcomes).toEqual({ 1: "STORE_DENIED", 2: "ok" });
  });

  it("rejects what the store refuses for good, and keeps the term", () => {
    const rig = new MemoRig();
    rig.memo(1, "k", "a");
    rig.answer(rig.next("readMemos"), { kind: "refused", code: "STORE_DENIED", message: "no", retryable: false });
    expect(rig.outcomes).toEqual({ 1: "STORE_DENIED" });
    expect(rig.isHeld(rig.bid)).toBe(true);
  });

  it("counts on from what a copy of itself has written in this term", () => {
    const rig = new MemoRig();
    rig.memo(1, "k", "a");
    rig.read({ token: { domain: "table", value: 1n, bid: rig.bid }, n: 4, version: v("w4") });
    expect(rig.written()).toMatchObject({ n: 5, over: "w4" });
  });
});
