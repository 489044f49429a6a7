// The quick way by which a seat that nobody holds is granted (shelf.ts, #grantIfFree). Each condition of it is here, broken once: the answer must be the one of the long way.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { sqlite } from "conclave/stores/sqlite";
import { type AsksToLeave, type Bid, type Claimed, type Hold, type Session, VACANT } from "conclave/stores/contract";
import { CREATE_BANS } from "../../../src/stores/sqlite/schema.ts";
import { Database } from "./by-hand.ts";
import { call, hold, open } from "../moves.ts";

const folder = mkdtempSync(path.join(tmpdir(), "conclave-free-seat-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let file = "";
let files = 0;
let store: ReturnType<typeof sqlite>;
let session: Session;
let last: Hold;

beforeEach(async () => {
  file = path.join(folder, `${++files}.db`);
  store = sqlite(file);
  session = await open(store);
  last = await hold(store, session, "x");
});
afterEach(() => store.close());

const give = (): Promise<unknown> => store.release({ session, holds: [last], endSession: false }, call());

async function claim(by: Session, bid = "next.1"): Promise<Claimed | undefined> {
  const [claimed] = await store.claim([{ session: by, name: "x", bid: bid as Bid, over: VACANT, value: "v" }], call());
  return claimed;
}

function byHand(text: string): readonly unknown[] {
  const database = new Database(file);
  try {
    return database.prepare(text).all();
  } finally {
    database.close();
  }
}

it("a seat that is held is not granted", async () => {
  expect(await claim(session)).toMatchObject({ kind: "beaten", seat: { state: "held" } });
});

describe("a seat that is vacant", () => {
  it("is granted with the next token, which its counter keeps", async () => {
    await give();
    expect(await claim(session)).toMatchObject({ kind: "granted", hold: { token: { value: 2n } } });
    expect(byHand("SELECT last, ttl FROM conclave_counter")).toEqual([{ last: 2, ttl: session.ttlMs }]);
    expect(byHand("SELECT bid, token, value FROM conclave_seat")).toEqual([{ bid: "next.1", token: 2, value: "v" }]);
  });

  it("is granted with the token after the counter's, whatever stands in the seat", async () => {
    await give();
    byHand("UPDATE conclave_counter SET last = 40 RETURNING 1");
    expect(await claim(session)).toMatchObject({ kind: "granted", hold: { token: { value: 41n } } });
  });

  it("is not granted to a session that has ended", async () => {
    await give();
    await store.release({ session, holds: [], endSession: true }, call());
    expect(await claim(session)).toEqual({ kind: "session-lost" });
    expect(byHand("SELECT last FROM conclave_counter")).toEqual([{ last: 1 }]);
  });

  it("is not granted to a session that is not known", async () => {
    await give();
    expect(await claim({ ...session, id: "nobody" })).toEqual({ kind: "session-lost" });
  });

  it("is not granted once more to the bid that held it last", async () => {
    await give();
    expect(await claim(session, last.bid)).toMatchObject({ kind: "beaten", seat: { state: "vacant" } });
  });

  it("is not granted while a ban of the session's node stands", async () => {
    await give();
    const database = new Database(file);
    database.exec(`${CREATE_BANS}; INSERT INTO conclave_ban (node, name) VALUES ('rack-1', 'y')`);
    database.close();
    expect(await claim({ ...session, node: "rack-1" })).toEqual({ kind: "session-lost" });
  });

  it("is granted without the request that was meant for the term before", async () => {
    if (last.token === undefined) throw new Error("no token");
    const asking = store as unknown as AsksToLeave;
    expect(await asking.askToLeave("x", last.token, call())).toEqual({ kind: "asked" });
    await give();
    expect(await claim(session)).toMatchObject({ kind: "granted" });
    expect(byHand("SELECT name FROM conclave_asked")).toEqual([]);
  });

  it("whose counter has given its last token is not granted, and the reason is said", async () => {
    await give();
    byHand("UPDATE conclave_counter SET last = 9223372036854775807 RETURNING 1");
    expect(await claim(session)).toMatchObject({ kind: "refused", code: "STORE_UNSUPPORTED" });
  });
});
