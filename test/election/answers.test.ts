// Which answers of a driver are believed: those that have the shape of an answer to the very request. A bug of a driver must lead neither to two leaders nor to a candidate that hangs.
import { describe, expect, it } from "vitest";
import { asBid, asVersion, type Claimed, type Store, VACANT } from "conclave/stores/contract";
import { ManualClock } from "conclave/testing";
import { exchange } from "../../src/election/ask.ts";
import type { Answer, Request } from "../../src/lease/state.ts";

const session = { id: "s", candidate: "a", ttlMs: 1000 };
const token = { domain: "d", value: 1n, bid: asBid("mine") };
const hold = { name: "x", bid: asBid("mine"), token };
const seat = { name: "x", version: asVersion("1"), state: "held" as const, ttlMs: 1000 };
const memo = { key: "k", value: "v", token, n: 1, version: "1" };
const claim = { session, name: "x", bid: asBid("mine"), over: VACANT, value: "" };

const REQUESTS: Readonly<Record<Request["method"], Request>> = {
  keep: { method: "keep", session, holds: [hold] },
  claim: { method: "claim", claims: [claim] },
  release: { method: "release", will: { session, holds: [hold], endSession: false } },
  look: { method: "look", questions: [{ name: "x" }] },
  writeMemo: { method: "writeMemo", write: { session, hold, key: "k", value: "v", n: 1, over: undefined } },
  readMemos: { method: "readMemos", name: "x", key: "k" },
  askToLeave: { method: "askToLeave", name: "x", token },
  invite: { method: "invite", name: "x", invitation: { token, to: "b" } },
};

const kept = { kind: "kept", session, lost: [], unsure: [], strays: [] };
/** For each method what it may answer, besides that nothing is known and that it is refused. */
const RIGHT: Readonly<Record<Request["method"], readonly object[]>> = {
  keep: [kept, { ...kept, met: { server: "7" } }, { kind: "session-lost" }],
  claim: [],
  release: [{ kind: "released" }],
  look: [{ kind: "seen", seats: [seat] }],
  writeMemo: [
    { kind: "written", version: "1" },
    { kind: "conflict", memo },
    { kind: "conflict", memo: undefined },
    { kind: "seat-lost" },
    { kind: "session-lost" },
  ],
  readMemos: [{ kind: "memos", memos: [memo] }],
  askToLeave: [{ kind: "asked" }, { kind: "not-leading", seat }],
  invite: [{ kind: "told" }],
};

/** What no request is answered by. */
const WRONG: readonly unknown[] = [
  undefined,
  null,
  "kept",
  {},
  { kind: "granted", hold },
  { ...kept, session: undefined },
  { ...kept, session: { ...session, id: 7 } },
  { ...kept, lost: undefined },
  { ...kept, unsure: undefined },
  { ...kept, strays: {} },
  { ...kept, met: null },
  { ...kept, met: { server: 7 } },
  { ...kept, met: { server: "7", extraMarginMs: -1 } },
  { ...kept, met: { server: "7", extraMarginMs: Number.NaN } },
  { ...kept, met: { server: "7", extraMarginMs: Infinity } },
  { ...kept, met: { server: "7", proofApartMs: -1 } },
  { ...kept, met: { server: "7", proofWithinMs: 0 } },
  { ...kept, met: { server: "7", proofWithinMs: Number.NaN } },
  { ...kept, met: { server: "7", earlyEnds: "none" } },
  { kind: "seen", seats: { length: 1 } },
  { kind: "seen", seats: [] },
  { kind: "seen", seats: [seat, seat] },
  { kind: "seen", seats: [{ ...seat, version: undefined }] },
  { kind: "seen", seats: [{ ...seat, ttlMs: 0 }] },
  { kind: "seen", seats: [{ ...seat, ttlMs: Number.NaN }] },
  { kind: "seen", seats: [undefined] },
  { kind: "written" },
  { kind: "conflict", memo: { ...memo, version: 1 } },
  { kind: "conflict", memo: { ...memo, token: { ...token, value: 1 } } },
  { kind: "memos" },
  { kind: "memos", memos: [{ ...memo, value: undefined }] },
];

async function answerTo(request: Request, answer: unknown, shape: "race" | "line" = "race"): Promise<Answer> {
  const clock = new ManualClock();
  const heard: Answer[] = [];
  const store = {
    guarantee: { store: "scripted", shape, fencing: "fenced", memos: { keys: 1, bytes: 100 }, invites: true },
    ...Object.fromEntries(Object.keys(REQUESTS).map((method) => [method, () => Promise.resolve(answer)])),
  } as unknown as Store;
  exchange(store, clock, request, 1000, clock.now(), (each) => heard.push(each));
  await clock.advance(1);
  expect(heard).toHaveLength(1);
  return heard[0] as Answer;
}

describe.each(Object.values(REQUESTS).filter(({ method }) => method !== "claim"))("$method", (request) => {
  it("is answered by what has the shape of its own answers, by nothing else", async () => {
    for (const [method, answers] of Object.entries(RIGHT))
      for (const answer of answers) {
        const isOwn = RIGHT[request.method].some(({ kind }: { kind?: string }) => kind === (answer as Answer).kind);
        const said = `${method}: ${(answer as Answer).kind}`;
        expect((await answerTo(request, answer)).kind, said).toBe(isOwn ? (answer as Answer).kind : "unknown");
      }
    for (const [index, answer] of WRONG.entries())
      expect((await answerTo(request, answer)).kind, `the wrong answer ${index}`).toBe("unknown");
  });

  it("may be refused, or have no answer", async () => {
    for (const kind of ["refused", "unknown"]) expect((await answerTo(request, { kind })).kind).toBe(kind);
  });
});

describe("a claim", () => {
  const granted: Claimed = { kind: "granted", hold };
  const kindOf = async (claimed: unknown, shape: "race" | "line"): Promise<string> => {
    const answer = await answerTo(REQUESTS.claim, [claimed], shape);
    return answer.kind === "claimed" ? (answer.claimed[0] as Claimed).kind : `no claim: ${answer.kind}`;
  };

  it("has one answer for each name: otherwise nobody knows which is whose", async () => {
    for (const answers of [[], [granted, granted], undefined, { length: 1 }])
      expect((await answerTo(REQUESTS.claim, answers)).kind).toBe("unknown");
    expect((await answerTo(REQUESTS.claim, [granted])).kind).toBe("claimed");
  });

  it.each([
    [granted, "granted", "granted"],
    [{ kind: "waiting", hold, ahead: 1 }, "unknown", "waiting"],
    [{ kind: "leftover", bid: "older" }, "unknown", "leftover"],
    [{ kind: "beaten", seat }, "beaten", "unknown"],
    [{ kind: "beaten" }, "unknown", "unknown"],
    [{ kind: "beaten", seat: { ...seat, version: 7 } }, "unknown", "unknown"],
    [{ kind: "beaten", seat: { ...seat, ttlMs: -1 } }, "unknown", "unknown"],
    [{ kind: "session-lost" }, "session-lost", "session-lost"],
    [{ kind: "kept" }, "unknown", "unknown"],
    [undefined, "unknown", "unknown"],
  ])("that is answered %o is %s in a race, and %s in a line", async (claimed, inRace, inLine) => {
    expect([await kindOf(claimed, "race"), await kindOf(claimed, "line")]).toEqual([inRace, inLine]);
  });
});
