// A semaphore, as a user holds it. Each call searches for a permit (permit-call.ts). The calls of one object take turns (law 11), so a process holds at most one permit by it.
import { ConclaveError, type LossReason } from "../base/errors.ts";
import { textOfError } from "../base/harmless.ts";
import { show } from "../base/show.ts";
import type { Seat } from "../lease/exchange.ts";
import { restMs, seatOrder } from "../lease/seats.ts";
import type { Settings } from "../lease/settings.ts";
import { onAbort, untilAborted } from "./abort.ts";
import { askedInVain } from "./contest.ts";
import { checkedDrain, checkWork, closedError, type Home, signalOf } from "./election.ts";
import type { CampaignOptions, CloseOptions, LeadOptions, LookOptions } from "./face.ts";
import type { Inside } from "./inside.ts";
import { nap } from "./nap.ts";
import { randomSeed } from "./nonce.ts";
import { isTaken, lookAtAll } from "./observe.ts";
import { type HeldPermit, type Permit, type PermitHolder, seatName, seatOfName, type Semaphore } from "./permit.ts";
import { isOwnError, PermitCall } from "./permit-call.ts";
import { type Hearsay, type Turn, Turns } from "./turns.ts";
import { type Listener, sameMark } from "./voice.ts";

export const PERMITS_MAX = 100;

/** The problems with the options that only a semaphore has; empty if there are none. */
export function problemsOfPermits(permits: unknown, unfenced: unknown): readonly string[] {
  const isCount = Number.isInteger(permits) && Number(permits) >= 1 && Number(permits) <= PERMITS_MAX;
  return [
    ...(isCount
      ? []
      : [
          `permits ${show(permits)} is not a whole number from 1 to ${PERMITS_MAX}. For one leader use elect, for more than ${PERMITS_MAX} conclave/partitions`,
        ]),
    ...(unfenced === true
      ? []
      : [
          `unfenced: true is missing: a permit has no token, on any store, so that nothing can refuse a late write of a holder that was paused. Say it if that is only wasteful; if not, use conclave/partitions, whose partitions have tokens`,
        ]),
  ];
}

/** One call of a user, while it has its turn. */
interface Use {
  readonly stop: AbortController;
  readonly turn: Turn;
  leave(): void;
}

export class SeatedSemaphore implements Semaphore {
  readonly name: string;
  readonly permits: number;
  readonly #settings: Settings;
  readonly #home: Home;
  #leave: () => void = () => {};
  readonly #turns = new Turns();
  readonly #uses = new Set<AbortController>();
  readonly #calls = new Set<PermitCall>();
  #whenEmpty: (() => void)[] = [];
  #hasWarned = false;
  #closed: Promise<void> | undefined;

  constructor(name: string, permits: number, settings: Settings, home: Home) {
    this.name = name;
    this.permits = permits;
    this.#settings = settings;
    this.#home = home;
  }

  async lead<R>(work: (permit: Permit) => Promise<R>, options: LeadOptions = {}): Promise<R | undefined> {
    const what = `semaphore(${show(this.name)}).lead`;
    const signal = signalOf(options, what);
    checkWork(work, what);
    this.#throwIfClosed();
    if (signal?.aborted === true) return undefined;
    const use = await this.#enter(signal, false);
    if (use === undefined) return undefined;
    try {
      for (let shortTerms = 0; ;) {
        const call = await this.#search(use, false);
        if (call === undefined) return undefined;
        const startedMs = this.#home.lookout.clock.now().mono;
        const round = await this.#round(call, work, use);
        if (round !== undefined) return round.value;
        if (use.stop.signal.aborted) return undefined;
        shortTerms = this.#home.lookout.clock.now().mono - startedMs < this.#settings.ttlMs ? shortTerms + 1 : 0;
        await this.#rest(call.reason, shortTerms, use.stop.signal);
      }
    } finally {
      use.leave();
    }
  }

  /** Undefined if the permit ended before the work did, or if the call was stopped. */
  async #round<R>(
    call: PermitCall,
    work: (permit: Permit) => Promise<R>,
    use: Use,
  ): Promise<{ readonly value: R } | undefined> {
    const stop = (): void => call.stop(use.stop.signal.reason);
    const off = onAbort(use.stop.signal, stop);
    if (use.stop.signal.aborted) stop();
    try {
      const permit = await call.permit;
      return permit && (await this.#work(call, permit, work));
    } catch (error) {
      if (use.stop.signal.aborted && error === use.stop.signal.reason) return undefined;
      throw error;
    } finally {
      off();
      await call.over;
    }
  }

  async #work<R>(
    call: PermitCall,
    permit: HeldPermit,
    work: (permit: Permit) => Promise<R>,
  ): Promise<{ readonly value: R } | undefined> {
    try {
      // A permit that is lost before its work has begun is never announced (law 7): the work does not begin.
      if (!permit.isHeld()) return undefined;
      const value = await call.run(() => work(permit));
      // The clock decides: a blocked loop may have passed the deadline without a timer having fired.
      return permit.isLeading() ? { value } : undefined;
    } catch (error) {
      if (permit.isLeading()) throw error;
      if (isOwnError(error, permit.signal)) this.#reportLate(error, call.reason, seatName(this.name, permit.seat));
      return undefined;
    } finally {
      await permit.resign();
    }
  }

  #reportLate(cause: unknown, reason: LossReason | undefined, election: string): void {
    const message = `"${this.name}": the work rejected after its permit had ended (${reason ?? "expired"}): ${textOfError(cause)}. Its error is the cause of this one.`;
    this.#home.tell({ type: "error", error: new ConclaveError("TERM_LOST", message, { cause }), election });
  }

  async #rest(reason: LossReason | undefined, shortTerms: number, signal: AbortSignal): Promise<void> {
    const { ttlMs, pollMs, coolDownMs, guarantee } = this.#settings;
    const isRace = guarantee.shape === "race";
    const ms = restMs({ reason: reason ?? "expired", shortTerms, isRace, ttlMs, pollMs, coolDownMs });
    await nap(ms, signal, this.#home.lookout.clock);
  }

  async campaign(options: CampaignOptions = {}): Promise<Permit> {
    const permit = await this.#campaign(options, false);
    if (permit === undefined) throw closedError(this.name);
    return permit;
  }

  tryCampaign(options: CampaignOptions = {}): Promise<Permit | undefined> {
    return this.#campaign(options, true);
  }

  async #campaign(options: CampaignOptions, triesOnce: boolean): Promise<Permit | undefined> {
    const signal = signalOf(options, `semaphore(${show(this.name)}).${triesOnce ? "tryCampaign" : "campaign"}`);
    this.#throwIfClosed();
    signal?.throwIfAborted();
    const use = await this.#enter(signal, triesOnce);
    if (use === undefined) {
      this.#throwIfClosed();
      signal?.throwIfAborted();
      return undefined;
    }
    const stopped = use.stop.signal;
    let call: PermitCall | undefined;
    try {
      call = await this.#search(use, triesOnce);
      if (call === undefined) throw stopped.reason;
      const waiting = call;
      // The signal only ends the waiting; a permit that was won belongs to the caller, until this object is closed.
      onAbort(stopped, () => !waiting.isHeld && waiting.stop(stopped.reason));
      return await call.permit;
    } finally {
      if (call === undefined) use.leave();
      else void call.over.then(() => use.leave());
    }
  }

  async holders(options: LookOptions = {}): Promise<readonly PermitHolder[]> {
    const signal = signalOf(options, "holders");
    signal?.throwIfAborted();
    const seen = lookAtAll(this.#home.lookout, this.#seatNames(0, this.permits));
    const seats = await (signal === undefined ? seen : untilAborted(seen, signal));
    const nowMs = this.#home.lookout.clock.now().mono;
    return seats.flatMap((each, seat) => {
      if (!isTaken(each, nowMs) || each.holder === undefined) return [];
      const { candidate: id, value } = each.holder;
      return [value === undefined || value === "" ? { seat, id } : { seat, id, value }];
    });
  }

  subscribe(listener: Listener): () => void {
    const own: Listener = (event) => {
      const election = "election" in event ? event.election : undefined;
      const isOwn = election === undefined || seatOfName(election)?.semaphore === this.name;
      return isOwn ? listener(event) : undefined;
    };
    return this.#home.subscribe(sameMark(own, listener));
  }

  inside(): Inside {
    const { store, clock } = this.#home.lookout;
    return { store, clock, tell: (event) => this.#home.tell(event) };
  }

  close(options: CloseOptions = {}): Promise<void> {
    this.#closed ??= this.#close(checkedDrain(options));
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(drainMs: number | undefined): Promise<void> {
    const reason = closedError(this.name);
    await Promise.resolve(); // so that a listener that is called by it sees that this is closed
    for (const call of this.#calls) call.stop(reason, drainMs);
    for (const stop of this.#uses) stop.abort(reason);
    if (this.#uses.size > 0) await new Promise<void>((resolve) => this.#whenEmpty.push(resolve));
    this.#leave();
    await this.#home.whenClosed(seatName(this.name, 0));
  }

  #throwIfClosed(): void {
    if (this.#closed !== undefined) throw closedError(this.name);
  }

  /** Waits for its turn; with `now` only until the call before it has heard of the store. Undefined if it was stopped before, or if a seat is taken. Rejects if the store does not say. */
  async #enter(signal: AbortSignal | undefined, now: boolean): Promise<Use | undefined> {
    const stop = new AbortController();
    if (this.#uses.size === 0) this.#leave = this.#home.whenBusy(seatName(this.name, 0));
    this.#uses.add(stop);
    const off = onAbort(signal, () => stop.abort(signal?.reason));
    let turn: Turn | undefined;
    let isIn = true;
    const leave = (): void => {
      if (!isIn) return;
      isIn = false;
      off();
      turn?.done();
      this.#uses.delete(stop);
      if (this.#uses.size > 0) return;
      for (const resolve of this.#whenEmpty.splice(0)) resolve();
      this.#leave();
      if (this.#closed === undefined) this.#home.whenIdle(seatName(this.name, 0));
    };
    try {
      if (now) await Promise.all([...this.#calls].filter(({ isLeaving }) => isLeaving).map(({ over }) => over));
      turn = await this.#turn(stop.signal, now);
    } catch (error) {
      leave();
      throw error;
    }
    if (turn !== undefined && !stop.signal.aborted) return { stop, turn, leave };
    leave();
    return undefined;
  }

  #turn(signal: AbortSignal, now: boolean): Promise<Turn | undefined> {
    return new Promise((resolve, reject) => {
      const hear = (word: Hearsay): void =>
        word === "taken" ? resolve(undefined) : reject(askedInVain(this.name, word));
      const stopWaiting = this.#turns.take("", resolve, now ? hear : undefined);
      onAbort(signal, () => {
        stopWaiting();
        resolve(undefined);
      });
    });
  }

  /** Asks which seats seem to be free, and begins. Undefined if it was stopped meanwhile. */
  async #search({ turn, stop: { signal } }: Use, triesOnce: boolean): Promise<PermitCall | undefined> {
    const { permits } = this;
    const seats = await this.#seen();
    if (signal.aborted) return undefined;
    const nowMs = this.#home.lookout.clock.now().mono;
    const order = seatOrder(permits, randomSeed() % permits, (seat) => !isTaken(seats[seat], nowMs));
    const tell = (word: Hearsay): void => turn.tell(word);
    const call = new PermitCall({ arena: this.#home.arena(), semaphore: this.name, order, triesOnce, tell });
    this.#calls.add(call);
    void call.over.then(() => this.#calls.delete(call));
    call.begin();
    return call;
  }

  /** Looks at the seats, and at as many beyond them: a holder of one of those was given another number of permits. This is a hint; without an answer the seats are asked for all the same. */
  async #seen(): Promise<readonly Seat[]> {
    const { permits } = this;
    try {
      const seats = await lookAtAll(this.#home.lookout, this.#seatNames(0, 2 * permits));
      const nowMs = this.#home.lookout.clock.now().mono;
      const beyond = seats.findIndex((seat, place) => place >= permits && isTaken(seat, nowMs));
      if (beyond >= 0) this.#warnOfPermits(beyond, seats[beyond]?.holder?.candidate);
      return seats;
    } catch {
      return [];
    }
  }

  #warnOfPermits(seat: number, holder: string | undefined): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const message = `"${this.name}": ${holder ?? "somebody"} holds seat ${seat} of this semaphore, although this process was told that there are ${this.permits} permits, whose seats are 0 to ${this.permits - 1}. So more than ${this.permits} may hold one at once. Give every process the same number; while a change of it is rolled out the greater one counts.`;
    this.#home.tell({ type: "warning", code: "PERMITS_DIFFER", election: seatName(this.name, seat), message });
  }

  #seatNames(from: number, to: number): readonly string[] {
    return Array.from({ length: to - from }, (_, place) => seatName(this.name, from + place));
  }
}
