// Carries out one request of the machine at a store and answers it exactly once: with the store's answer, or with `unknown` when the store takes too long, throws,
// rejects, or answers with something that is no answer. Late answers are dropped, because the machine asks again in any case.
import { inspect } from "node:util";
import type { Clock, Reading } from "../base/clock.ts";
import { ConclaveError } from "../base/errors.ts";
import { textOfError } from "../base/harmless.ts";
import { type RefusalCode, type Refused, unknown } from "../base/outcome.ts";
import type { Claimed, StoredMemo, Met, Seat } from "../lease/exchange.ts";
import type { Guarantee } from "../lease/guarantee.ts";
import type { Answer, Request } from "../lease/state.ts";
import { LazyCall } from "../stores/call.ts";
import { type Call, cannotKeepMemos, keepsMemos, passesInvitations, type Store } from "../stores/contract.ts";

export interface Exchange {
  /** Says that nobody waits for the answer any more. */
  cancel(): void;
}

export function exchange(
  store: Store,
  clock: Pick<Clock, "timer">,
  request: Request,
  timeoutMs: number,
  sentAt: Reading,
  answer: (answer: Answer) => void,
): Exchange {
  const call = new LazyCall(sentAt.mono);
  let open = true;
  const close = (): boolean => {
    if (!open) return false;
    open = false;
    timer.cancel();
    return true;
  };
  // The request is sent first, and the timer is set after it: the store works meanwhile, and no answer comes before this function is over.
  invoke(store, request, call).then(
    (result) => void (close() && answer(checked(store, request, result))),
    (error: unknown) => void (close() && answer(unknown(error))),
  );
  const timer = clock.timer(timeoutMs, () => {
    if (!close()) return;
    call.abandon();
    answer(unknown(new ConclaveError("STORE_TIMEOUT", `no answer within ${Math.round(timeoutMs)} ms`)));
  });
  return {
    cancel: () => {
      if (close()) call.abandon();
    },
  };
}

/** Never throws: if a driver throws, the promise rejects. */
export function invoke(store: Store, request: Request, call: Call): Promise<Answer> {
  try {
    return Promise.resolve(sent(store, request, call));
  } catch (error) {
    return Promise.reject(error instanceof Error ? error : new Error(textOfError(error)));
  }
}

function sent(store: Store, request: Request, call: Call): Promise<Answer> {
  switch (request.method) {
    case "keep":
      return store.keep(request.session, request.holds, call, request.wish);
    case "claim":
      return Promise.resolve(store.claim(request.claims, call)).then((claimed) => ({ kind: "claimed", claimed }));
    case "release":
      return store.release(request.will, call);
    case "look":
      return store.look(request.questions, call);
    case "writeMemo":
      return keepsMemos(store) ? store.writeMemo(request.write, call) : Promise.resolve(noMemos(store));
    case "readMemos":
      return keepsMemos(store) ? store.readMemos(request.name, request.key, call) : Promise.resolve(noMemos(store));
    case "askToLeave":
      return passesInvitations(store) ? store.askToLeave(request.name, request.token, call) : NO_WORDS;
    case "invite":
      return passesInvitations(store) ? store.invite(request.name, request.invitation, call) : NO_WORDS;
  }
}

/** Only a store that passes invitations on gets hints with an invitation. */
const NO_WORDS: Promise<Answer> = Promise.resolve(unknown("the store passes no invitations on"));

function noMemos(store: Store): Refused {
  const { code, message, retryable } = cannotKeepMemos(store);
  return { kind: "refused", code: code as RefusalCode, message, retryable };
}

/**
 * A bug of a driver must lead neither to two leaders nor to a candidate that hangs. So a value that does not have the shape of an answer counts as no answer, also if it
 * is so strange that looking at it throws.
 */
function checked(store: Store, request: Request, answer: Answer): Answer {
  try {
    return recognised(store, request, answer);
  } catch (error) {
    return unknown(error);
  }
}

function recognised(store: Store, request: Request, answer: Answer): Answer {
  if (answer?.kind === "claimed" && request.method === "claim" && answer.claimed?.length === request.claims.length)
    return {
      kind: "claimed",
      claimed: answer.claimed.map((each, index) => checkedClaim(store, request.claims[index]?.bid, each)),
    };
  if (isAnswer(request, answer)) return answer;
  return unknown(
    new TypeError(`${store.guarantee.store}.${request.method} answered ${inspect(answer)}, which is no outcome`),
  );
}

function isAnswer(request: Request, answer: Answer): boolean {
  switch (answer?.kind) {
    case "unknown":
    case "refused":
      return true;
    case "kept":
      return (
        request.method === "keep" &&
        typeof answer.session?.id === "string" &&
        [answer.lost, answer.unsure, answer.strays].every((holds) => Array.isArray(holds)) &&
        isMet(answer.met)
      );
    case "session-lost":
      return request.method === "keep" || request.method === "writeMemo";
    case "released":
      return request.method === "release";
    case "seen":
      return (
        request.method === "look" && answer.seats?.length === request.questions.length && answer.seats.every(isSeat)
      );
    case "written":
      return request.method === "writeMemo" && typeof answer.version === "string";
    case "conflict":
      return request.method === "writeMemo" && (answer.memo === undefined || isMemo(answer.memo));
    case "seat-lost":
      return request.method === "writeMemo";
    case "memos":
      return request.method === "readMemos" && Array.isArray(answer.memos) && answer.memos.every(isMemo);
    case "asked":
    case "not-leading":
      return request.method === "askToLeave";
    case "told":
      return request.method === "invite";
    case "claimed": // it has the wrong length, or answers another request
    default:
      return false;
  }
}

/** A margin that is not a number, or is negative, would move deadlines to a wrong place. */
function isMet(met: Met | undefined): boolean {
  if (met === undefined) return true;
  const { server, extraMarginMs = 0, proofWithinMs = Infinity, proofApartMs = 0, earlyEnds = [] } = met;
  const areNumbers = [extraMarginMs, proofApartMs].every((ms) => ms >= 0 && ms < Infinity) && proofWithinMs > 0;
  return typeof server === "string" && areNumbers && Array.isArray(earlyEnds);
}

function isSeat(seat: Seat): boolean {
  return typeof seat?.version === "string" && (seat.ttlMs === undefined || seat.ttlMs > 0);
}

function isMemo(memo: StoredMemo): boolean {
  return typeof memo?.version === "string" && typeof memo.value === "string" && typeof memo.token?.value === "bigint";
}

/** The answers that each shape of store can give to a claim. */
const CLAIMED: Readonly<Record<Guarantee["shape"], readonly string[]>> = {
  race: ["granted", "beaten", "session-lost", "unknown", "refused"],
  line: ["granted", "waiting", "leftover", "session-lost", "unknown", "refused"],
};

function checkedClaim(store: Store, bid: string | undefined, claimed: Claimed): Claimed {
  const { shape, fencing, store: name } = store.guarantee;
  if (!CLAIMED[shape].includes(claimed?.kind) || (claimed.kind === "beaten" && !isSeat(claimed.seat)))
    return unknown(new TypeError(`${name}.claim answered ${inspect(claimed)}, which is no outcome of a ${shape}`));
  if (claimed.kind !== "granted" && claimed.kind !== "waiting") return claimed;
  const token = claimed.hold?.token;
  if (claimed.hold?.bid === bid && (fencing !== "fenced" || (typeof token?.value === "bigint" && token.bid === bid)))
    return claimed;
  const message = `${name}.claim granted bid ${String(bid)} without its ${fencing === "fenced" ? "token" : "bid"}. This is a bug of the driver: run storeConformance of conclave/testing on it.`;
  return { kind: "refused", code: "STORE_UNSUPPORTED", message, retryable: false };
}
