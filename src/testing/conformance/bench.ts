// The tools of every case: one opened store, names and nonces that no other run has used, and the few moves of which cases are made. A case says the same of a line and of a race; where the two differ,
// the move knows.
import { randomUUID } from "node:crypto";
import { performance } from "node:perf_hooks";
import type {
  Bid,
  Claim,
  Claimed,
  Hint,
  Hold,
  Kept,
  Name,
  Question,
  Released,
  Seat,
  Session,
  SessionSpec,
  Version,
} from "../../lease/exchange.ts";
import type { Guarantee } from "../../lease/guarantee.ts";
import type { Call, Store } from "../../stores/contract.ts";
import { check, checkKind } from "./check.ts";

export interface Case {
  /** A claim that holds for every store, whatever its shape. */
  readonly name: string;
  readonly run: (bench: Bench) => Promise<void>;
}

/** A case fails if no answer comes for this long. */
const ANSWER_WITHIN_MS = 15_000;
/** The ttl where a case waits for a session to expire: long enough for a few requests on a slow day. */
const SHORT_TTL_MS = 500;
/** The ttl where no session must expire meanwhile. */
const LONG_TTL_MS = 30_000;

export class Bench {
  readonly store: Store;
  readonly guarantee: Guarantee;
  readonly isLine: boolean;
  /** A rival judges by silence that a session is dead: it swaps over the version that it has watched. */
  readonly isTaken: boolean;
  readonly #run: string = randomUUID();
  readonly #earlyEnds = new Map<string, readonly string[]>();
  #count = 0;

  constructor(store: Store) {
    const { guarantee } = store;
    this.store = store;
    this.guarantee = guarantee;
    this.isLine = guarantee.shape === "line";
    this.isTaken = guarantee.judge === "taker" || guarantee.judge === "kernel";
  }

  // ---- names and nonces that no other run has used

  name(label = "name"): Name {
    return `${label} ${this.#run} ${++this.#count}`;
  }

  bid(): Bid {
    return `${this.#run}.${++this.#count}` as Bid;
  }

  spec(ttlMs: number = this.ttlMs(LONG_TTL_MS), candidate: string = `candidate-${++this.#count}`): SessionSpec {
    return { nonce: `${this.#run}.s${++this.#count}`, candidate, ttlMs };
  }

  /** Returns a ttl as near to `wishMs` as the store can grant. */
  ttlMs(wishMs: number): number {
    const { minMs, maxMs, stepMs } = this.guarantee.ttl;
    return Math.min(Math.max(minMs, Math.ceil(wishMs / stepMs) * stepMs), maxMs);
  }

  get shortTtlMs(): number {
    return this.ttlMs(SHORT_TTL_MS);
  }

  // ---- the moves

  call(): Call {
    return { signal: AbortSignal.timeout(ANSWER_WITHIN_MS), sentAtMs: performance.now() };
  }

  async open(spec: SessionSpec = this.spec()): Promise<Session> {
    const kept = await this.store.keep(spec, [], this.call());
    const { session, met } = checkKind(kept, "kept", "keep with a spec opens a session");
    this.#earlyEnds.set(session.id, met?.earlyEnds ?? this.guarantee.earlyEnds);
    return session;
  }

  /** Tells it by the answer to the session's opening, or else by the guarantee. */
  mayEndEarly(session: Session): boolean {
    return (this.#earlyEnds.get(session.id) ?? this.guarantee.earlyEnds).length > 0;
  }

  keep(session: Session | SessionSpec, holds: readonly Hold[] = []): Promise<Kept> {
    return this.store.keep(session, holds, this.call());
  }

  async kept(session: Session, holds: readonly Hold[] = []): Promise<Extract<Kept, { kind: "kept" }>> {
    return checkKind(await this.keep(session, holds), "kept", "keep extends a session that is not over");
  }

  async seat(name: Name, question: Omit<Question, "name"> = {}): Promise<Seat> {
    const [seat] = await this.seats([{ name, ...question }]);
    check(seat !== undefined, "look answers every question", "one seat", seat);
    return seat;
  }

  async seats(questions: readonly Question[]): Promise<readonly Seat[]> {
    return checkKind(await this.store.look(questions, this.call()), "seen", "look shows what stands").seats;
  }

  /** Returns hints until `signal` aborts. */
  hints(question: Question, signal: AbortSignal): AsyncIterator<Hint> {
    const hints = this.store.watch([question], { signal, sentAtMs: performance.now() });
    return hints[Symbol.asyncIterator]();
  }

  claims(claims: readonly Claim[]): Promise<readonly Claimed[]> {
    return this.store.claim(claims, this.call());
  }

  async claim(session: Session, name: Name, bid: Bid, over?: Version, value = ""): Promise<Claimed> {
    const [claimed] = await this.claims([{ session, name, bid, over, value }]);
    check(claimed !== undefined, "claim answers every claim", "one answer", claimed);
    return claimed;
  }

  /** Claims over the present version of the name. */
  async stand(session: Session, name: Name, bid: Bid = this.bid(), value = ""): Promise<Claimed> {
    const over = this.isLine ? undefined : (await this.seat(name)).version;
    return await this.claim(session, name, bid, over, value);
  }

  /** Claims a name that is free, and holds it. */
  async win(session: Session, name: Name, bid: Bid = this.bid(), value = ""): Promise<Hold> {
    return checkKind(
      await this.stand(session, name, bid, value),
      "granted",
      "a name that is free is granted to the session that claims it",
    ).hold;
  }

  release(session: Session, holds: readonly Hold[], endSession = false): Promise<Released> {
    return this.store.release({ session, holds, endSession }, this.call());
  }

  async giveBack(session: Session, holds: readonly Hold[], endSession = false): Promise<void> {
    checkKind(
      await this.release(session, holds, endSession),
      "released",
      "release answers released when nothing of the will stands any more",
    );
  }

  // ---- the state of a name

  async holder(name: Name): Promise<string | undefined> {
    const { state, holder } = await this.seat(name);
    return state === "held" ? holder?.candidate : undefined;
  }

  async checkHeldBy(name: Name, session: Session, line: string): Promise<void> {
    const seat = await this.seat(name);
    check(
      seat.state === "held" && seat.holder?.candidate === session.candidate,
      line,
      `held by ${session.candidate}`,
      seat,
    );
  }

  async checkVacant(name: Name, line: string): Promise<void> {
    const seat = await this.seat(name);
    check(seat.state === "vacant", line, "a vacant seat", seat);
  }

  // ---- time

  nowMs(): number {
    return performance.now();
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, ms));
  }

  /** Resolves as `promise` does, or to "too late". */
  async within<T>(promise: Promise<T>, ms: number): Promise<T | "too late"> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<"too late">((resolve) => (timer = setTimeout(() => resolve("too late"), ms)));
    try {
      return await Promise.race([promise, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Repeats `isSo` until it is true. Fails with `line` if it is not true within the time that a slow judge of this ttl may take. */
  async until(isSo: () => Promise<boolean>, ttlMs: number, line: string, expected: string): Promise<void> {
    const lastMs = this.nowMs() + 3 * ttlMs + 5_000;
    for (;;) {
      if (await isSo()) return;
      check(this.nowMs() < lastMs, line, expected, `not so after ${3 * ttlMs + 5_000} ms`);
      await this.sleep(Math.max(5, ttlMs / 20));
    }
  }
}
