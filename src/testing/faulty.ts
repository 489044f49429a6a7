// A store between a candidate and a real store, that injects faults on request or by a seed: those that a network, a server or a driver causes, not those of a broken store. A correct candidate must
// survive every fault that it injects, and a correct store stays correct behind it.
//
// A caller that aborts is answered `unknown` at once, whatever happens to its request.
import type { Clock } from "../base/clock.ts";
import { invalidConfig } from "../base/errors.ts";
import { requireOptions } from "../base/option-keys.ts";
import { show } from "../base/show.ts";
import { type Refused, type Unknown, unknown } from "../base/outcome.ts";
import type {
  Claim,
  Claimed,
  Hint,
  Hold,
  Kept,
  Looked,
  MemosRead,
  MemoWrite,
  MemoWritten,
  Name,
  Question,
  Released,
  Seat,
  Session,
  SessionSpec,
  Will,
} from "../lease/exchange.ts";
import type { Fencing, Guarantee } from "../lease/guarantee.ts";
import {
  type Call,
  cannotKeepMemos,
  type KeepsMemos,
  keepsMemos,
  type PassesInvitations,
  type ShowsNext,
  type ShowsNodeless,
  type Store,
} from "../stores/contract.ts";
import { hostClock, hostClockOf, type WithClock } from "../stores/host-clock.ts";
import { processClock } from "../stores/memory/process-clock.ts";
import { type StoreFault, type Faults, FaultSource, type Method, type RandomFaults } from "./faults.ts";

/** Options of `faulty`: which faults its requests meet. */
export interface FaultPlan {
  /** The faults that the first requests meet, as if asked for by `faults.next`. */
  readonly next?: readonly { readonly method: Method | "any"; readonly fault: StoreFault }[] | undefined;
  readonly random?: RandomFaults | undefined;
  /** Measures delays, and is the clock of candidates made with this store. @default that of the store, if it has one; else the process's */
  readonly clock?: Clock | undefined;
}

/** A store whose requests meet faults. */
export interface FaultyStore<F extends Fencing> extends Store<F>, Partial<WithClock> {
  readonly faults: Faults;
}

/** Returns `store` with faults in front of it. Without any it behaves as the store does. */
export function faulty<F extends Fencing>(store: Store<F>, given?: FaultPlan): FaultyStore<F> {
  requireOptions("faulty", { store }, { store: "store" });
  const plan = given ?? {};
  if (plan.next !== undefined && !Array.isArray(plan.next))
    throw invalidConfig("faulty", [`next ${show(plan.next)} is not a list of faults`]);
  const clock = plan.clock ?? hostClockOf(store);
  const front = new Front(store, plan, clock ?? processClock);
  const { askToLeave, invite, showNext, showNodeless } = store as Partial<
    PassesInvitations & ShowsNext & ShowsNodeless
  >;
  // These are messages between candidates, or from operators: they meet no fault here, and may be lost anyway.
  if (askToLeave !== undefined) Object.assign(front, { askToLeave: askToLeave.bind(store) });
  if (invite !== undefined) Object.assign(front, { invite: invite.bind(store) });
  if (showNext !== undefined) Object.assign(front, { showNext: showNext.bind(store) });
  if (showNodeless !== undefined) Object.assign(front, { showNodeless: showNodeless.bind(store) });
  return clock === undefined ? front : Object.assign(front, { [hostClock]: clock });
}

const UNREACHABLE: Refused = {
  kind: "refused",
  code: "STORE_UNREACHABLE",
  message: "faulty: the test asked for a refusal. Nothing was applied.",
  retryable: true,
};

/** This many looks of one question are remembered, for `stale`. */
const LOOKS_REMEMBERED_MAX = 8;

class Front<F extends Fencing> implements FaultyStore<F>, KeepsMemos {
  readonly guarantee: Guarantee<F>;
  readonly faults: Faults;
  readonly #store: Store<F>;
  readonly #clock: Clock;
  readonly #source: FaultSource;
  readonly #seen = new Map<string, Seat[]>();
  /** Requests that wait for a later one to be applied. */
  #heldBack: (() => void)[] = [];
  /** Callers whose request will never be answered. */
  #unanswered: (() => void)[] = [];

  constructor(store: Store<F>, plan: FaultPlan, clock: Clock) {
    this.guarantee = store.guarantee;
    this.#store = store;
    this.#clock = clock;
    this.#source = new FaultSource(plan.next ?? [], plan.random);
    const source = this.#source;
    this.faults = {
      injected: source.injected,
      next: (method, fault) => source.ask(method, fault),
      hang: () => source.hang(),
      heal: () => this.#heal(),
    };
  }

  keep(session: Session | SessionSpec, holds: readonly Hold[], call: Call): Promise<Kept> {
    return this.#pass<Kept>(
      "keep",
      call,
      (sent) => this.#store.keep(session, holds, sent),
      (failure) => failure,
    );
  }

  claim(claims: readonly Claim[], call: Call): Promise<readonly Claimed[]> {
    const fail = (failure: Unknown | Refused): readonly Claimed[] => claims.map(() => failure);
    return this.#pass("claim", call, (sent) => this.#store.claim(claims, sent), fail);
  }

  release(will: Will, call: Call): Promise<Released> {
    return this.#pass<Released>(
      "release",
      call,
      (sent) => this.#store.release(will, sent),
      (failure) => failure,
    );
  }

  look(questions: readonly Question[], call: Call): Promise<Looked> {
    return this.#pass<Looked>(
      "look",
      call,
      (sent, fault) => this.#look(questions, sent, fault),
      (failure) => failure,
    );
  }

  writeMemo(write: MemoWrite, call: Call): Promise<MemoWritten> {
    return this.#pass<MemoWritten>(
      "writeMemo",
      call,
      (sent) => this.#memos().writeMemo(write, sent),
      (failure) => failure,
    );
  }

  readMemos(name: Name, key: string | undefined, call: Call): Promise<MemosRead> {
    return this.#pass<MemosRead>(
      "readMemos",
      call,
      (sent) => this.#memos().readMemos(name, key, sent),
      (failure) => failure,
    );
  }

  #memos(): KeepsMemos {
    const store: Store = this.#store;
    if (!keepsMemos(store)) throw cannotKeepMemos(store);
    return store;
  }

  watch(questions: readonly Question[], call: Call): AsyncIterable<Hint> {
    return {
      [Symbol.asyncIterator]: () => this.#filterHints(this.#store.watch(questions, call)[Symbol.asyncIterator]()),
    };
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  /** Passes one request on: the fault it meets is drawn now, in the order of the calls. */
  #pass<A>(
    method: Method,
    call: Call,
    send: (call: Call, fault?: StoreFault) => Promise<A>,
    fail: (failure: Unknown | Refused) => A,
  ): Promise<A> {
    const fault = this.#source.draw(method);
    // A request that goes on after its caller has given up must not be stopped by that caller's signal.
    const sent: Call = fault === undefined ? call : { ...call, signal: new AbortController().signal };
    const apply = async (): Promise<A> => {
      const answer = await send(sent, fault);
      this.#applied();
      return answer;
    };
    return new Promise((resolve, reject) => {
      const giveUp = (): void =>
        resolve(fail(unknown(call.signal.reason ?? new Error("faulty: the connection broke"))));
      if (fault !== undefined && !call.signal.aborted) call.signal.addEventListener("abort", giveUp, { once: true });
      if (fault !== undefined && call.signal.aborted) giveUp();
      this.#deliver(fault, call.signal, apply, fail, giveUp).then(resolve, reject);
    });
  }

  async #deliver<A>(
    fault: StoreFault | undefined,
    given: AbortSignal,
    apply: () => Promise<A>,
    fail: (refused: Refused) => A,
    giveUp: () => void,
  ): Promise<A> {
    if (fault === undefined || "stale" in fault) return await apply();
    if ("delayMs" in fault) await this.#pause(fault.delayMs);
    if ("error" in fault && fault.error === "thrown")
      throw new Error("faulty: the test asked for a driver that throws");
    if ("error" in fault) return fail(UNREACHABLE);
    if ("late" in fault) await aborted(given);
    if ("late" in fault || "reorder" in fault) await new Promise<void>((resolve) => this.#heldBack.push(resolve));
    if (!("hang" in fault)) {
      const answer = await apply();
      if ("answerAfterMs" in fault) await this.#pause(fault.answerAfterMs);
      if (!("dropAnswer" in fault)) return answer;
    }
    this.#unanswered.push(giveUp);
    return await new Promise<never>(() => {});
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#clock.timer(ms, resolve));
  }

  /** A request was applied: those that were held back until then follow. */
  #applied(): void {
    const heldBack = this.#heldBack;
    this.#heldBack = [];
    for (const follow of heldBack) follow();
  }

  #heal(): void {
    this.#source.heal();
    this.#applied();
    for (const giveUp of this.#unanswered.splice(0)) giveUp();
  }

  async #look(questions: readonly Question[], call: Call, fault: StoreFault | undefined): Promise<Looked> {
    const looked = await this.#store.look(questions, call);
    if (looked.kind !== "seen") return looked;
    const ago = fault !== undefined && "stale" in fault ? fault.stale : 0;
    return { kind: "seen", seats: looked.seats.map((seat, index) => this.#remember(questions[index], seat, ago)) };
  }

  /** Files `seat` as the latest and returns the one that was filed `ago` looks earlier, or the oldest there is. */
  #remember(question: Question | undefined, seat: Seat, ago: number): Seat {
    const key = JSON.stringify([question?.name, question?.bid, question?.session?.id]);
    const seen = this.#seen.get(key) ?? [];
    this.#seen.set(key, seen);
    seen.push(seat);
    if (seen.length > LOOKS_REMEMBERED_MAX) seen.shift();
    return seen[Math.max(0, seen.length - 1 - ago)] ?? seat;
  }

  #filterHints(hints: AsyncIterator<Hint>): AsyncIterator<Hint> {
    return {
      next: async () => {
        for (;;) {
          const result = await hints.next();
          if (result.done === true || !this.#source.losesHint()) return result;
        }
      },
      return: async () => (await hints.return?.()) ?? { done: true, value: undefined },
    };
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
