// One shelf with its time and its watchers, shared by every store of its name. The shelf (a model of the simulator) says what the methods mean; this
// says when: each access first ends what has run out, and while somebody watches a timer does so too, so that waiters hear of it.
//
// INVARIANT  dueAt ≤ the earliest instant at which a session runs out: keeps only move that instant further on, openings lower dueAt
import type { Clock, Timer } from "../../base/clock.ts";
import type { Invitation, Name, Question } from "../../lease/exchange.ts";
import type { Guarantee } from "../../lease/guarantee.ts";
import type { Shelf } from "../../simulator/models/shelf.ts";
import type { Mailbox } from "../mailbox.ts";
import { Hints } from "./hints.ts";

export class SharedShelf {
  readonly guarantee: Guarantee<"fenced">;
  readonly clock: Clock;
  /** Every name that was ever claimed. */
  readonly claimed: Set<Name> = new Set();
  readonly #shelf: Shelf;
  readonly #hints: Hints;
  #dueAt = Infinity;
  #timer: Timer | undefined;

  constructor(shelf: Shelf, guarantee: Guarantee<"fenced">, clock: Clock) {
    this.guarantee = guarantee;
    this.clock = clock;
    this.#shelf = shelf;
    this.#hints = new Hints((name) => shelf.look({ name }, clock.now().mono));
  }

  /** Runs `act` on what stands now. */
  access<R>(act: (shelf: Shelf, nowMs: number) => R): R {
    const nowMs = this.clock.now().mono;
    this.#expire(nowMs);
    return act(this.#shelf, nowMs);
  }

  /** A session was opened: it may be the first to run out. */
  expectEnd(atMs: number): void {
    if (atMs >= this.#dueAt) return;
    this.#dueAt = atMs;
    this.#arm();
  }

  /** Something changed at these names; without names, anywhere: a session ended. */
  tell(names?: Iterable<Name>): void {
    this.#hints.tell(names);
  }

  /** The holder of this name was asked to hand over. */
  tellAsked(name: Name): void {
    this.#hints.tellAsked(name);
  }

  /** Somebody is invited to lead next. */
  tellInvited(name: Name, invitation: Invitation): void {
    this.#hints.tellInvited(name, invitation);
  }

  tellMemo(name: Name, memo: string): void {
    this.#hints.tellMemo(name, memo);
  }

  /** Returns how to stop. */
  watch(questions: readonly Question[], mailbox: Mailbox): () => void {
    this.#expire(this.clock.now().mono);
    const stop = this.#hints.add(questions, mailbox);
    this.#arm();
    return () => {
      stop();
      if (!this.#hints.watched) this.#arm();
    };
  }

  #expire(nowMs: number): void {
    if (nowMs < this.#dueAt) return;
    const freed = this.#shelf.expire(nowMs);
    this.#dueAt = this.#shelf.nextExpiry();
    this.#arm();
    this.#hints.tell(freed);
  }

  /** One timer, and only while somebody waits to hear: without a watcher each access is early enough. */
  #arm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#dueAt === Infinity || !this.#hints.watched) return;
    const afterMs = Math.max(1, this.#dueAt - this.clock.now().mono);
    this.#timer = this.clock.timer(afterMs, () => {
      this.#timer = undefined;
      if (this.clock.now().mono < this.#dueAt) this.#arm();
      else this.#expire(this.clock.now().mono);
    });
  }
}
