// Transfers a term to a named candidate: by the leader itself (`term.transfer`), or by anybody who may ask a leader to leave (`election.transfer`, `conclave transfer`).
//
// A transfer grants nothing. In a race the candidate is invited (lease/invited.ts), through the store, again and again until the time is up. It answers by asking the leader
// to leave, and only then the leader leaves. So nothing was given up if the candidate is not there. In a line the leader looks which candidate is the next, and resigns
// only if that is the named one: the queue decides, and the look may be out of date by then.
//
// Two things may go wrong after the term was given up: the candidate dies, or another candidate that has not heard of the invitation is quicker. Then another one leads, or nobody leads for one ttl at most.
import type { Clock } from "../base/clock.ts";
import { ConclaveError, invalidConfig } from "../base/errors.ts";
import { problemsOfKeys } from "../base/option-keys.ts";
import { noAnswerToRead, type Refused, type Unknown } from "../base/outcome.ts";
import { show } from "../base/show.ts";
import { formatToken, makeToken } from "../fencing/token.ts";
import type { Name, Seat, Token } from "../lease/exchange.ts";
import type { Request } from "../lease/state.ts";
import { LazyCall } from "../stores/call.ts";
import { passesInvitations, type ShowsNext, type Store } from "../stores/contract.ts";
import { exchange } from "./ask.ts";
import type { Leader, Transfer, TransferAnswer, TransferOptions } from "./face.ts";
import type { HeldTerm } from "./held-term.ts";
import { type Lookout, lookUp } from "./observe.ts";

/** A hint may be lost, and the candidate that it is for may be cooling down. */
const INVITE_EVERY_MS = 500;
const LOOK_EVERY_MS = 100;
const DEFAULT_WITHIN_MS = 30_000;
const ANSWER_WITHIN_MS = 5000;
/** A successor has this long to show itself before the answer is that nobody leads. */
const SUCCESSOR_WITHIN_MS = 3000;

/** The store and the clock, as far as they are needed. */
interface Means {
  readonly store: Store;
  readonly clock: Pick<Clock, "timer">;
}

/** True if an id, which may end with the nonce of its process, is that of the candidate `to`. */
export function isNamed(candidate: string | undefined, to: string): boolean {
  return (
    candidate === to ||
    (candidate?.startsWith(`${to}_`) === true && /^[0-9a-f]{16}-\d+$/.test(candidate.slice(to.length + 1)))
  );
}

/** @param known the names of all options of `call` */
export function withinOf(options: TransferOptions | undefined, call: string, known: readonly string[]): number {
  const problems = problemsOfKeys(options, known);
  if (problems.length > 0) throw invalidConfig(call, problems);
  const withinMs: unknown = options?.withinMs ?? DEFAULT_WITHIN_MS;
  if (typeof withinMs === "number" && withinMs > 0 && withinMs < Infinity) return withinMs;
  throw invalidConfig(call, [`withinMs ${show(withinMs)} is not a number of milliseconds`]);
}

export function checkTarget(to: unknown, call: string): asserts to is string {
  if (typeof to === "string" && to.length > 0 && to.length <= 250) return;
  throw invalidConfig(call, [`${show(to)} is not the id of a candidate`]);
}

/** Says why a term at this store cannot be transferred by an invitation. */
export function cannotInvite({ guarantee: { store, shape, wakes, fencing } }: Store, call: string): ConclaveError {
  const why =
    fencing === "unfenced"
      ? "its terms have no tokens, so that nobody can say which one is to end"
      : shape === "line"
        ? "its queue says who leads next, and the leader cannot be asked through it. In the leader, term.transfer(id) hands over to the next in the queue; term.resign() does so whoever that is"
        : wakes === "poll"
          ? "its candidates look from time to time and hear nothing between two looks, so that the first to look would lead. Use term.resign() or conclave resign"
          : "it passes no invitations on. Use term.resign() or conclave resign";
  return new ConclaveError("STORE_UNSUPPORTED", `${call}: ${store} cannot choose who leads next, because ${why}.`);
}

// ---- by the leader -------------------------------------------------------------------------------------------------------------------

/** `resign` gives the term up. */
export async function transferTerm(
  term: HeldTerm,
  { store, clock }: Means,
  to: string,
  withinMs: number,
  resign: () => Promise<void>,
): Promise<TransferAnswer> {
  const call = `"${term.election}": term.transfer`;
  const { token } = term;
  if (isNamed(term.candidate, to)) throw invalidConfig(call, [`${show(to)} is the candidate that leads`]);
  if (store.guarantee.shape === "line" && "showNext" in store && token !== undefined)
    return await transferInLine(term, store as Store & ShowsNext, clock, to, resign);
  if (!passesInvitations(store) || token === undefined) throw cannotInvite(store, call);
  const { domain, value, bid } = token;
  const invitation = { token: { domain, value, bid } as Token, to };
  const time = timer(clock, withinMs);
  try {
    while (term.isLeading() && !time.isUp) {
      told(store, await ask({ store, clock }, { method: "invite", name: term.election, invitation }));
      await Promise.race([term.ended, sleep(clock, INVITE_EVERY_MS), time.up]);
    }
  } finally {
    time.cancel();
  }
  if (!term.isLeading()) return { accepted: true };
  const why = `no candidate with the id ${show(to)} has answered within ${withinMs} ms: it does not stand for "${term.election}", or does not hear of it. Nothing was given up.`;
  return { accepted: false, why };
}

async function transferInLine(
  term: HeldTerm,
  store: Store & ShowsNext,
  clock: Pick<Clock, "timer">,
  to: string,
  resign: () => Promise<void>,
): Promise<TransferAnswer> {
  const { election, token } = term;
  const { domain = "", value = 0n, bid = "" } = token ?? {};
  const call = new LazyCall(0);
  const timeout = clock.timer(ANSWER_WITHIN_MS, () => call.abandon());
  const shown = await store.showNext(election, { domain, value, bid } as Token, call).finally(() => timeout.cancel());
  if (shown.kind === "unknown" || shown.kind === "refused")
    throw errorOf(shown, store, "the question who is next in the queue");
  if (shown.kind === "not-leading") term.throwIfNotLeading();
  const next = shown.kind === "next" ? shown.candidate : undefined;
  if (!isNamed(next, to)) {
    const instead = next === undefined ? "nobody waits in it" : `${show(next)} is next in it`;
    return {
      accepted: false,
      why: `the queue of "${election}" decides who leads next, and ${instead}. Nothing was given up. Candidates lead in the order in which they have joined: ${show(to)} can be named when those before it have left the queue, for instance because they were started again.`,
    };
  }
  // Inside `lead` the store is told when the work has settled: work that awaits this must not wait for itself.
  void resign();
  return { accepted: true };
}

// ---- by anybody ----------------------------------------------------------------------------------------------------------------------

/** Goes from the first look to the end of the term that it shows, and to its successor. */
export async function transferFromOutside(
  lookout: Lookout,
  name: Name,
  to: string,
  options: TransferOptions | undefined,
): Promise<Transfer> {
  const { store, clock } = lookout;
  const call = `"${name}": election.transfer`;
  const { withinMs = DEFAULT_WITHIN_MS, token: wanted } = options ?? {};
  if (!passesInvitations(store)) throw cannotInvite(store, call);
  const before = await holderOf(lookout, name);
  const leader = before && (await lookUp(lookout, name));
  if (before === undefined || leader === undefined) return { outcome: "nobody-leads" };
  if (wanted !== undefined && wanted !== before.value) return { outcome: "not-that-term", leader };
  if (isNamed(leader.id, to)) return { outcome: "leads-already", leader };
  const time = timer(clock, withinMs);
  let invitedAt = -Infinity;
  let trouble: ConclaveError | undefined;
  try {
    for (let elapsedMs = 0; ; elapsedMs += LOOK_EVERY_MS) {
      try {
        if (elapsedMs - invitedAt >= INVITE_EVERY_MS) {
          told(lookout.store, await ask(lookout, { method: "invite", name, invitation: { token: before, to } }));
          invitedAt = elapsedMs;
        }
        const now = await holderOf(lookout, name);
        trouble = undefined;
        if (now === undefined || formatToken(makeToken(now)) !== formatToken(makeToken(before))) break;
      } catch (error) {
        if (!(error instanceof ConclaveError) || !error.retryable) throw error;
        trouble = error;
      }
      if (time.isUp) {
        if (trouble !== undefined) throw trouble;
        return { outcome: "stays", leader };
      }
      await sleep(clock, LOOK_EVERY_MS);
    }
  } finally {
    time.cancel();
  }
  return await successorOf(lookout, name, to);
}

async function successorOf(lookout: Lookout, name: Name, to: string): Promise<Transfer> {
  const time = timer(lookout.clock, SUCCESSOR_WITHIN_MS);
  try {
    for (;;) {
      const leader: Leader | undefined = await lookUp(lookout, name);
      if (leader !== undefined) return { outcome: isNamed(leader.id, to) ? "transferred" : "another-leads", leader };
      if (time.isUp) return { outcome: "given-up" };
      await sleep(lookout.clock, LOOK_EVERY_MS);
    }
  } finally {
    time.cancel();
  }
}

/** The token of the term that holds the name, as the store shows it. */
async function holderOf(lookout: Lookout, name: Name): Promise<Token | undefined> {
  const looked = await ask(lookout, { method: "look", questions: [{ name }] });
  if (looked.kind !== "seen") throw errorOf(looked as Refused | Unknown, lookout.store, "the question who leads");
  const seat: Seat | undefined = looked.seats[0];
  const { token, domain, bid } = seat?.holder ?? {};
  return token === undefined || domain === undefined || bid === undefined || seat?.state === "abandoned"
    ? undefined
    : { domain, value: token, bid };
}

// ---- small things --------------------------------------------------------------------------------------------------------------------

type Answered = Parameters<Parameters<typeof exchange>[5]>[0];

function ask({ store, clock }: Means, request: Request): Promise<Answered> {
  return new Promise((resolve) => {
    exchange(store, clock, request, ANSWER_WITHIN_MS, { mono: 0, boot: 0 }, resolve);
  });
}

/** An invitation without an answer is sent again. */
function told(store: Store, answer: Answered): void {
  if (answer.kind === "refused" && !answer.retryable) throw errorOf(answer, store, "an invitation");
}

function errorOf(outcome: Refused | Unknown, store: Store, what: string): ConclaveError {
  if (outcome.kind === "refused") {
    const { code, message, retryable, cause } = outcome;
    return new ConclaveError(code, message, { retryable, cause });
  }
  const { cause } = outcome;
  return new ConclaveError("STORE_TIMEOUT", noAnswerToRead(store.guarantee.store, what, cause), { cause });
}

function sleep(clock: Pick<Clock, "timer">, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.timer(ms, resolve));
}

interface Time {
  isUp: boolean;
  readonly up: Promise<void>;
  cancel(): void;
}

function timer(clock: Pick<Clock, "timer">, ms: number): Time {
  let resolve: () => void = () => {};
  const up = new Promise<void>((settle) => (resolve = settle));
  const time: Time = { isUp: false, up, cancel: () => running.cancel() };
  const running = clock.timer(ms, () => {
    time.isUp = true;
    resolve();
  });
  return time;
}
