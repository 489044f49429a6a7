// Nothing happens in silence: who listens hears every event once, and when nobody listens trouble is a warning of the process, once per outage.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type ConclaveEvent, createCandidate, elect, type FencedStore } from "conclave";
import { memory } from "conclave/stores/memory";
import { sqlite } from "conclave/stores/sqlite";
import { createMetrics } from "conclave/telemetry";
import { type FakeStore, fakeStore } from "conclave/testing";

let warnings: (Error & { readonly code?: string })[] = [];
const take = (warning: Error): void => void warnings.push(warning);
beforeEach(() => {
  warnings = [];
  process.on("warning", take);
});
afterEach(() => {
  process.off("warning", take);
  vi.unstubAllEnvs();
});
/** A warning is emitted some turns later. */
const codes = async (): Promise<readonly (string | undefined)[]> => {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  return warnings.map(({ code }) => code);
};

/** A store that refuses every session for want of a right, until it is mended. */
function denying(store: FakeStore): { readonly store: FakeStore; readonly mend: () => void } {
  let denied = true;
  const keep: FencedStore["keep"] = (session, holds, call) =>
    denied
      ? Promise.resolve({
          kind: "refused",
          code: "STORE_DENIED",
          message: "fake: the tables are missing. Run: conclave schema",
          retryable: false,
        })
      : store.keep(session, holds, call);
  return {
    store: new Proxy(store, { get: (of, key) => (key === "keep" ? keep : bound(of, key)) }),
    mend: () => (denied = false),
  };
}

function bound(of: FakeStore, key: string | symbol): unknown {
  const value: unknown = Reflect.get(of, key);
  return typeof value === "function" ? (value.bind(of) as unknown) : value;
}

describe("who listens", () => {
  it("onEvent of elect hears everything from the beginning", async () => {
    const store = fakeStore();
    const heard: string[] = [];
    const election = elect("x", { store, ttlMs: 10_000, onEvent: ({ type }) => heard.push(type) });
    election.start();
    await store.advance(10_000);
    expect(heard.slice(0, 3)).toEqual(["standing", "session", "elected"]);
    expect(heard).toContain("renewed");
    expect(await codes()).toEqual([]);
  });

  it("logger gets each event as a line, at its level, on its own `this`", async () => {
    const store = fakeStore();
    const lines: string[] = [];
    class Log {
      readonly #lines = lines;
      debug(line: string): void {
        this.#lines.push(`debug ${line}`);
      }
      info(line: string): void {
        this.#lines.push(`info ${line}`);
      }
      warn(line: string): void {
        this.#lines.push(`warn ${line}`);
      }
      error(line: string): void {
        this.#lines.push(`error ${line}`);
      }
    }
    const candidate = createCandidate({ store, ttlMs: 10_000, logger: new Log() });
    candidate.election("x").start();
    await store.advance(1);
    store.hang();
    await store.advance(20_000);
    expect(lines).toContainEqual(expect.stringMatching(/^info conclave: elected election="x" token=1 /));
    expect(lines).toContainEqual(
      expect.stringMatching(/^warn conclave: state election="x" state="ending" reason="expired"$/),
    );
    expect(lines).toContainEqual(
      expect.stringMatching(/^warn conclave: error .*code="STORE_TIMEOUT".* store="[^"]+"$/),
    );
    expect(await codes()).toEqual([]);
  });

  it("pino itself is a logger, and writes events with their tokens as JSON", async () => {
    const lines: Record<string, unknown>[] = [];
    const log = pino({ level: "debug" }, { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) });
    const store = fakeStore();
    const candidate = createCandidate({ store, ttlMs: 10_000, logger: log });
    candidate.subscribe((event) => log.debug({ event }, "seen"));
    candidate.election("x").start();
    await store.advance(1);
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 30, msg: expect.stringMatching(/^conclave: elected election="x" token=1 /) }),
    );
    const elected = lines.find(({ event }) => (event as ConclaveEvent | undefined)?.type === "elected");
    expect(elected).toMatchObject({ level: 20, msg: "seen", event: { election: "x", token: { value: "1" } } });
    await candidate.close();
  });

  it("console itself is a logger", async () => {
    const info = vi.spyOn(console, "info").mockImplementation(() => {});
    const store = fakeStore();
    const candidate = createCandidate({ store, ttlMs: 10_000, logger: console });
    candidate.election("x").start();
    await store.advance(1);
    expect(info.mock.calls.flat()).toContainEqual(expect.stringMatching(/^conclave: elected election="x" token=1 /));
    info.mockRestore();
    vi.spyOn(console, "debug").mockImplementation(() => {});
    await candidate.close();
    vi.restoreAllMocks();
  });

  it("an election's subscribe hears of its own name and of the candidate, not of other names", async () => {
    const store = fakeStore();
    const candidate = createCandidate({ store, ttlMs: 10_000 });
    const heard: ConclaveEvent[] = [];
    const stop = candidate.election("x").subscribe((event) => heard.push(event));
    candidate.election("x").start();
    candidate.election("y").start();
    await store.advance(5000);
    expect(new Set(heard.map((event) => ("election" in event ? event.election : "candidate")))).toEqual(
      new Set(["x", "candidate"]),
    );
    stop();
    const before = heard.length;
    await store.advance(10_000);
    expect(heard).toHaveLength(before);
  });

  it("what a listener or a logger throws or rejects with harms nobody", async () => {
    const store = fakeStore();
    const broken = (): never => {
      throw new Error("broken");
    };
    const logger = { debug: broken, info: () => Promise.reject(new Error("late")), warn: broken, error: broken };
    const election = elect("x", { store, ttlMs: 10_000, logger, onEvent: () => Promise.reject(new Error("later")) });
    election.start();
    await store.advance(5000);
    expect(election.term()).toBeDefined();
    expect(new Set(await codes())).toEqual(new Set(["CONCLAVE_LISTENER"]));
  });

  it("options that cannot listen are refused", () => {
    const store = fakeStore();
    expect(() => elect("x", { store, logger: { info: () => {} } as never })).toThrow(
      /logger has no debug, warn, error/,
    );
    expect(() => elect("x", { store, onEvent: "console" as never })).toThrow(/onEvent "console" is not a function/);
  });
});

describe("an outage", () => {
  it("of a minute is one error and one recovery, however often it is tried", async () => {
    const store = fakeStore();
    const events: ConclaveEvent[] = [];
    const election = elect("x", { store, ttlMs: 10_000, onEvent: (event) => events.push(event) });
    election.start();
    await store.advance(1);
    store.hang();
    await store.advance(60_000);
    expect(events.filter(({ type }) => type === "error")).toHaveLength(1);
    expect(events.filter(({ type }) => type === "recovered")).toEqual([]);
    store.heal();
    await store.advance(20_000);
    const recovered = events.filter((event) => event.type === "recovered");
    expect(recovered).toHaveLength(1);
    expect(recovered[0]).toMatchObject({ code: "STORE_TIMEOUT" });
    expect(recovered[0]?.failures).toBeGreaterThan(5);
    expect(recovered[0]?.afterMs).toBeGreaterThan(50_000);
    expect(election.term()).toBeDefined();
  });

  it("of a hundred names is one error too", async () => {
    const store = fakeStore();
    const errors: ConclaveEvent[] = [];
    const candidate = createCandidate({ store, ttlMs: 10_000 });
    for (let index = 0; index < 100; index++) candidate.election(`x${index}`).start();
    await store.advance(1);
    candidate.subscribe((event) => event.type === "error" && errors.push(event));
    store.hang();
    await store.advance(30_000);
    expect(errors).toHaveLength(1);
  });

  it("is not over because looks work while renewals hang", async () => {
    const store = fakeStore();
    const events: ConclaveEvent[] = [];
    const candidate = createCandidate({ store, ttlMs: 10_000, onEvent: (event) => events.push(event) });
    candidate.election("x").start();
    await store.advance(1);
    const other = createCandidate({ store, ttlMs: 10_000, onEvent: () => {} });
    other.election("y").start();
    await store.advance(1);
    candidate.election("y").start();
    await store.advance(1);
    for (let round = 0; round < 8; round++) {
      store.faults.next("keep", { dropAnswer: true });
      await store.advance(1000);
    }
    expect(events.filter(({ type }) => type === "error").length).toBeLessThanOrEqual(1);
  });

  it("is told with the words of the client or server that explain it", async () => {
    const store = fakeStore();
    const keep = (): Promise<unknown> => Promise.reject(new Error("Parse Error: Expected HTTP/\nand more"));
    const strange = new Proxy(store, { get: (of, key) => (key === "keep" ? keep : bound(of, key)) });
    const events: ConclaveEvent[] = [];
    const candidate = createCandidate({ store: strange, ttlMs: 10_000, onEvent: (event) => events.push(event) });
    candidate.election("x").start();
    await store.advance(1000);
    const [told] = events.filter((event) => event.type === "error");
    expect(told?.error.message).toMatch(
      /^fake: no answer to opening a session \(Parse Error: Expected HTTP\/\); the request may or may not have been carried out\. Is the address right, and do both sides use TLS or neither\?/,
    );
  });

  it("that nobody listens to is one warning, with who, which store, why and what goes on, and one when it is over", async () => {
    const store = fakeStore();
    const candidate = createCandidate({ store, id: "web-1", ttlMs: 10_000 });
    candidate.subscribe(createMetrics().record); // counts, and tells nobody
    candidate.election("x").start();
    store.hang();
    await store.advance(60_000);
    expect(await codes()).toEqual(["CONCLAVE_STORE_TIMEOUT"]);
    expect(warnings[0]?.message).toMatch(
      /^web-1_\S+: fake: no answer to opening a session within \d+ ms; [^(]* Store: fake. It goes on trying/,
    );
    store.heal();
    await store.advance(20_000);
    expect(await codes()).toEqual(["CONCLAVE_STORE_TIMEOUT", "CONCLAVE_RECOVERED"]);
    expect(warnings[1]?.message).toMatch(/fake.* works again, \d+ s and \d+ failed requests after STORE_TIMEOUT/);
  });
});

it("a term that is being lost is a warning, also where nothing was at work in it", async () => {
  const store = fakeStore();
  const election = elect("x", { store, ttlMs: 10_000 });
  election.start();
  await store.advance(1);
  store.hang();
  await store.advance(20_000);
  expect(await codes()).toEqual(["CONCLAVE_STORE_TIMEOUT", "CONCLAVE_TERM_LOST"]);
  expect(warnings[1]?.message).toMatch(/"x": the term ended .*because no renewal was proven in time/);
});

describe("start", () => {
  it("goes on trying after an error that would reject lead, and leads once it is mended", async () => {
    const fake = fakeStore();
    const { store, mend } = denying(fake);
    const election = elect("x", { store, ttlMs: 10_000 });
    election.start();
    await store.advance(60_000);
    expect(await codes()).toEqual(["CONCLAVE_STORE_DENIED"]);
    expect(warnings[0]?.message).toMatch(
      /the tables are missing. Run: conclave schema\. Store: fake\. It goes on trying/,
    );
    mend();
    await store.advance(60_000);
    expect(election.term()).toBeDefined();
    expect(await codes()).toEqual(["CONCLAVE_STORE_DENIED", "CONCLAVE_RECOVERED"]);
  });

  it("closes at once while it pauses after such an error", async () => {
    const { store } = denying(fakeStore());
    const election = elect("x", { store, ttlMs: 10_000, onEvent: () => {} });
    election.start();
    await store.advance(2000);
    await election.close();
  });

  it("is warned of although lead of the same candidate is rejected with the same error", async () => {
    const { store } = denying(fakeStore());
    const candidate = createCandidate({ store, ttlMs: 10_000 });
    const rejected = expect(candidate.election("y").lead(async () => {})).rejects.toMatchObject({
      code: "STORE_DENIED",
    });
    candidate.election("x").start();
    await store.advance(100);
    await rejected;
    expect(await codes()).toEqual(["CONCLAVE_STORE_DENIED"]);
  });
});

it("lead is rejected, and nobody is warned of what was thrown at the caller", async () => {
  const { store } = denying(fakeStore());
  const heard: string[] = [];
  await expect(elect("x", { store, ttlMs: 10_000 }).lead(async () => {})).rejects.toMatchObject({
    code: "STORE_DENIED",
  });
  const listened = elect("x", { store, ttlMs: 10_000, onEvent: ({ type }) => heard.push(type) });
  await expect(listened.lead(async () => {})).rejects.toMatchObject({ code: "STORE_DENIED" });
  expect(heard).toContain("error");
  expect(await codes()).toEqual([]);
});

describe.each(["race", "line"] as const)("waiting, in a %s", (shape) => {
  it("says who leads", async () => {
    const store = memory({ shape });
    const leader = createCandidate({ store, id: "leader", ttlMs: 1000, onEvent: () => {} });
    const follower = createCandidate({ store, id: "follower", ttlMs: 1000 });
    const waits: (string | undefined)[] = [];
    follower.subscribe((event) => event.type === "waiting" && waits.push(event.leader?.candidate));
    leader.election("x").start();
    await expect.poll(() => leader.election("x").term()).toBeDefined();
    follower.election("x").start();
    await expect.poll(() => waits.at(-1)).toBe(leader.id);
    expect(waits.length).toBeLessThanOrEqual(2);
    await leader.close();
    await follower.close();
  });
});

describe("what looks like a mistake", () => {
  it("two stores for one name in one process are warned of, once", async () => {
    const a = elect("twins", { store: memory(), ttlMs: 2000 });
    const b = elect("twins", { store: memory(), ttlMs: 2000 });
    const c = elect("twins", { store: memory(), ttlMs: 2000 });
    for (const election of [a, b, c]) election.start();
    expect(await codes()).toEqual(["CONCLAVE_TWO_STORES"]);
    expect(warnings[0]?.message).toMatch(/"twins" is an election at two stores in this process/);
    await Promise.all([a.close(), b.close(), c.close()]);
  });

  it("one store opened twice by one URL is no mistake, nor are two elections one after the other", async () => {
    const a = elect("shared", { store: memory("memory:shared"), ttlMs: 2000 });
    const b = elect("shared", { store: memory("memory:shared"), ttlMs: 2000 });
    a.start();
    b.start();
    await Promise.all([a.close(), b.close()]);
    await elect("shared", { store: memory(), ttlMs: 2000 }).lead(async () => {});
    await elect("shared", { store: memory(), ttlMs: 2000 }).lead(async () => {});
    expect(await codes()).toEqual([]);
  });

  it("one database under two paths is no mistake; two databases are, once both have shown their domain", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "conclave-twins-"));
    symlinkSync(folder, `${folder}-link`);
    const stores = [`${folder}/a.db`, `${folder}-link/a.db`, `${folder}/b.db`].map((place) => sqlite(place));
    const [a, b, c] = stores.map((store) => elect("domains", { store, ttlMs: 2000 }));
    a?.start();
    await expect.poll(() => a?.term()).toBeDefined();
    b?.start();
    await expect.poll(() => b?.leader()).toBeDefined();
    expect(await codes()).toEqual([]);
    c?.start();
    await expect.poll(() => c?.term()).toBeDefined();
    expect(await codes()).toEqual(["CONCLAVE_TWO_STORES"]);
    await Promise.all([a?.close(), b?.close(), c?.close(), ...stores.map((store) => store.close())]);
    for (const place of [`${folder}-link`, folder]) rmSync(place, { recursive: true });
  });

  it("memory: in production is warned of, once", async () => {
    vi.stubEnv("NODE_ENV", "production");
    for (const name of ["p1", "p2"]) await elect(name, { store: memory(), ttlMs: 2000 }).lead(async () => {});
    expect(await codes()).toEqual(["CONCLAVE_MEMORY_IN_PRODUCTION"]);
  });
});

it("every event of one election names one candidate, also those of its end", async () => {
  const names: unknown[] = [];
  const hear = (message: unknown): void => void names.push((message as { candidate: unknown }).candidate);
  subscribe("conclave", hear);
  await elect("x", { store: memory() }).lead(async () => {});
  await expect.poll(() => names.length).toBeGreaterThanOrEqual(5);
  unsubscribe("conclave", hear);
  expect(new Set(names).size).toBe(1);
});
