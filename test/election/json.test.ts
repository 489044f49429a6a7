// What users log or send survives JSON: res.json(leader), pino(event), a status page with a term.
import { expect, it } from "vitest";
import { ConclaveError, type ConclaveEvent, createCandidate, formatToken, parseToken, TermLostError } from "conclave";
import { memory } from "conclave/stores/memory";
import { memoryFence } from "conclave/fencing";
import { fakeTerm } from "conclave/testing";

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

it("the leader, a term and every event can be written as JSON, tokens in decimal", async () => {
  const store = memory();
  const events: ConclaveEvent[] = [];
  const candidate = createCandidate({ store, id: "web", ttlMs: 2000, onEvent: (event) => events.push(event) });
  const rival = createCandidate({ store, id: "rival", ttlMs: 2000, onEvent: (event) => events.push(event) });
  const term = await candidate.election("x").campaign();
  rival.election("x").start();
  await expect.poll(() => events.some(({ type }) => type === "waiting")).toBe(true);
  expect(plain(await candidate.election("x").leader())).toEqual({ id: candidate.id, token: "1" });
  expect(plain(term)).toEqual({
    election: "x",
    candidate: candidate.id,
    token: { domain: term.token.domain, value: "1", bid: term.token.bid },
    state: "safe",
    remainingMs: expect.any(Number) as number,
  });
  const written = plain(events) as ConclaveEvent[];
  expect(written.map(({ type }) => type)).toEqual(events.map(({ type }) => type));
  expect(written.find(({ type }) => type === "elected")).toMatchObject({ token: { value: "1" } });
  expect(written.find(({ type }) => type === "waiting")).toMatchObject({
    leader: { candidate: candidate.id, token: "1" },
  });
  // A copy, as loggers make them, can be written as well.
  expect(plain(events.map((event) => ({ ...event, at: 1 })))).toHaveLength(events.length);
  await Promise.all([candidate.close(), rival.close()]);
});

it("an error keeps its code, message and cause, and what its kind carries", async () => {
  const cause = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED", socket: { huge: true } });
  const error = new ConclaveError("STORE_UNREACHABLE", "no way", { cause });
  expect(plain({ error })).toEqual({
    error: {
      name: "ConclaveError",
      message: "no way",
      code: "STORE_UNREACHABLE",
      retryable: true,
      cause: { name: "Error", message: "connect ECONNREFUSED", code: "ECONNREFUSED" },
    },
  });
  expect(plain(new TermLostError("x", "expired"))).toMatchObject({
    name: "TermLostError",
    code: "TERM_LOST",
    election: "x",
    reason: "expired",
  });
  const fence = memoryFence();
  await fence.run("ledger", fakeTerm({ token: 2n }), async () => {});
  const stale: unknown = await fence
    .run("ledger", fakeTerm({ token: 1n }), async () => {})
    .catch((refused: unknown) => refused);
  expect(plain(stale)).toMatchObject({ code: "TOKEN_STALE", presented: { value: "1" }, newest: { value: "2" } });
});

it("an error that is its own cause is cut off", () => {
  const error: Error & { cause?: unknown } = new ConclaveError("CLOSED", "circle");
  Object.defineProperty(error, "cause", { value: error });
  expect(JSON.stringify(error)).toContain("…");
});

it("a token is still plain data: equal to its parsed text, and the same in another thread", () => {
  const { token } = fakeTerm({ token: 7n });
  expect(parseToken(formatToken(token))).toEqual(token);
  expect(Object.keys(token)).toEqual(["domain", "value", "bid"]);
  expect(structuredClone(token)).toEqual({ domain: token.domain, value: 7n, bid: token.bid });
});
