// What a keeper would give back for a dead supervisor: noted from the calls that pass, before they are answered where they may be applied unanswered.
import { memory } from "conclave/stores/memory";
import { expect, it } from "vitest";
import type { Bid, Kept, Released, Session, Store } from "conclave/stores/contract";
import { witness } from "../../src/supervisor/estate.ts";
import { call } from "../stores/moves.ts";

const one: Session = { id: "one", candidate: "a", ttlMs: 1000 };
const two: Session = { ...one, id: "two" };
const spec = { nonce: "n", candidate: "a", ttlMs: 1000 };
const bid = "b.1" as Bid;

/** A store whose answers the test gives. `told`: the calls, as they arrive, and changes of the estate. */
function scripted() {
  const told: string[] = [];
  const next: { kept: Kept; released: Released } = {
    kept: { kind: "kept", session: one, lost: [] } as unknown as Kept,
    released: { kind: "released" },
  };
  const store = {
    guarantee: { store: "scripted" },
    keep: async (...args: unknown[]) => {
      told.push(`keep ${JSON.stringify(args[3] ?? null)}`);
      return next.kept;
    },
    claim: () => {
      told.push("claim");
      return new Promise(() => {}); // it is never answered
    },
    release: async () => next.released,
  } as unknown as Store;
  const seen = witness(store, () => told.push(`estate ${JSON.stringify(seen.estate("u")?.holds ?? null)}`));
  const kept = (session: Session): Kept => ({ ...next.kept, session }) as Kept;
  return { store: seen.store, estate: () => seen.estate("u"), told, next, kept };
}

const aClaim = (session: Session) => ({ session, name: "x", bid, over: undefined, value: "" });
const toEnd = (endSession: boolean) => ({ session: one, holds: [{ name: "x", bid }], endSession });

it("notes a claim before it is sent: it may be applied although its answer never comes", async () => {
  const { store, told, estate } = scripted();
  await store.keep(spec, [], call());
  void store.claim([aClaim(one)], call());
  expect(told).toEqual(["keep null", "estate []", 'estate [{"name":"x","bid":"b.1"}]', "claim"]);
  expect(estate()).toEqual({ url: "u", session: one, holds: [{ name: "x", bid }] });
});

it("passes on what a renewal need not do", async () => {
  const { store, told } = scripted();
  await store.keep(spec, [], call(), { quick: true } as never);
  expect(told[0]).toBe('keep {"quick":true}');
});

it("forgets a session that is lost, and what the one before had", async () => {
  const { store, next, kept, estate } = scripted();
  await store.keep(spec, [], call());
  void store.claim([aClaim(one)], call());
  next.kept = kept(two);
  await store.keep(spec, [], call());
  expect(estate()).toEqual({ url: "u", session: two, holds: [] });
  next.kept = { kind: "session-lost" } as Kept;
  await store.keep(two, [], call());
  expect(estate()).toBeUndefined();
});

it("gives nothing up that the store has not said to be over", async () => {
  const { store, next, estate } = scripted();
  await store.keep(spec, [], call());
  void store.claim([aClaim(one)], call());
  const before = estate();
  await store.release(toEnd(false), call()); // a term, and not the session
  expect(estate()).toEqual(before);
  next.released = { kind: "unknown" } as Released;
  await store.release(toEnd(true), call());
  expect(estate()).toEqual(before);
  next.kept = { kind: "unknown" } as Kept;
  await store.keep(one, [], call());
  expect(estate()).toEqual(before);
  next.released = { kind: "released" } as Released;
  await store.release(toEnd(true), call());
  expect(estate()).toBeUndefined();
});

const [FIRST, SECOND, OTHER] = ["1", "2", "3"].map((digit) => `${digit.repeat(8)}-0000-4000-8000-000000000000`);

it("names the beats of each keep before the store has answered it, so that a will ends no session that another copy keeps", async () => {
  const real = memory();
  const seen = witness(real, () => {});
  const opened = await seen.store.keep({ nonce: "n", candidate: "c", ttlMs: 1000, beat: FIRST }, [], call());
  if (opened.kind !== "kept") throw new Error("not opened");
  const keeping = seen.store.keep({ ...opened.session, beats: [FIRST ?? "", SECOND ?? ""] }, [], call());
  expect(seen.estate("memory:")?.session.beats).toEqual([FIRST, SECOND]);
  await keeping;
  const left = seen.estate("memory:")?.session;
  if (left === undefined) throw new Error("there is an estate");
  // Another copy keeps the session on; the will of this one finds none of its beats.
  await real.keep({ ...opened.session, beats: [SECOND ?? "", OTHER ?? ""] }, [], call());
  expect((await real.release({ session: left, holds: [], endSession: true }, call())).kind).toBe("released");
  expect((await real.keep({ ...opened.session, beats: [OTHER ?? "", FIRST ?? ""] }, [], call())).kind).toBe("kept");
});
