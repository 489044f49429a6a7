// Blocks of tokens (src/stores/sqlite/blocks.ts). Each condition under which a token is taken from a block without a sync is here, broken once: the claim must then be synced, and its token must come from the
// counter. Then what a rival under another kernel may believe, and how a session with a block is renewed.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Bid, type Claimed, type Hold, type Seat, type Session, VACANT } from "conclave/stores/contract";
import type { HostKernel } from "../../../src/stores/sqlite/kernel.ts";
import { seatOf } from "../../../src/stores/sqlite/place.ts";
import * as sql from "../../../src/stores/sqlite/schema.ts";
import { Database } from "./by-hand.ts";
import { byHand as execute, EarlierVersion, FULL, type Handle, makeFile, NORMAL, openShelf } from "./shelf-handle.ts";

const folder = mkdtempSync(path.join(tmpdir(), "conclave-blocks-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const HERE: HostKernel = { boot: "this boot", clock: "one" };
/** A sandbox hides the boot id. */
const NOWHERE = "none";
const TTL_MS = 1000;

let file = "";
let files = 0;
let handles: Handle[] = [];
let own: Handle;
let session: Session;
let bids = 0;

function handle(kernel: HostKernel | typeof NOWHERE = HERE, isOwn = true): Handle {
  const made = openShelf(file, kernelOf(kernel), isOwn);
  handles.push(made);
  return made;
}

const kernelOf = (kernel: HostKernel | typeof NOWHERE): HostKernel | undefined =>
  kernel === NOWHERE ? undefined : kernel;

beforeEach(() => {
  file = path.join(folder, `${++files}.db`);
  handles = [];
  makeFile(file);
  own = handle();
  session = opened(own, "s");
});
afterEach(() => {
  for (const each of handles) each.close();
});

const byHand = (text: string): void => execute(file, text);

function rows(query: string): readonly unknown[] {
  const database = new Database(file);
  const found = database.prepare(query).all();
  database.close();
  return found;
}

function opened({ shelf }: Handle, nonce: string): Session {
  const kept = shelf.open({ nonce, candidate: "c", ttlMs: TTL_MS }, TTL_MS, undefined, 0);
  if (kept.kind !== "kept") throw new Error(kept.kind);
  return kept.session;
}

interface Asked {
  readonly by?: Session;
  readonly name?: string;
  readonly bid?: string;
  readonly over?: string;
  readonly sentAtMs?: number;
}

function claim(
  { shelf }: Handle,
  { by = session, name = "x", bid = `b.${++bids}`, over, sentAtMs = 0 }: Asked = {},
): Claimed {
  const version = (over ?? VACANT) as typeof VACANT;
  const [claimed] = shelf.claim([{ session: by, name, bid: bid as Bid, over: version, value: "" }], sentAtMs);
  if (claimed === undefined) throw new Error("no answer");
  return claimed;
}

function held(claimed: Claimed): Hold {
  if (claimed.kind !== "granted") throw new Error(`it was not granted: ${claimed.kind}`);
  return claimed.hold;
}

const give = ({ shelf }: Handle, hold: Hold, by = session): void =>
  shelf.release([{ session: by, holds: [hold], endSession: false }]);

/** Takes the lock and gives it back; returns its token. */
function lock(at = own, asked: Asked = {}): number {
  const hold = held(claim(at, asked));
  give(at, hold, asked.by);
  return Number(hold.token?.value);
}

function locks(times: number, at = own, asked: Asked = {}): number[] {
  return Array.from({ length: times }, () => lock(at, asked));
}

/** How synced the claim was that is made by `act`, the first of its commits. */
function synced(act: () => unknown, at = own): number | undefined {
  at.commits.length = 0;
  act();
  return at.commits[0];
}

function look({ shelf }: Handle, kernel: HostKernel | typeof NOWHERE = HERE): Seat {
  const [place] = shelf.look(["x"]);
  if (place === undefined) throw new Error("no answer");
  return seatOf(place, kernelOf(kernel), false);
}

const fail = (): never => {
  throw new Error("disk I/O error");
};
const counter = (): unknown => rows("SELECT last FROM conclave_counter WHERE name = 'x'")[0];
const blocks = (): readonly unknown[] => rows("SELECT name, session, last, boot FROM conclave_block");

describe("a lock that is taken again and again", () => {
  it("is reserved a block of 64 tokens after eight times; the commit that does so is synced, the next 63 are not", () => {
    expect(locks(8)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(own.commits.slice(1)).toEqual(Array.from({ length: 8 }, () => [FULL, NORMAL]).flat());
    expect(blocks()).toEqual([]);
    expect(synced(() => expect(lock()).toBe(9))).toBe(FULL);
    expect(blocks()).toEqual([{ name: "x", session: "s", last: 72, boot: "this boot" }]);
    expect(counter()).toEqual({ last: 72 });
    own.commits.length = 0;
    expect(locks(63)).toEqual(Array.from({ length: 63 }, (_, index) => 10 + index));
    expect(own.commits).toEqual(Array.from({ length: 126 }, () => NORMAL));
    expect(counter()).toEqual({ last: 72 });
  });

  it("has another block when all tokens of one are granted, and none twice", () => {
    const tokens = locks(200);
    expect(tokens).toEqual(Array.from({ length: 200 }, (_, index) => 1 + index));
    expect(counter()).toEqual({ last: 8 + 3 * 64 });
  });

  it("shows the holder, its bid, and another version each time", () => {
    locks(9);
    const before = look(own).version;
    const hold = held(claim(own));
    expect(look(own)).toMatchObject({ state: "held", holder: { candidate: "c", bid: hold.bid, token: 10n } });
    expect(look(own).version).not.toBe(before);
    expect(own.shelf.keep(session, [hold], 0)).toMatchObject({ kind: "kept", lost: [], strays: [] });
  });

  it("is reserved nothing if it is taken more slowly", () => {
    for (let round = 0; round < 20; round++) lock(own, { sentAtMs: round * 251 });
    expect(blocks()).toEqual([]);
    for (let round = 0; round < 9; round++) lock(own, { sentAtMs: 10_000 + round * 250 });
    expect(blocks()).toHaveLength(1);
  });

  it("is reserved nothing for two that take turns, nor for two names", () => {
    const other = opened(own, "o");
    for (let round = 0; round < 10; round++) locks(2, own, { by: round % 2 === 0 ? session : other });
    expect(blocks()).toEqual([]);
    for (let round = 0; round < 10; round++) lock(own, { name: `x${round}` });
    expect(blocks()).toEqual([]);
  });

  it("is reserved nothing where the boot id is not known, nor on a connection that syncs each commit", () => {
    for (const at of [handle(NOWHERE), handle(HERE, false)]) {
      locks(20, at, { name: "y" });
      expect(blocks()).toEqual([]);
    }
  });

  it("is reserved nothing for a session with a node, because a ban may concern it", () => {
    locks(20, own, { by: { ...session, node: "rack-1" } });
    expect(blocks()).toEqual([]);
  });

  it("whose counter has fewer tokens left than a block goes on to the last of them", () => {
    lock();
    byHand("UPDATE conclave_counter SET last = 9223372036854775807 - 20");
    const tokens = Array.from({ length: 20 }, () => {
      const hold = held(claim(own));
      give(own, hold);
      return hold.token?.value;
    });
    expect(tokens.at(-1)).toBe(9223372036854775807n);
    expect(new Set(tokens).size).toBe(20);
    expect(() => claim(own)).toThrow();
  });
});

describe("from a block nothing is granted", () => {
  beforeEach(() => {
    expect(locks(12).at(-1)).toBe(12);
    expect(counter()).toEqual({ last: 72 });
  });

  const isNext = (token = 73): void => {
    expect(synced(() => expect(lock()).toBe(token))).toBe(FULL);
  };

  it("while the seat is held", () => {
    const hold = held(claim(own));
    expect(claim(own)).toMatchObject({ kind: "beaten", seat: { state: "held" } });
    give(own, hold);
    isNext();
  });

  it("to the bid that held the seat last: it comes late", () => {
    lock(own, { bid: "late.1" });
    expect(claim(own, { bid: "late.1" })).toMatchObject({ kind: "beaten", seat: { state: "vacant" } });
  });

  it("to another session, and the tokens after that are greater than the block", () => {
    const other = opened(own, "o");
    expect(synced(() => expect(lock(own, { by: other })).toBe(73))).toBe(FULL);
    isNext(74);
  });

  it("after another handle was granted a token", () => {
    const other = handle();
    expect(lock(other, { by: opened(other, "o") })).toBe(73);
    isNext(74);
  });

  it("after an earlier version, which knows nothing of blocks, was granted a token", () => {
    const earlier = new EarlierVersion(file, "e");
    expect(earlier.take("x")).toBe(73n);
    expect(claim(own)).toMatchObject({ kind: "beaten", seat: { state: "held", holder: { token: 73n } } });
    earlier.give("x");
    earlier.close();
    isNext(74);
  });

  it("if the counter was raised by hand", () => {
    byHand("UPDATE conclave_counter SET last = 100");
    isNext(101);
  });

  it("if the seat shows another token than the last one that was granted here", () => {
    byHand("UPDATE conclave_seat SET token = 11");
    isNext();
  });

  it("if the seat was deleted by hand", () => {
    byHand("DELETE FROM conclave_seat");
    expect(claim(own)).toMatchObject({ kind: "beaten", seat: { state: "missing" } });
    expect(held(claim(own, { over: look(own).version })).token?.value).toBe(73n);
  });

  it("if its row was deleted by hand", () => {
    byHand("DELETE FROM conclave_block");
    isNext();
  });

  it("if its row is of another session", () => {
    byHand("UPDATE conclave_block SET session = 'o'");
    isNext();
  });

  it("behind its end", () => {
    expect(locks(60).at(-1)).toBe(72);
    isNext();
    expect(counter()).toEqual({ last: 136 });
  });

  it("to a session that has ended, or that is not known", () => {
    own.shelf.release([{ session, holds: [], endSession: true }]);
    byHand("INSERT INTO conclave_block VALUES ('x', 's', 72, 'this boot') ON CONFLICT DO NOTHING");
    expect(claim(own)).toEqual({ kind: "session-lost" });
    expect(counter()).toEqual({ last: 72 });
    byHand("DELETE FROM conclave_session");
    expect(claim(own)).toEqual({ kind: "session-lost" });
  });

  it("while a request stands that was meant for the term before, and the request is cleared", () => {
    const hold = held(claim(own));
    if (hold.token === undefined) throw new Error("no token");
    expect(own.shelf.askToLeave("x", hold.token)).toBe(true);
    give(own, hold);
    isNext();
    expect(rows("SELECT name FROM conclave_asked")).toEqual([]);
  });

  it("over a version that was seen: only such a claim is told if the seat has changed since", () => {
    const { version } = look(own);
    lock();
    expect(claim(own, { over: version })).toMatchObject({ kind: "beaten" });
    expect(synced(() => held(claim(own, { over: look(own).version })))).toBe(FULL);
  });

  it("while a ban of the session's node stands", () => {
    byHand(`${sql.CREATE_BANS} INSERT INTO conclave_ban (node, name) VALUES ('rack-1', 'y')`);
    expect(claim(own, { by: { ...session, node: "rack-1" } })).toEqual({ kind: "session-lost" });
  });

  it("if the lock was not wanted for a while", () => {
    expect(synced(() => expect(lock(own, { sentAtMs: 251 })).toBe(73))).toBe(FULL);
  });

  it("after a commit has failed, of a claim or of a renewal", () => {
    own.beforeCommit = fail;
    expect(() => claim(own)).toThrow("commit");
    own.beforeCommit = () => {};
    isNext();
    expect(locks(9).at(-1)).toBe(82);
    own.beforeCommit = fail;
    expect(() => own.shelf.keep(session, [], 0)).toThrow("commit");
    own.beforeCommit = () => {};
    expect(synced(() => lock())).toBe(FULL);
  });

  it("by another handle, though the session is the same: a process may have been copied", () => {
    const copy = handle();
    expect(synced(() => expect(lock(copy)).toBe(73), copy)).toBe(FULL);
    isNext(74);
  });
});

describe("several claims in one request", () => {
  const names = ["x", "y", "z"];
  function round(): readonly (number | undefined)[] {
    const claims = names.map((name) => ({ session, name, bid: `m.${++bids}` as Bid, over: VACANT, value: "" }));
    const claimed = own.shelf.claim(claims, 0);
    const holds = claimed.flatMap((each) => (each.kind === "granted" ? [each.hold] : []));
    own.shelf.release([{ session, holds, endSession: false }]);
    return claimed.map((each) => (each.kind === "granted" ? Number(each.hold.token?.value) : undefined));
  }

  it("are granted from blocks if each of them can be", () => {
    for (let times = 1; times <= 9; times++) expect(round()).toEqual([times, times, times]);
    expect(synced(() => expect(round()).toEqual([10, 10, 10]))).toBe(NORMAL);
  });

  it("are synced together if one of them cannot be, and the others keep their blocks", () => {
    for (let times = 1; times <= 9; times++) round();
    byHand("UPDATE conclave_counter SET last = 100 WHERE name = 'z'");
    expect(synced(() => expect(round()).toEqual([10, 10, 101]))).toBe(FULL);
    for (let times = 1; times <= 7; times++) round();
    expect(synced(() => expect(round()).toEqual([18, 18, 109]))).toBe(FULL);
    expect(synced(() => expect(round()).toEqual([19, 19, 110]))).toBe(NORMAL);
  });
});

describe("under another kernel", () => {
  const THERE: HostKernel = { boot: "another boot", clock: "one" };
  let there: Handle;
  let rival: Session;
  beforeEach(() => {
    there = handle(THERE);
    rival = opened(there, "r");
    locks(12);
  });

  it.each<[string, HostKernel | typeof NOWHERE]>([
    ["of another boot", THERE],
    ["without a boot id", NOWHERE],
  ])(
    "a kernel %s takes a seat that looks vacant for one that is held until it has seen no change for a ttl",
    (_, kernel) => {
      const at = handle(kernel);
      expect(look(own).state).toBe("vacant");
      const seen = look(at, kernel);
      expect(seen).toMatchObject({ state: "missing", ttlMs: TTL_MS });
      expect(claim(at, { by: rival })).toMatchObject({ kind: "beaten", seat: { state: "missing" } });
      lock();
      expect(claim(at, { by: rival, over: seen.version })).toMatchObject({
        kind: "beaten",
        seat: { state: "missing" },
      });
      expect(held(claim(at, { by: rival, over: look(at, kernel).version })).token?.value).toBe(73n);
    },
  );

  it("the seat is not granted without a look either", () => {
    lock(there, { by: rival, name: "y" }); // the next claim here is not beaten before its transaction
    expect(claim(there, { by: rival })).toMatchObject({ kind: "beaten", seat: { state: "missing" } });
  });

  it("the seat is vacant like any other once somebody has taken it, because that was synced", () => {
    give(there, held(claim(there, { by: rival, over: look(there, THERE).version })), rival);
    expect(look(there, THERE).state).toBe("vacant");
    expect(lock()).toBe(74);
    expect(look(there, THERE).state).toBe("vacant");
    expect(lock(there, { by: rival })).toBe(75);
  });

  it("the seat is vacant once the session has ended, because what it was granted is on the disk if its end is", () => {
    own.shelf.release([{ session, holds: [], endSession: true }]);
    expect(blocks()).toEqual([]);
    expect(look(there, THERE).state).toBe("vacant");
  });

  it("the seat is held as long as the file shows it held", () => {
    claim(own);
    expect(look(there, THERE)).toMatchObject({ state: "held", holder: { token: 13n } });
  });
});

describe("the renewal of a session", () => {
  const renewal = (): number | undefined => synced(() => own.shelf.keep(session, [], 0));

  it("is not synced as long as it has neither a seat nor a block", () => {
    locks(8);
    expect(renewal()).toBe(NORMAL);
  });

  it("is synced if it has a block, because its next grant is not", () => {
    locks(9);
    expect(renewal()).toBe(FULL);
  });

  it("is synced if it has a seat that the caller does not name, and is written once", () => {
    const hold = held(claim(own));
    const before = rows("SELECT beat FROM conclave_session WHERE id = 's'")[0] as { readonly beat: number };
    expect(renewal()).toBe(FULL);
    expect(own.commits).toHaveLength(1);
    expect(rows("SELECT beat FROM conclave_session WHERE id = 's'")).toEqual([{ beat: before.beat + 1 }]);
    expect(own.shelf.keep(session, [], 0)).toMatchObject({ kind: "kept", strays: [{ bid: hold.bid }] });
  });

  it("is synced through another handle as well: the block counts that is in the file", () => {
    locks(9);
    const other = handle();
    expect(synced(() => other.shelf.keep(session, [], 0), other)).toBe(FULL);
  });
});
