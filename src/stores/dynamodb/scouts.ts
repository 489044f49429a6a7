// Scouts: of all candidates that wait for a name, one looks often, so that others need not wait for a second until a free name is noticed. DynamoDB tells nobody of a change, and every
// look costs money. So only one candidate looks often, however many wait, and the others look once a second as before.
//
// The item `scout/NAME` says who the scout is. The scout writes it every few seconds; a scout that leaves marks it as free, and one that died is
// replaced when the item has not changed for
// a while (scout-rule.ts). Until then a waiter notices with its own look. A scout that finds the name vacant hints at it, and its candidate claims it like any other.
//
// Nothing is decided here. Two scouts of one name, or none, cost requests or a second. So its reads are loose (they cost half), its errors are swallowed (the
// candidate's own requests report them), and the instants are those of timers.
import type { Call, Name, Seat } from "../contract.ts";
import type { Item } from "../../clients/dynamodb/client.ts";
import { randomBelow } from "../../clients/random.ts";
import type { Mailbox } from "../mailbox.ts";
import { Watched } from "../watched.ts";
import type { Desk } from "./desk.ts";
import { flag, scoutKey, text } from "./items.ts";
import { type KnownScout, learn, mayTake, NOTHING_KNOWN, type Posted } from "./scout-rule.ts";
import { goneAt } from "./schema.ts";

/** How often a scout looks. A tenth of a second is short beside the quarter of a second within which the next command is to begin. */
const LOOK_EVERY_MS = 100;
/** How often a scout says that it is there. */
const SCOUT_ROUND_MS = 5_000;
/** How often the others read the item: three of these rounds are at least three of the scout's. */
const OTHERS_ROUND_MS = 10_000;
/** Candidates that begin to wait together do not all ask at once. */
const FIRST_ROUND_MS = 300;
/** A candidate that waits for more names looks once a second for the rest of them, because a scout costs the same for each name. */
const NAMES_MAX = 4;
const ANSWER_WITHIN_MS = 5_000;

export interface ScoutParts {
  /** A desk that reads loosely. */
  readonly desk: Desk;
  /** The clock for the time to live of the item. */
  readonly now: () => Date;
  readonly look: (name: Name, call: Call) => Promise<readonly Seat[]>;
}

export class Scouts {
  readonly #parts: ScoutParts;
  readonly #watched = new Watched();
  readonly #posts = new Map<Name, Post>();

  constructor(parts: ScoutParts) {
    this.#parts = parts;
  }

  /** Returns how to stop. */
  add(names: readonly Name[], mailbox: Mailbox): () => void {
    this.#watched.add(names, mailbox);
    for (const name of names) this.#apply(name);
    return () => {
      for (const name of names) this.#remove(name, mailbox);
    };
  }

  #apply(name: Name): void {
    if (this.#posts.has(name) || this.#posts.size >= NAMES_MAX) return;
    this.#posts.set(name, new Post(name, this.#parts, (seat) => this.#watched.tell(name, seat)));
  }

  #remove(name: Name, mailbox: Mailbox): void {
    if (!this.#watched.remove(name, mailbox)) return;
    this.#posts.get(name)?.leave();
    this.#posts.delete(name);
    for (const other of this.#watched.names()) this.#apply(other);
  }
}

/** The wish of this process to be the scout of one name, and its work while it is. */
class Post {
  readonly #name: Name;
  readonly #parts: ScoutParts;
  readonly #tell: (seat: Seat) => void;
  #hasLeft = false;
  #round: NodeJS.Timeout;
  #look: NodeJS.Timeout | undefined;
  #known: KnownScout = NOTHING_KNOWN;
  /** The stamp that this process has written last; undefined if it is not the scout. */
  #stamp: string | undefined;
  #told: string | undefined;

  constructor(name: Name, parts: ScoutParts, tell: (seat: Seat) => void) {
    this.#name = name;
    this.#parts = parts;
    this.#tell = tell;
    this.#round = later(randomBelow(FIRST_ROUND_MS), () => this.#nextRound());
  }

  leave(): void {
    this.#hasLeft = true;
    clearTimeout(this.#round);
    clearTimeout(this.#look);
    this.#giveUp();
  }

  async #nextRound(): Promise<void> {
    // Without an answer the process goes on as before: the next round finds out what was written.
    this.#stamp = await within((call) => this.#post(call)).catch(() => this.#stamp);
    if (this.#hasLeft) return this.#giveUp();
    const isScout = this.#stamp !== undefined;
    const everyMs = isScout ? SCOUT_ROUND_MS : OTHERS_ROUND_MS + randomBelow(OTHERS_ROUND_MS / 4);
    this.#round = later(everyMs, () => this.#nextRound());
    if (isScout) this.#look ??= later(0, () => this.#glance());
  }

  /** The stamp of its own that stands in the item now, or undefined. */
  async #post(call: Call): Promise<string | undefined> {
    if (this.#stamp !== undefined) return await this.#write(this.#stamp, false, call);
    const found = postedIn(await this.#parts.desk.readOne(scoutKey(this.#name), call));
    this.#known = learn(this.#known, found);
    return mayTake(this.#known, found) ? await this.#write(found?.stamp, false, call) : undefined;
  }

  async #write(over: string | undefined, free: boolean, call: Call): Promise<string | undefined> {
    const { desk, now } = this.#parts;
    const condition = over === undefined ? "attribute_not_exists(#key)" : "#stamp = :over";
    const values = over === undefined ? {} : { ":over": text(over) };
    const set = { free: flag(free), ...goneAt(now(), OTHERS_ROUND_MS) };
    const written = await desk.swap({ key: scoutKey(this.#name), condition, values, set }, call);
    return written.kind === "written" ? written.stamp : undefined;
  }

  /** Each vacancy is told once: a candidate that was told, and did not get the seat, has seen the reason with its own claim. */
  async #glance(): Promise<void> {
    const [seat] = await within((call) => this.#parts.look(this.#name, call)).catch(() => []);
    this.#look = undefined;
    if (this.#hasLeft || this.#stamp === undefined) return;
    if (seat?.state === "vacant" && seat.version !== this.#told) {
      this.#told = seat.version;
      this.#tell(seat);
    }
    this.#look = later(LOOK_EVERY_MS, () => this.#glance());
  }

  #giveUp(): void {
    const stamp = this.#stamp;
    this.#stamp = undefined;
    if (stamp !== undefined) void within((call) => this.#write(stamp, true, call)).catch(() => {}); // if this fails, others find the scout silent
  }
}

function later(ms: number, then: () => Promise<void>): NodeJS.Timeout {
  return setTimeout(() => void then(), ms).unref();
}

async function within<T>(ask: (call: Call) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), ANSWER_WITHIN_MS).unref();
  try {
    return await ask({ signal: controller.signal, sentAtMs: 0 });
  } finally {
    clearTimeout(timer);
  }
}

/** An item that is not a scout's counts as none, and is not written over either. */
function postedIn(item: Item | undefined): Posted | undefined {
  const stamp = item?.["stamp"]?.S;
  return stamp === undefined ? undefined : { stamp, free: item?.["free"]?.BOOL === true };
}
