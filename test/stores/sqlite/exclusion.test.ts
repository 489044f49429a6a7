// What at most one leader rests on in a SQLite file, step by step: two handles on one file, and a hook at each statement at which the other can come
// between. Each test is here for lines of src/stores/sqlite that mutants take out.
import { copyFileSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { sqlite, type SqliteDatabase } from "conclave/stores/sqlite";
import {
  type Bid,
  type Claimed,
  type FencedStore,
  type Hold,
  type Seat,
  type Session,
  VACANT,
  type Version,
} from "conclave/stores/contract";
import { PreparedConnection } from "../../../src/clients/sqlite/binding.ts";
import * as sql from "../../../src/stores/sqlite/schema.ts";
import { SqliteShelf } from "../../../src/stores/sqlite/shelf.ts";
import { Database } from "./by-hand.ts";
import { call, hold, open } from "../moves.ts";

const folder = mkdtempSync(path.join(tmpdir(), "conclave-exclusion-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let file = "";
let files = 0;
let store: FencedStore;
let holder: Session;
let taker: Session;
let held: Hold;
let seen: Seat;

beforeEach(async () => {
  file = path.join(folder, `${++files}.db`);
  store = sqlite(file);
  [holder, taker] = [await open(store), await open(store)];
  held = await hold(store, holder, "x");
  seen = await look();
});
afterEach(() => store.close());

async function look(at = store): Promise<Seat> {
  const looked = await at.look([{ name: "x" }], call());
  const [seat] = looked.kind === "seen" ? looked.seats : [];
  if (seat === undefined) throw new Error(looked.kind);
  return seat;
}

async function claim(session: Session, bid: string, over: Version = seen.version, at = store): Promise<Claimed> {
  const [claimed] = await at.claim([{ session, name: "x", bid: bid as Bid, over, value: "" }], call());
  if (claimed === undefined) throw new Error("no answer");
  return claimed;
}

const give = (session = holder, hold: Hold = held): Promise<unknown> =>
  store.release({ session, holds: [hold], endSession: false }, call());

function byHand(text: string): string {
  const database = new Database(file);
  try {
    database.exec(text);
    return "done";
  } catch (error) {
    return (error as Error).message;
  } finally {
    database.close();
  }
}

/** Another handle on the file. `hooks`: what happens just before a statement with that text is run, once. */
function hooked(hooks: Readonly<Record<string, () => unknown>>): {
  readonly store: FencedStore;
  readonly close: () => void;
} {
  const database = new Database(file) as unknown as SqliteDatabase & { close(): void };
  const left = new Map(Object.entries(hooks));
  const run = (text: string): void => {
    for (const [part, hook] of left)
      if (text.includes(part)) {
        left.delete(part);
        hook();
      }
  };
  const wrapped: SqliteDatabase = {
    exec: (text) => database.exec(text),
    prepare: (text) => {
      const statement = database.prepare(text);
      return {
        all: (...values) => (run(text), statement.all(...values)),
        run: (...values) => (run(text), statement.run(...values)),
      };
    },
  };
  return { store: sqlite(wrapped), close: () => database.close() };
}

describe("a claim", () => {
  it("behind another that was committed since it looked is beaten", async () => {
    let first: Promise<Claimed> | undefined;
    const other = hooked({ "BEGIN IMMEDIATE": () => (first = claim(holder, "h.2", VACANT)) });
    await give();
    seen = await look();
    const answer = await claim(taker, "t.1", VACANT, other.store);
    expect((await first)?.kind).toBe("granted");
    expect(answer).toMatchObject({ kind: "beaten", seat: { state: "held" } });
    other.close();
  });

  it("behind a keep of the holder that was committed since it looked is beaten: the holder lives", async () => {
    let kept: Promise<unknown> | undefined;
    const other = hooked({ "BEGIN IMMEDIATE": () => (kept = store.keep(holder, [held], call())) });
    expect(await claim(taker, "t.1", seen.version, other.store)).toMatchObject({ kind: "beaten" });
    expect(await kept).toMatchObject({ kind: "kept" });
    other.close();
  });

  it("lets nobody write between what it reads and what it writes", async () => {
    let kept: Promise<unknown> | undefined;
    const other = hooked({ "FROM conclave_session WHERE id": () => (kept = store.keep(holder, [held], call())) });
    expect(await claim(taker, "t.1", seen.version, other.store)).toMatchObject({ kind: "granted" });
    expect(await kept).toMatchObject({ kind: "refused", retryable: true });
    other.close();
  });

  it("over what a silent session holds ends that session for good, and has the next token", async () => {
    expect(await claim(taker, "t.1")).toMatchObject({ kind: "granted", hold: { token: { value: 2n } } });
    expect(await store.keep(holder, [held], call())).toEqual({ kind: "session-lost" });
    const spec = { nonce: holder.id, candidate: holder.candidate, ttlMs: holder.ttlMs };
    expect(await store.keep(spec, [], call())).toEqual({ kind: "session-lost" });
    expect(await claim(holder, "h.2", (await look()).version)).toEqual({ kind: "session-lost" });
  });

  it("over another version than the one that was seen is beaten", async () => {
    await store.keep(holder, [held], call());
    expect((await look()).version).not.toBe(seen.version);
    expect(await claim(taker, "t.1")).toMatchObject({ kind: "beaten" });
    expect(await claim(taker, "t.1", VACANT)).toMatchObject({ kind: "beaten" });
  });

  it("over a vacant seat is not granted to the bid that held it last: it comes late", async () => {
    await give();
    expect(await claim(holder, held.bid, VACANT)).toMatchObject({ kind: "beaten" });
    expect(await claim(taker, "t.1", VACANT)).toMatchObject({ kind: "granted", hold: { token: { value: 2n } } });
  });

  it("is answered as it stands to the session that holds the seat, and to no other with its bid", async () => {
    expect(await claim(holder, held.bid)).toMatchObject({ kind: "granted", hold: { token: { value: 1n } } });
    expect(await claim(taker, held.bid, VACANT)).toMatchObject({ kind: "beaten" });
  });

  it.each([
    ["its seat was deleted", "DELETE FROM conclave_seat"],
    ["its session was deleted", "DELETE FROM conclave_session WHERE id IN (SELECT session FROM conclave_seat)"],
    ["its session was ended", "UPDATE conclave_session SET ended = 1 WHERE id IN (SELECT session FROM conclave_seat)"],
  ])("over a seat is not granted as over a vacant one, because %s by hand", async (_, text) => {
    expect(byHand(text)).toBe("done");
    expect(await claim(taker, "t.1", VACANT)).toMatchObject({ kind: "beaten", seat: { state: "missing" } });
  });

  it("has another version to claim over whenever the seat was given away and back", async () => {
    await give();
    const free = await look();
    const again = await claim(taker, "t.1", free.version);
    await give(taker, (again as Extract<Claimed, { kind: "granted" }>).hold);
    expect((await look()).version).not.toBe(free.version);
    expect(await claim(holder, "h.2", free.version)).toMatchObject({ kind: "beaten" });
  });
});

describe("giving back", () => {
  it("is for the session and the bid that hold the seat", async () => {
    await give(taker, held);
    await give(holder, { ...held, bid: "another.1" as Bid });
    expect((await look()).state).toBe("held");
    await give();
    expect((await look()).state).toBe("vacant");
  });

  it("of a session that was never opened is remembered: its opening comes late", async () => {
    const session: Session = { id: "late.1", candidate: "c", ttlMs: 1000 };
    await store.release({ session, holds: [], endSession: true }, call());
    expect(await store.keep({ nonce: "late.1", candidate: "c", ttlMs: 1000 }, [], call())).toEqual({
      kind: "session-lost",
    });
  });
});

describe("a keep", () => {
  it("tells of a seat that is lost, of a stray, and of one in the place of another", async () => {
    expect(await store.keep(holder, [], call())).toMatchObject({ kind: "kept", strays: [{ name: "x" }] });
    const other: Hold = { ...held, bid: "another.1" as Bid };
    expect(await store.keep(holder, [other], call())).toMatchObject({
      kind: "kept",
      lost: [other],
      strays: [{ name: "x" }],
    });
    // The sum of the marks is the same, the number is not.
    byHand(`INSERT INTO conclave_counter VALUES ('y', 1, 1000, 0);
      INSERT INTO conclave_seat SELECT 'y', session, 'y.1', 1, 0, '' FROM conclave_seat WHERE name = 'x'`);
    expect(await store.keep(holder, [held], call())).toMatchObject({ kind: "kept", strays: [{ name: "y" }] });
  });

  it("never brings forward the end that rivals wait for, though an older one comes after it", async () => {
    await store.keep(holder, [held], { ...call(), sentAtMs: 50_000 });
    const { heldUntilMs } = await look();
    await store.keep(holder, [held], { ...call(), sentAtMs: 10_000 });
    expect((await look()).heldUntilMs).toBe(heldUntilMs);
  });
});

describe("what a rival may judge by", () => {
  it.each(["boot", "clock"])("is the recorded end only on the same %s", async (column) => {
    expect(seen.heldUntilMs).toBeDefined();
    byHand(`UPDATE conclave_session SET ${column} = 'another'`);
    expect((await look()).heldUntilMs).toBeUndefined();
  });

  it("is a socket that refuses, if it is the one that was recorded, on the same boot", async () => {
    const asker = sqlite(file);
    const [socket = ""] = readdirSync(`${file}-life`).map((name) => path.join(`${file}-life`, name));
    // What refuses under that name now is another file: its process may live.
    renameSync(socket, `${socket}.moved`);
    const { createServer } = await import("node:net");
    const dead = createServer().listen(`${socket}.other`);
    await new Promise((resolve) => dead.once("listening", resolve));
    const { linkSync } = await import("node:fs");
    linkSync(`${socket}.other`, socket);
    await new Promise((resolve) => dead.close(resolve));
    expect((await look(asker)).state).toBe("held");
    const { dev, ino } = (await import("node:fs")).statSync(socket);
    byHand(`UPDATE conclave_session SET socket_file = '${dev}:${ino}'`);
    expect((await look(asker)).state).toBe("abandoned");
    byHand("UPDATE conclave_session SET boot = 'another'");
    expect((await look(asker)).state).toBe("held");
    await asker.close();
  });
});

describe("a file that was replaced", () => {
  it("by a copy of itself: the sessions of the old one are lost for good, and nothing is granted to them", async () => {
    copyFileSync(file, `${file}.copy`);
    renameSync(`${file}.copy`, file);
    expect(await store.keep(holder, [held], call())).toEqual({ kind: "session-lost" });
    expect(await store.look([{ name: "x" }], call())).toMatchObject({ kind: "refused", retryable: true });
    expect(await store.keep(holder, [held], call())).toEqual({ kind: "session-lost" });
    expect(await store.keep({ nonce: holder.id, candidate: "c", ttlMs: 1000 }, [], call())).toEqual({
      kind: "session-lost",
    });
  });
});

it("a version that was seen in a file that was replaced is none of the new file, however alike the two are", async () => {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${file}${suffix}`);
  const another = sqlite(file);
  const rival = await open(another);
  const theirs = await hold(another, rival, "x");
  const alike = await look(another);
  expect(alike.version.split(" ").slice(1)).toEqual(seen.version.split(" ").slice(1));
  expect(await store.look([{ name: "x" }], call())).toMatchObject({ kind: "refused", retryable: true });
  const late = await open(store);
  expect(await claim(late, "l.1", seen.version)).toMatchObject({ kind: "beaten", seat: { version: alike.version } });
  expect(await another.keep(rival, [theirs], call())).toMatchObject({ kind: "kept", lost: [] });
  await another.close();
});

describe("on the disk", () => {
  /** How synced each commit was: 2 is FULL, 1 is NORMAL. */
  function traced(fail?: Error): {
    readonly shelf: SqliteShelf;
    readonly commits: number[];
    readonly close: () => void;
  } {
    const database = new Database(`${file}.own`) as unknown as SqliteDatabase & { close(): void };
    database.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; ${sql.CREATE} ${sql.CREATE_ASKED}; ${sql.CREATE_BLOCKS}`,
    );
    database.exec("INSERT INTO conclave_meta (only, schema, domain, change) VALUES (1, 1, 'd', 0)");
    const commits: number[] = [];
    const connection = new PreparedConnection(
      {
        exec: (text) => database.exec(text),
        prepare: (text) => {
          const statement = database.prepare(text);
          const note = (): void => {
            if (text !== "COMMIT") return;
            commits.push(Number(Object.values(database.prepare("PRAGMA synchronous").all()[0] as object)[0]));
            if (fail !== undefined) throw fail;
          };
          return {
            all: (...values) => statement.all(...values),
            run: (...values) => (note(), statement.run(...values)),
          };
        },
      },
      true,
    );
    return { shelf: new SqliteShelf(connection, "d", undefined, folder), commits, close: () => database.close() };
  }

  it("is every grant and renewal of a holder before it is answered; not a release, nor the session of a waiter", () => {
    const { shelf, commits, close } = traced();
    const session = { id: "s", candidate: "c", ttlMs: 1000 };
    shelf.open({ nonce: "s", candidate: "c", ttlMs: 1000 }, 1000, undefined, 0);
    shelf.keep(session, [], 0);
    expect(commits).toEqual([1, 1]);
    const [claimed] = shelf.claim([{ session, name: "x", bid: "s.1" as Bid, over: VACANT, value: "" }], 0);
    const hold = (claimed as Extract<Claimed, { kind: "granted" }>).hold;
    shelf.keep(session, [hold], 0);
    shelf.release([{ session, holds: [hold], endSession: false }]);
    expect(commits).toEqual([1, 1, 2, 2, 1]);
    close();
  });

  it("may be what failed at its commit: that is unknown, unless the file was only locked", async () => {
    const failing = (errcode: number): FencedStore => {
      const database = new Database(file) as unknown as SqliteDatabase;
      return sqlite({
        exec: (text) => database.exec(text),
        prepare: (text) => {
          if (text !== "COMMIT") return database.prepare(text);
          const fail = (): never => {
            throw Object.assign(new Error("disk I/O error"), { errcode });
          };
          return { all: fail, run: fail };
        },
      });
    };
    expect(await claim(taker, "t.1", seen.version, failing(10))).toMatchObject({ kind: "unknown" });
    expect(await claim(taker, "t.1", seen.version, failing(5))).toMatchObject({ kind: "refused", retryable: true });
    expect(await look()).toMatchObject({ version: seen.version });
  });
});

it("a counter is neither deleted nor lowered, and the domain stays, by whatever hand", () => {
  expect(byHand("DELETE FROM conclave_counter")).toMatch(/never deleted/);
  expect(byHand("UPDATE conclave_counter SET last = last - 1")).toMatch(/never falls|CHECK/);
  expect(byHand("UPDATE conclave_counter SET last = 5; UPDATE conclave_counter SET last = 4")).toMatch(/never falls/);
  expect(byHand("DELETE FROM conclave_meta")).toMatch(/belongs to this file/);
});
