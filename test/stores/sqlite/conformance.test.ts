// `sqlite:` against the contract, on every binding that is installed, from a file and in memory; and what is its own: one row written per keep, tokens
// beyond 2⁵³, versions, deleted records, URLs.
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createCandidate, openStore } from "conclave";
import { storeConformance } from "conclave/testing";
import { sqlite, type SqliteDatabase } from "conclave/stores/sqlite";
import { type Bid, type Hint, type Hold, type Session, type Store, VACANT } from "conclave/stores/contract";
import { Database } from "./by-hand.ts";
import { call, claim, hold, open } from "../moves.ts";

const require = createRequire(import.meta.url);
const folder = mkdtempSync(path.join(tmpdir(), "conclave-sqlite-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const BINDINGS = (["node:sqlite", "better-sqlite3", "libsql"] as const).filter((name) => {
  try {
    require.resolve(name);
    return true;
  } catch {
    return false;
  }
});

let files = 0;
const newFile = (): string => path.join(folder, `${++files}.db`);

it("finds at least one binding", () => {
  expect(BINDINGS).not.toEqual([]);
});

describe.each(BINDINGS)("%s", (binding) => {
  for (const { name, run } of storeConformance(async () => sqlite(newFile(), { binding }))) it(`file: ${name}`, run);
  for (const { name, run } of storeConformance(async () => sqlite(":memory:", { binding }))) it(`memory: ${name}`, run);
});

async function look(
  store: Store,
  name = "x",
): Promise<Extract<Awaited<ReturnType<Store["look"]>>, { kind: "seen" }>["seats"][number]> {
  const looked = await store.look([{ name }], call());
  const seat = looked.kind === "seen" ? looked.seats[0] : undefined;
  if (seat === undefined) throw new Error(looked.kind);
  return seat;
}

/** Runs SQL on the file by hand, as an operator would. */
function byHand(file: string, sql: string): void {
  const database = new Database(file);
  database.exec(sql);
  database.close();
}

/** Counts the statements that a store runs. */
function counting(database: SqliteDatabase): { readonly database: SqliteDatabase; readonly ran: string[] } {
  const ran: string[] = [];
  const count = (sql: string): void => void ran.push(sql.trim().split(/\s+/).slice(0, 2).join(" "));
  const wrapped: SqliteDatabase = {
    exec: (sql) => (count(sql), database.exec(sql)),
    prepare: (sql) => {
      const statement = database.prepare(sql);
      return {
        all: (...values) => (count(sql), statement.all(...values)),
        run: (...values) => (count(sql), statement.run(...values)),
      };
    },
  };
  return { database: wrapped, ran };
}

async function holdMany(store: Store, session: Session, many: number): Promise<readonly Hold[]> {
  const names = Array.from({ length: many }, (_, index) => `name-${index}`);
  const claims = names.map((name, index) => ({ session, name, bid: `m.${index}` as Bid, over: VACANT, value: "" }));
  const claimed = await store.claim(claims, call());
  return claimed.flatMap((answer) => (answer.kind === "granted" ? [answer.hold] : []));
}

describe("a keep", () => {
  it.each([1, 2000])("of %i holds writes one row and counts the seats", async (many) => {
    const { database, ran } = counting(new Database(newFile()));
    const store = sqlite(database);
    const session = await open(store);
    const holds = await holdMany(store, session, many);
    expect(holds).toHaveLength(many);
    ran.length = 0;
    expect(await store.keep(session, holds, call())).toMatchObject({ kind: "kept", lost: [], strays: [] });
    expect(ran).toEqual(["BEGIN IMMEDIATE", "UPDATE conclave_session", "SELECT count(*)", "COMMIT"]);
  });

  it("notices a lost hold beside a stray, though their number is right", async () => {
    const store = sqlite(newFile());
    const session = await open(store);
    const [known, gone, stray] = await holdMany(store, session, 3);
    if (known === undefined || gone === undefined || stray === undefined) throw new Error("no holds");
    await store.release({ session, holds: [gone], endSession: false }, call());
    expect(await store.keep(session, [known, gone], call())).toMatchObject({
      lost: [{ name: gone.name }],
      strays: [{ name: stray.name, bid: stray.bid }],
    });
    await store.close();
  });

  it("never moves the recorded end back, though an older one comes after it", async () => {
    const store = sqlite(newFile());
    const session = await open(store, 1000);
    await hold(store, session, "x");
    await store.keep(session, [], { ...call(), sentAtMs: 5000 });
    expect((await look(store)).heldUntilMs).toBe(6000);
    await store.keep(session, [], { ...call(), sentAtMs: 4000 });
    expect((await look(store)).heldUntilMs).toBe(6000);
    await store.close();
  });
});

describe("what a look shows of a holder", () => {
  it("is when its time is up, only to a process of the same boot and time namespace", async () => {
    const file = newFile();
    const store = sqlite(file);
    await hold(store, await open(store, 1234), "x");
    expect(await look(store)).toMatchObject({ state: "held", heldUntilMs: 1234, ttlMs: 1234 });
    byHand(file, "UPDATE conclave_session SET clock = 'time:[1]'");
    expect(await look(store)).not.toHaveProperty("heldUntilMs");
    byHand(file, "UPDATE conclave_session SET boot = 'another'");
    expect(await look(store)).toMatchObject({ state: "held", ttlMs: 1234 });
    expect(await look(store)).not.toHaveProperty("heldUntilMs");
    await store.close();
  });

  it("is its death, if its socket refuses; not if the socket is gone, another's, or of another boot", async () => {
    const file = newFile();
    const [holder, asker] = [sqlite(file), sqlite(file)];
    await hold(holder, await open(holder), "x");
    const [socket = ""] = readdirSync(`${file}-life`).map((name) => path.join(`${file}-life`, name));
    expect((await look(asker)).state).toBe("held");
    rmSync(socket);
    expect((await look(asker)).state).toBe("held"); // ENOENT
    writeFileSync(socket, ""); // a file that nobody listens on refuses, but it is not the one that was recorded
    expect((await look(asker)).state).toBe("held");
    const { dev, ino } = (await import("node:fs")).statSync(socket);
    byHand(file, `UPDATE conclave_session SET socket_file = '${dev}:${ino}'`);
    expect((await look(asker)).state).toBe("abandoned");
    byHand(file, "UPDATE conclave_session SET boot = 'another'");
    expect((await look(asker)).state).toBe("held");
    await Promise.all([holder.close(), asker.close()]);
  });

  it("is no death when its store was closed while the process lives: the socket is unlinked first", async () => {
    const file = newFile();
    const [holder, asker] = [sqlite(file), sqlite(file)];
    await hold(holder, await open(holder), "x");
    const watch = asker.watch([{ name: "x" }], call())[Symbol.asyncIterator]();
    const hints: Hint[] = [];
    const next = watch.next().then(({ value }) => hints.push(value as Hint));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await holder.close();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(hints).toEqual([]);
    expect((await look(asker)).state).toBe("held");
    await asker.close();
    await next;
  });

  it("is no death when its store was closed while the folder of the socket was moved away, and came back", async () => {
    const file = newFile();
    const [holder, asker] = [sqlite(file), sqlite(file)];
    await hold(holder, await open(holder), "x");
    renameSync(`${file}-life`, `${file}-away`);
    await holder.close();
    renameSync(`${file}-away`, `${file}-life`);
    expect((await look(asker)).state).toBe("held");
    await asker.close();
  });
});

describe("records that were deleted by hand", () => {
  it.each([
    ["the seat", "DELETE FROM conclave_seat"],
    ["the session", "DELETE FROM conclave_session"],
    ["the end of the session", "UPDATE conclave_session SET ended = 1"],
  ])("show as missing, with the last ttl, and the next token is greater: %s", async (_what, sql) => {
    const file = newFile();
    const store = sqlite(file);
    const session = await open(store, 4321);
    const held = await hold(store, session, "x");
    byHand(file, sql);
    const seat = await look(store);
    expect(seat).toMatchObject({ state: "missing", ttlMs: 4321 });
    const hopeful = { session: await open(store), name: "x", bid: "hopeful.1" as Bid, over: VACANT, value: "" };
    expect(await store.claim([hopeful], call())).toMatchObject([{ kind: "beaten", seat: { state: "missing" } }]);
    const kept = await store.keep(session, [held], call());
    expect(kept.kind === "session-lost" || (kept.kind === "kept" && kept.lost.length === 1)).toBe(true);
    const next = await hold(store, await open(store), "x");
    expect(next.token?.value).toBe(2n);
    await store.close();
  });
});

it("tokens beyond 2⁵³ are exact, and the last of all is not followed by a smaller one", async () => {
  const file = newFile();
  const store = sqlite(file);
  const session = await open(store);
  const first = await hold(store, session, "x");
  byHand(file, "UPDATE conclave_counter SET last = 9007199254740993");
  await store.release({ session, holds: [first], endSession: false }, call());
  const second = await hold(store, session, "x");
  expect(second.token?.value).toBe(9007199254740994n);
  expect((await look(store)).holder?.token).toBe(9007199254740994n);
  byHand(file, "UPDATE conclave_counter SET last = 9223372036854775807");
  await store.release({ session, holds: [second], endSession: false }, call());
  expect((await claim(store, session, "x")).kind).toBe("refused");
  await store.close();
});

it("forgets sessions that held nothing and ran out, and ended ones but the latest thousand", async () => {
  const file = newFile();
  const store = sqlite(file);
  await open(store, 100);
  const holder = await open(store, 100);
  await hold(store, holder, "x");
  const spec = { nonce: "later", candidate: "c", ttlMs: 100 };
  await store.keep(spec, [], { ...call(), sentAtMs: 10_000 });
  const database = new Database(file);
  expect(database.prepare("SELECT count(*) AS n FROM conclave_session WHERE ended IS NULL").all()).toEqual([{ n: 2 }]);
  database.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
    INSERT INTO conclave_session (id, candidate, ttl, beat, ended) SELECT 'e' || i, '', 1, 0, i FROM n`);
  await open(store);
  expect(database.prepare("SELECT count(*) AS n FROM conclave_session WHERE ended IS NOT NULL").all()).toEqual([
    { n: 1000 },
  ]);
  database.close();
  await store.close();
});

it("sessions of another boot, or of another time namespace, do not run out by the clock of this process", async () => {
  const file = newFile();
  const store = sqlite(file);
  for (const nonce of ["boot", "clock"]) await store.keep({ nonce, candidate: "c", ttlMs: 100 }, [], call());
  const database = new Database(file);
  database.exec("UPDATE conclave_session SET boot = 'another' WHERE id = 'boot'");
  database.exec("UPDATE conclave_session SET clock = 'another' WHERE id = 'clock'");
  await store.keep({ nonce: "later", candidate: "c", ttlMs: 100 }, [], { ...call(), sentAtMs: 1_000_000 });
  expect(database.prepare("SELECT id FROM conclave_session WHERE ended IS NULL ORDER BY id").all()).toEqual([
    { id: "boot" },
    { id: "clock" },
    { id: "later" },
  ]);
  database.close();
  await store.close();
});

describe("the socket", () => {
  it("is recorded by its name, so that a container with another path to the folder finds it", async () => {
    const file = newFile();
    const store = sqlite(file);
    await hold(store, await open(store), "x");
    const [name] = readdirSync(`${file}-life`);
    const database = new Database(file);
    expect(database.prepare("SELECT socket FROM conclave_session").all()).toEqual([{ socket: name }]);
    database.close();
    await store.close();
  });

  it("is in a folder of its own, and is removed by close", async () => {
    const file = newFile();
    const store = sqlite(file);
    await open(store);
    expect(readdirSync(`${file}-life`)).toHaveLength(1);
    await store.close();
    expect(readdirSync(`${file}-life`)).toEqual([]);
  });

  it("is made anew for the next session, after its folder was removed", async () => {
    const file = newFile();
    const store = sqlite(file);
    await open(store);
    rmSync(`${file}-life`, { recursive: true });
    const descriptor = await store.lifeDescriptor();
    await Promise.all([open(store), open(store)]);
    expect(existsSync(`${file}-life`)).toBe(true);
    const made = readdirSync(`${file}-life`);
    expect(made).toHaveLength(1);
    const database = new Database(file);
    const sockets = database.prepare("SELECT socket FROM conclave_session ORDER BY socket").all() as {
      socket: string;
    }[];
    database.close();
    expect(sockets.filter(({ socket }) => socket === made[0])).toHaveLength(2);
    // A process that was handed the old one is told of another, and never by the same number.
    expect(await store.lifeDescriptor()).not.toBe(descriptor);
    await store.close();
    expect(readdirSync(`${file}-life`)).toEqual([]);
  });

  it("goes elsewhere where the path is too long, and the store works", async () => {
    const deep = path.join(folder, "a-very-long-name-".repeat(6));
    (await import("node:fs")).mkdirSync(deep);
    const store = sqlite(path.join(deep, "x.db"));
    await hold(store, await open(store), "x");
    expect(existsSync(path.join(deep, "x.db-life"))).toBe(false);
    await store.close();
  });
});

describe("a user's own database", () => {
  it("may hold other tables, and stays open", async () => {
    const database = new Database(newFile());
    database.exec("CREATE TABLE orders (id INTEGER)");
    const store = sqlite(database);
    await hold(store, await open(store), "x");
    await store.close();
    expect(database.prepare("SELECT count(*) AS n FROM conclave_seat").all()).toEqual([{ n: 1 }]);
    expect(database.prepare("PRAGMA synchronous").all()).toEqual([{ synchronous: 2 }]);
    database.close();
  });
});

describe("by URL", () => {
  it("opens the file, and says an absolute URL that opens it again", async () => {
    const file = path.join(folder, "with space & ?.db");
    const store = await openStore(`sqlite:${encodeURIComponent(file)}`);
    await hold(store, await open(store), "x");
    const again = await openStore((store as Store & { readonly url: string }).url);
    expect((await look(again)).state).toBe("held");
    await Promise.all([store.close(), again.close()]);
    expect(sqlite("sqlite::memory:").url).toBe("sqlite::memory:");
    expect(sqlite("x.db").url).toBe(`sqlite:${path.resolve("x.db")}`);
    expect(() => sqlite("sqlite:x?mode=ro")).toThrow(/"mode" is not a setting of it: binding is/);
  });

  it("without a path is in the user's state directory, which is made", async () => {
    const before = process.env["XDG_STATE_HOME"];
    process.env["XDG_STATE_HOME"] = path.join(folder, "state");
    try {
      const store = sqlite();
      expect(store.url).toBe(`sqlite:${path.join(folder, "state", "conclave", "conclave.db")}`);
      await open(store);
      await store.close();
    } finally {
      if (before === undefined) delete process.env["XDG_STATE_HOME"];
      else process.env["XDG_STATE_HOME"] = before;
    }
  });
});

it("two candidates of one process take turns, and the second is woken at once", async () => {
  const file = newFile();
  await using one = createCandidate({ store: sqlite(file), ttlMs: 10_000 });
  await using two = createCandidate({ store: sqlite(file), ttlMs: 10_000 });
  const term = await one.election("x").campaign();
  const next = two.election("x").campaign();
  await new Promise((resolve) => setTimeout(resolve, 100));
  const startedAt = performance.now();
  await term.resign();
  expect((await next).token.value).toBe(2n);
  expect(performance.now() - startedAt).toBeLessThan(1000);
});
