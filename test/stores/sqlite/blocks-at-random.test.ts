// Blocks of tokens among candidates that do anything at random, one of an earlier version beside them, while the power is cut again and again, and while the disk is taken away from a host that goes on running.
// Judged from outside, by what was answered: no token of a name is granted twice or is less than one before, no two hold a name, and nobody is granted a seat at once that somebody on the old host holds or
// may still be granted.
//
// The power is cut by taking the bytes of the files as they were behind some commit, from the last one that was synced on. Behind a commit nothing is half written (power-loss-token.test.ts cuts between).
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, it } from "vitest";
import { type Bid, type Claimed, type Hold, type Session, VACANT, type Version } from "conclave/stores/contract";
import { CommitFailed } from "../../../src/clients/sqlite/transaction.ts";
import { EarlierVersion, FULL, type Handle, makeFile, openShelf } from "./shelf-handle.ts";

const folder = mkdtempSync(path.join(tmpdir(), "conclave-random-blocks-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SEEDS = 20;
const STEPS = 250;
const NAMES = ["x", "y"];

/** A small generator of random numbers: the same seed, the same story. */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed * 2_654_435_761 + 12_345;
  }

  below(limit: number): number {
    this.#state = (Math.imul(this.#state ^ (this.#state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return (this.#state >>> 8) % limit;
  }

  one<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error("nothing to choose from");
    return item;
  }
}

interface Files {
  readonly database: Buffer;
  readonly log: Buffer;
}

/** What every candidate was answered, on all hosts. */
class Judge {
  readonly told = new Map<string, bigint>();
  grants = 0;
  unsynced = 0;
  cuts = 0;
  atOnce = 0;

  grantedIsGreater(name: string, token: bigint): void {
    expect(token).toBeGreaterThan(this.told.get(name) ?? 0n);
    this.told.set(name, token);
    this.grants++;
  }
}

interface Candidate {
  readonly handle: Handle;
  session: Session;
  /** The step in which the last renewal that was answered was sent. */
  keptAt: number;
}

interface Held {
  readonly by: Candidate | EarlierVersion;
  readonly hold: Hold | undefined;
}

/** Told to somebody who was granted a name: over what, and whose session has ended by it. */
type OnGranted = (name: string, over: Version, ended?: string) => void;

interface Gone {
  /** In which it went. */
  readonly step: number;
  /** The names that were granted on the new host at once, as vacant, and those for which a rival there has waited for a ttl before. */
  readonly taken: Set<string>;
  readonly waited: Set<string>;
  /** The sessions of the old host for whose ttl a rival has waited. */
  readonly ended: Set<string>;
}

/** A host on one boot, with its view of the files. */
class Host {
  readonly boot: string;
  readonly #file: string;
  readonly #judge: Judge;
  readonly #dice: Dice;
  readonly candidates: Candidate[] = [];
  readonly #handles: Handle[] = [];
  #earlier: EarlierVersion | undefined;
  readonly #held = new Map<string, Held>();
  /** From the last synced commit on. */
  #found: Files[] = [];
  #step = 0;
  #sessions = 0;
  #bids = 0;
  /** Of a host whose disk is gone: the greatest token of each name that was told here, and the least that was granted on the new host. */
  readonly #toldBefore = new Map<string, bigint>();
  readonly leastOfOthers = new Map<string, bigint>();
  /** If the disk was taken away. */
  gone: Gone | undefined;

  /** `isAlone`: no host from before goes on without its disk. Otherwise an earlier version has no place here: it waits for no block of another boot (ADR 95). */
  constructor(file: string, boot: string, judge: Judge, dice: Dice, isAlone: boolean) {
    this.#file = file;
    this.#judge = judge;
    this.#dice = dice;
    this.boot = boot;
    for (let count = 0; count < 2; count++) {
      const handle = openShelf(file, { boot, clock: "one" }, true);
      handle.beforeCommit = (synced) => {
        if (this.gone !== undefined && synced === FULL) throw new Error("the disk is gone");
      };
      handle.afterCommit = (synced) => this.#note(synced === FULL);
      this.#handles.push(handle);
    }
    if (isAlone) this.#earlier = new EarlierVersion(file, `${boot} earlier`);
    this.#note(true);
    for (const handle of this.#handles)
      for (let count = 0; count < 2; count++) this.candidates.push({ handle, ...this.#open(handle) });
  }

  #note(synced: boolean): void {
    if (this.gone !== undefined) return;
    if (synced) this.#found = [];
    this.#found.push({ database: readFileSync(this.#file), log: readFileSync(`${this.#file}-wal`) });
  }

  #open({ shelf }: Handle): { session: Session; keptAt: number } {
    const nonce = `${this.boot} ${++this.#sessions}`;
    const kept = shelf.open({ nonce, candidate: nonce, ttlMs: 1000 }, 1000, undefined, 0);
    if (kept.kind !== "kept") throw new Error(kept.kind);
    return { session: kept.session, keptAt: this.#step };
  }

  /** What the disk has if it is lost now. */
  lose(file: string): void {
    const { database, log } = this.#dice.one(this.#found);
    writeFileSync(file, database);
    writeFileSync(`${file}-wal`, log);
    this.#earlier?.close(); // it syncs every grant, so it is granted nothing any more
    this.#earlier = undefined;
  }

  takeAway(): void {
    this.gone = { step: this.#step, taken: new Set(), waited: new Set(), ended: new Set() };
  }

  /** The session that believes that it holds the name. */
  holder(name: string): string | undefined {
    const by = this.#held.get(name)?.by;
    return by === undefined || by instanceof EarlierVersion ? undefined : by.session.id;
  }

  act(onGranted: OnGranted): void {
    this.#step++;
    const name = this.#dice.one(NAMES);
    const candidate = this.#dice.one(this.candidates);
    const kind = this.#dice.below(100);
    try {
      if (kind < 50) this.#lockMuch(candidate, name, onGranted);
      else if (kind < 60) this.#take(candidate, name, VACANT, onGranted);
      else if (kind < 75) this.#give(name);
      else if (kind < 80) this.#lockAsEarlier(name, onGranted);
      else if (kind < 92) this.#keep(candidate);
      else if (kind < 96) this.#begin(candidate);
      else this.#takeOver(candidate, name, onGranted);
    } catch (error) {
      if (this.gone === undefined || !(error instanceof CommitFailed)) throw error;
    }
  }

  #lockMuch(by: Candidate, name: string, onGranted: OnGranted): void {
    for (let times = 1 + this.#dice.below(30); times > 0; times--) {
      if (!this.#take(by, name, VACANT, onGranted)) return;
      this.#give(name);
    }
  }

  #take(by: Candidate, name: string, over: Version, onGranted: OnGranted, ended?: string): boolean {
    const bid = `${this.boot}.${++this.#bids}` as Bid;
    const { commits, shelf } = by.handle;
    const [claimed] = shelf.claim([{ session: by.session, name, bid, over, value: "" }], 0) as [Claimed];
    if (claimed.kind !== "granted") return false;
    const isSynced = commits.at(-1) === FULL;
    if (!isSynced) this.#judge.unsynced++;
    this.#judgeGrant(name, claimed.hold.token?.value ?? 0n, isSynced, by);
    this.#held.set(name, { by, hold: claimed.hold });
    onGranted(name, over, ended);
    return true;
  }

  #judgeGrant(name: string, token: bigint, isSynced: boolean, by: Candidate | undefined): void {
    expect(this.#held.has(name)).toBe(false);
    if (this.gone === undefined) return this.#judge.grantedIsGreater(name, token);
    expect(isSynced).toBe(false);
    // A rival on the new host waits for a ttl from the moment at which the disk was taken away.
    expect(by?.keptAt).toBeLessThanOrEqual(this.gone.step);
    if (!this.gone.ended.has(by?.session.id ?? "")) expect(this.gone.taken).not.toContain(name);
    const told = this.#toldBefore.get(name) ?? 0n;
    expect(token).toBeGreaterThan(told);
    this.#toldBefore.set(name, token);
    const least = this.leastOfOthers.get(name);
    if (least !== undefined) expect(token).toBeLessThan(least);
  }

  /** What is granted here from now on is not judged with the rest. */
  setApart(): void {
    for (const [name, token] of this.#judge.told) this.#toldBefore.set(name, token);
  }

  toldAlone(name: string): bigint {
    return this.#toldBefore.get(name) ?? 0n;
  }

  #give(name: string): void {
    const held = this.#held.get(name);
    if (held === undefined) return;
    if (held.by instanceof EarlierVersion) held.by.give(name);
    else if (held.hold !== undefined)
      held.by.handle.shelf.release([{ session: held.by.session, holds: [held.hold], endSession: false }]);
    this.#held.delete(name);
  }

  #lockAsEarlier(name: string, onGranted: OnGranted): void {
    const token = this.#earlier?.take(name);
    if (token === undefined || this.#earlier === undefined) return;
    this.#note(true);
    this.#judgeGrant(name, token, true, undefined);
    this.#held.set(name, { by: this.#earlier, hold: undefined });
    onGranted(name, VACANT);
    this.#give(name);
    this.#note(true);
  }

  #keep(by: Candidate): void {
    const holds = [...this.#held.values()].flatMap((held) => (held.by === by && held.hold ? [held.hold] : []));
    // Now and then a caller does not know of its holds.
    const kept = by.handle.shelf.keep(by.session, this.#dice.below(3) === 0 ? [] : holds, 0);
    expect(kept.kind).toBe("kept");
    // What rivals on a new host wait for must be on the disk.
    if (this.gone !== undefined) expect([...this.#held.values()].map((held) => held.by)).not.toContain(by);
    by.keptAt = this.#step;
  }

  /** Ends the session, with all that it holds, and opens another. */
  #begin(by: Candidate): void {
    for (const [name, held] of this.#held) if (held.by === by) this.#held.delete(name);
    by.handle.shelf.release([{ session: by.session, holds: [], endSession: true }]);
    Object.assign(by, this.#open(by.handle));
  }

  /** A rival that has waited for a ttl in silence. On a host that runs, its own candidates are not silent. */
  #takeOver(by: Candidate, name: string, onGranted: OnGranted): void {
    if (this.#held.has(name) || this.gone !== undefined) return;
    const [place] = by.handle.shelf.look([name]);
    if (place === undefined || place.state === "vacant") return;
    this.#take(by, name, place.version, onGranted, place.sitter?.session);
  }

  end(): void {
    for (const handle of this.#handles) handle.close();
    this.#earlier?.close();
  }
}

/** Steps on one host, then a cut of the power, or the old host goes on beside the new one; and again. */
function story(seed: number): Judge {
  const dice = new Dice(seed);
  const judge = new Judge();
  let boots = 1;
  let file = path.join(folder, `${seed}-${boots}.db`);
  makeFile(file);
  let host = new Host(file, `boot ${boots}`, judge, dice, true);
  let old: Host | undefined;
  const granted: OnGranted = (name, over, ended) => {
    if (old?.gone === undefined) return;
    const { gone } = old;
    const token = judge.told.get(name) ?? 0n;
    expect(token).toBeGreaterThan(old.toldAlone(name));
    if (!old.leastOfOthers.has(name)) old.leastOfOthers.set(name, token);
    if (over !== VACANT) gone.waited.add(name);
    if (ended !== undefined) gone.ended.add(ended);
    if (gone.waited.has(name)) return;
    judge.atOnce++;
    gone.taken.add(name);
    const holder = old.holder(name);
    if (holder !== undefined) expect(gone.ended).toContain(holder);
  };
  for (let step = 0; step < STEPS; step++) {
    if (dice.below(25) === 0) {
      old?.end();
      file = path.join(folder, `${seed}-${++boots}.db`);
      host.lose(file);
      old = host;
      if (dice.below(2) === 0) {
        host.end();
        old = undefined;
      } else {
        host.takeAway();
        host.setApart();
      }
      judge.cuts++;
      host = new Host(file, `boot ${boots}`, judge, dice, old === undefined);
    }
    if (old !== undefined && dice.below(2) === 0) old.act(() => {});
    else host.act(granted);
  }
  old?.end();
  host.end();
  return judge;
}

it("whatever happens, no token is granted twice, and no two hold a name", { timeout: 120_000 }, () => {
  const sum = { grants: 0, unsynced: 0, cuts: 0, atOnce: 0 };
  for (let seed = 1; seed <= SEEDS; seed++) {
    const judge = story(seed);
    for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += judge[key];
  }
  // Otherwise nothing of the above was tried.
  expect(sum.unsynced).toBeGreaterThan(SEEDS * 100);
  expect(sum.grants).toBeGreaterThan(sum.unsynced);
  expect(sum.cuts).toBeGreaterThan(SEEDS * 5);
  expect(sum.atOnce).toBeGreaterThan(SEEDS);
});
