// A candidate with a renewal thread in this process: refused where it cannot be, lost, ended. The package is bundled as for the processes of other tests, because
// a thread is started from a file.
import { spawnSync } from "node:child_process";
import { cpSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Worker } from "node:worker_threads";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type * as conclave from "conclave";
import type * as sqliteModule from "conclave/stores/sqlite";
import { Database } from "../stores/sqlite/by-hand.ts";
import { sleep, Stage } from "../support/processes.ts";

const stage = new Stage();
afterAll(() => stage.end());
// The bindings are found from the bundle as from the repository.
symlinkSync(path.resolve("node_modules"), stage.file("node_modules"));
const modules = await stage.modules();
const { createCandidate, openStore } = await load<typeof conclave>(modules, "index.js");
const { sqlite } = await load<typeof sqliteModule>(modules, "sqlite.js");

function load<M>(folder: string, name: string): Promise<M> {
  return import(pathToFileURL(path.join(folder, name)).href) as Promise<M>;
}

/** Every thread that was started, and whether it still runs. */
const threads = new Map<Worker, { isGone: boolean }>();
const note = (worker: Worker): void => {
  const state = { isGone: false };
  threads.set(worker, state);
  worker.once("exit", () => (state.isGone = true));
};
beforeAll(() => void process.on("worker", note));
afterAll(() => void process.off("worker", note));
beforeEach(() => threads.clear());
afterEach(() => {
  expect([...threads.values()].filter(({ isGone }) => !isGone)).toEqual([]); // none outlives its candidate
});

let files = 0;
const fresh = (): ReturnType<typeof sqlite> => sqlite(stage.file(`host-${++files}.db`));

function open(store: conclave.FencedStore, ttlMs = 2000, create = createCandidate) {
  const candidate = create({ store, id: "me", ttlMs, renewal: "thread" });
  const events: conclave.ConclaveEvent[] = [];
  candidate.subscribe((event) => events.push(event));
  const codes = (): string[] => events.flatMap((event) => (event.type === "error" ? [event.error.code] : []));
  return { candidate, events, codes };
}

/** The same store, which says that it was opened from `url`. */
function withUrl(store: conclave.FencedStore, url: string | undefined): conclave.FencedStore {
  const methods = ["keep", "claim", "release", "look", "watch", "close"] as const;
  const bound = Object.fromEntries(methods.map((name) => [name, store[name].bind(store)]));
  return { guarantee: store.guarantee, url, ...bound } as unknown as conclave.FencedStore;
}

describe("renewal by a thread is refused", () => {
  const refusal = (store: conclave.FencedStore): string => {
    try {
      createCandidate({ store, renewal: "thread" });
      return "accepted";
    } catch (error) {
      expect(error).toMatchObject({ code: "CONFIG_INVALID" });
      return (error as Error).message;
    }
  };

  it("around a client that the user made", () => {
    const database = new Database(stage.file("mine.db"));
    expect(refusal(sqlite(database as never))).toMatch(/needs a store that was opened from a URL.*openStore\(url\)/);
    database.close();
    expect(refusal(withUrl(fresh(), undefined))).toMatch(/no other thread can use/);
  });

  it("where the store lives in one thread", async () => {
    expect(refusal((await openStore("memory:")) as conclave.FencedStore)).toMatch(/lives in one thread/);
    expect(refusal(sqlite(":memory:"))).toMatch(/lives in one thread/);
  });

  it("with a stallAfterMs that makes no sense", () => {
    const store = fresh();
    expect(() => createCandidate({ store, renewal: "thread", ttlMs: 2000, stallAfterMs: 10 })).toThrow(/at least \d+/);
    expect(() => createCandidate({ store, stallAfterMs: 5000 })).toThrow(/of renewal: "thread" only/);
  });
});

describe("a session that is lost", () => {
  it("ends a crowd of terms at once, in a loop", { timeout: 120_000 }, async () => {
    const COUNT = 20_000;
    const store = fresh();
    const { candidate, events } = open(store, 20_000);
    const terms = await Promise.all(
      Array.from({ length: COUNT }, (_, index) => candidate.election(`name-${index}`).campaign()),
    );
    await expect.poll(() => [...threads.values()].length).toBe(1);
    const database = new Database(stage.file(`host-${files}.db`));
    database.exec("PRAGMA busy_timeout = 5000; UPDATE conclave_session SET ended = 1");
    database.close();
    await terms[0]?.renew().catch(() => {});
    expect(terms.some((term) => term.isHeld())).toBe(false);
    expect(events.filter(({ type }) => type === "lost")).toHaveLength(COUNT);
    await candidate.close();
  });
});

describe("a lost thread", () => {
  it("is an event, and renewals go on in the main loop", async () => {
    const { candidate, codes } = open(fresh());
    const term = await candidate.election("x").campaign();
    await sleep(300);
    const [thread] = threads.keys();
    await thread?.terminate();
    await expect.poll(codes).toEqual(["THREAD_LOST"]);
    await sleep(2500);
    expect(term.isHeld()).toBe(true);
    await candidate.close();
  });

  it("that is lost with a keep in flight costs nothing but that keep", async () => {
    const { candidate, codes } = open(fresh());
    const term = await candidate.election("x").campaign();
    await sleep(300);
    const [thread] = threads.keys();
    const renewed = term.renew().catch((error: unknown) => error);
    void thread?.terminate();
    await renewed;
    await expect.poll(codes).toContain("THREAD_LOST");
    const again = term.renew().then(
      () => "renewed",
      (error: { code: string }) => error.code,
    );
    expect(await again).toBe("renewed");
    expect(term.isHeld()).toBe(true);
    await candidate.close();
  });

  it("that throws as soon as it runs is the same", async () => {
    const { candidate, events, codes } = open(withUrl(fresh(), "nothing://here"));
    const term = await candidate.election("x").campaign();
    await expect.poll(codes).toEqual(["THREAD_LOST"]);
    expect(events.find(({ type }) => type === "error")).toMatchObject({
      error: { message: expect.stringMatching(/not the scheme of a store.*Renewals go on in the main loop/) },
    });
    await sleep(2500);
    expect(term.isHeld()).toBe(true);
    await candidate.close();
  });

  it("that does not answer is given up, before the term is lost", async () => {
    const folder = stage.file("hung");
    cpSync(modules, folder, { recursive: true });
    const script = `import { workerData } from "node:worker_threads";
      new BigInt64Array(workerData.memory)[3] = 1n; // it listens, and hears nothing
      setInterval(() => {}, 1000);`;
    writeFileSync(path.join(folder, "renewal-thread.js"), script);
    const { createCandidate: create } = await load<typeof conclave>(folder, "index.js");
    const { candidate, events, codes } = open(fresh(), 4000, create);
    const term = await candidate.election("x").campaign();
    await expect.poll(codes, { timeout: 5000 }).toContain("THREAD_LOST");
    await sleep(4000);
    expect(term.isHeld()).toBe(true);
    expect(events.filter(({ type }) => type === "lost")).toEqual([]);
    await candidate.close();
  });
});

describe("closing", () => {
  it("while a keep of the thread is in flight ends the term, the thread, and the session", async () => {
    const store = fresh();
    for (let round = 0; round < 10; round++) {
      const { candidate, codes } = open(store);
      const term = await candidate.election("x").campaign();
      term.renew().catch(() => {});
      if (round % 2 === 1) await sleep(round);
      await candidate.close();
      expect(term.isHeld()).toBe(false);
      expect(codes()).toEqual([]);
    }
    const rival = createCandidate({ store, id: "rival", ttlMs: 2000 });
    expect((await rival.election("x").tryCampaign())?.token.value).toBe(11n); // nothing of the old ones stands
    await rival.close();
  });

  it("leaves nothing that keeps the process alive, nor does a thread of one that holds nothing", () => {
    const script = stage.file("script.mjs");
    const [index, store] = ["index.js", "sqlite.js"].map((name) => JSON.stringify(path.join(modules, name)));
    writeFileSync(
      script,
      `import { createCandidate } from ${index}; import { sqlite } from ${store};
       const candidate = createCandidate({ store: sqlite(${JSON.stringify(stage.file("script.db"))}), renewal: "thread", ttlMs: 60_000 });
       const token = await candidate.withLock("x", async (term) => term.token.value);
       if (process.argv[2] === "close") await candidate.close();
       console.log(String(token));`,
    );
    for (const how of ["close", "leave"]) {
      const { status, stdout, stderr } = spawnSync(process.execPath, [script, how], { timeout: 20_000 });
      expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: "" });
      expect(String(stdout)).toMatch(/^\d+\n$/);
    }
  });
});
