// Seats at the modelled stores of the simulator, as brokers use them: sessions that are kept while a broker can reach the store, claims, and who is told when a session has run out.
import { assert } from "../../base/assert.ts";
import { type Bid, type Claimed, type Name, type Session, VACANT } from "../../lease/exchange.ts";
import { LineShelf } from "../models/line-shelf.ts";
import { RaceShelf } from "../models/race-shelf.ts";
import type { Shelf } from "../models/shelf.ts";
import type { KafkaPost } from "./post.ts";

/** race: one record, which the first broker that comes holds. line: a queue, in the order of arrival. */
export type SeatShape = "race" | "line";

export class Seats {
  readonly #post: KafkaPost;
  readonly #shelf: Shelf;
  readonly #sessions = new Map<number, Session>();
  #openings = 0;
  #bids = 0;
  #isWatching = false;
  readonly #whenExpired: (names: readonly Name[], brokers: readonly number[]) => void;

  /** `whenExpired` is called at the store, in the step in which sessions have run out, with the names that have changed, and with the brokers whose sessions they were. */
  constructor(
    post: KafkaPost,
    shape: SeatShape,
    whenExpired: (names: readonly Name[], brokers: readonly number[]) => void,
  ) {
    this.#post = post;
    this.#whenExpired = whenExpired;
    const options = { domain: "kafka", judge: "store" } as const;
    this.#shelf = shape === "line" ? new LineShelf(options) : new RaceShelf({ ...options, layout: "session" });
  }

  /** Opens a session, and keeps it while the broker reaches the store. Pings are not counted: a quiet cluster sends them too. */
  open(broker: number): void {
    const spec = { nonce: `${broker}-${++this.#openings}`, candidate: `${broker}`, ttlMs: this.#post.plan.sessionMs };
    const kept = this.#shelf.keep(spec, [], this.#post.nowMs);
    assert(kept.kind === "kept", "a new session is granted");
    this.#sessions.set(broker, kept.session);
    this.#ping(broker, kept.session);
    this.#watchClock();
  }

  #ping(broker: number, session: Session): void {
    const everyMs = this.#post.plan.sessionMs / 3;
    this.#post.at(this.#post.nowMs + everyMs, () => {
      if (this.#sessions.get(broker) !== session) return;
      if (!this.#post.cut.has(broker)) this.#shelf.keep(session, [], this.#post.nowMs);
      this.#ping(broker, session);
    });
  }

  /** The store looks at its clock when the next session may have run out; pings move that instant. */
  #watchClock(): void {
    const nextMs = this.#shelf.nextExpiry();
    if (this.#isWatching || nextMs === Infinity) return;
    this.#isWatching = true;
    this.#post.at(nextMs, () => {
      this.#isWatching = false;
      if (this.#shelf.nextExpiry() <= this.#post.nowMs) this.#expire();
      this.#watchClock();
    });
  }

  #expire(): void {
    const names = this.#shelf.expire(this.#post.nowMs);
    const gone = [...this.#sessions].flatMap(([broker, session]) =>
      this.#shelf.keep(session, [], this.#post.nowMs).kind === "kept" ? [] : [broker],
    );
    for (const broker of gone) this.#sessions.delete(broker);
    this.#whenExpired(names, gone);
  }

  isOpen(broker: number): boolean {
    return this.#sessions.has(broker);
  }

  newBid(): Bid {
    return `bid-${++this.#bids}` as Bid;
  }

  /** Runs at the store. */
  claim(broker: number, name: Name, bid: Bid): Claimed {
    const session = this.#sessions.get(broker);
    if (session === undefined) return { kind: "session-lost" };
    return this.#shelf.claim({ session, name, bid, over: VACANT, value: "" }, this.#post.nowMs);
  }

  /** Gives a seat back, at the store. */
  release(broker: number, name: Name, bid: Bid): void {
    const session = this.#sessions.get(broker);
    if (session !== undefined)
      this.#shelf.release({ session, holds: [{ name, bid }], endSession: false }, this.#post.nowMs);
  }
}
