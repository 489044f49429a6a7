// A second record of proofs, kept from requests and answers alone: the send time of the last keep that the store's answers prove, and so the times when a term's signal and deadline are due. It is no
// invariant by itself; the invariants about deadlines ask here instead of asking the machine.
//
// An answer to a claim counts before the step that it is handed to, so that the term which that step announces is known. An answer to a keep counts after it: a signal or deadline that is due when the
// answer arrives is due in spite of it. The same holds for a renewal that an answer to a claim confirms (`dueBefore`).
import type { Reading } from "../../../base/clock.ts";
import type { Bid, Kept, Session } from "../../../lease/exchange.ts";
import type { Answer, Request } from "../../../lease/state.ts";
import type { Ears, ObservationOf, Promises, Who } from "../observation.ts";

interface SessionProof {
  readonly ttlMs: number;
  provenAt: Reading;
  answeredSentAt: Reading;
  answeredRoad: string | undefined;
}

interface Sent {
  readonly errand: number;
  readonly request: Request;
  readonly sentAt: Reading;
}

interface Life {
  /** Requests that have not been answered yet: never more than a few. */
  readonly requests: Sent[];
  /** Opening or bid → the time of its first send. */
  readonly firstSentAt: Map<string, Reading>;
  readonly sessions: Map<string, SessionProof>;
  readonly sessionOf: Map<Bid, string>;
  readonly records: Map<Bid, Reading>;
  /** The send time of each keep that proved nothing and may yet be confirmed. */
  readonly witnessed: Map<string, Reading>;
  pending: ObservationOf<"answer"> | undefined;
  /** Sessions whose renewal the present claim has just confirmed → the proof before that. */
  readonly before: Map<string, Reading>;
  /** Bid → its due times as they were computed last: most questions are asked again before anything else is proven. */
  readonly dues: Map<Bid, TermDue>;
}

/** The due times of a term, on both clocks. */
export interface TermDue {
  /** The send time of the keep from which they follow. */
  readonly provenAt: Reading;
  readonly ttlMs: number;
  readonly signalAt: Reading;
  readonly deadline: Reading;
}

export class Proofs {
  readonly hears: Ears = {
    sent: (observation) => this.#sent(observation),
    answer: (observation) => this.#answered(observation),
    stepped: ({ who }) => this.#digest(who),
    died: ({ who }) => {
      this.#lives[who.number] = undefined;
    },
    cloned: ({ who, copy }) => {
      this.#lives[copy.number] = copyOf(this.#lives[who.number]);
    },
  };
  readonly #promises: Promises;
  /** The lives, by their numbers. */
  readonly #lives: (Life | undefined)[] = [];

  constructor(promises: Promises) {
    this.#promises = promises;
  }

  sessionOf(who: Who, bid: Bid): string | undefined {
    return this.#lives[who.number]?.sessionOf.get(bid);
  }

  /** Undefined: nothing was ever proven for this bid. */
  dueOf(who: Who, bid: Bid): TermDue | undefined {
    const life = this.#lives[who.number];
    return this.#dueBy(who, bid, life?.sessions.get(life.sessionOf.get(bid) ?? "")?.provenAt);
  }

  /** The same without the renewal that the present answer confirms. */
  dueBefore(who: Who, bid: Bid): TermDue | undefined {
    const before = this.#lives[who.number]?.before.get(this.sessionOf(who, bid) ?? "");
    return before === undefined ? this.dueOf(who, bid) : this.#dueBy(who, bid, before);
  }

  #dueBy(who: Who, bid: Bid, sessionProvenAt: Reading | undefined): TermDue | undefined {
    const life = this.#lives[who.number];
    const session = life?.sessions.get(life.sessionOf.get(bid) ?? "");
    const candidate = this.#promises.candidates[who.slot];
    if (life === undefined || session === undefined || candidate === undefined) return undefined;
    const record = this.#promises.keep === "per-hold" ? life.records.get(bid) : sessionProvenAt;
    if (record === undefined || sessionProvenAt === undefined) return undefined;
    // A record ends with its session: the one of the two that was proven earlier decides.
    const provenAt = isLater(sessionProvenAt, record) ? record : sessionProvenAt;
    const known = life.dues.get(bid);
    if (known?.provenAt === provenAt && known.ttlMs === session.ttlMs) return known;
    const { rho, extraMarginMs } = this.#promises;
    const beliefMs = (session.ttlMs * (1 - rho)) / (1 + rho) - extraMarginMs;
    const deadline = {
      mono: provenAt.mono + beliefMs - candidate.monoGrainMs,
      boot: provenAt.boot + beliefMs - candidate.bootGrainMs,
    };
    const signalAt = { mono: deadline.mono - candidate.drainMs, boot: deadline.boot - candidate.drainMs };
    const due = { provenAt, ttlMs: session.ttlMs, deadline, signalAt };
    life.dues.set(bid, due);
    return due;
  }

  #sent({ who, errand, request, now }: ObservationOf<"sent">): void {
    const life = this.#lives[who.number] ?? newLife();
    this.#lives[who.number] = life;
    life.requests.push({ errand, request, sentAt: now });
    const keys =
      request.method === "claim"
        ? request.claims.map(({ bid }) => bid)
        : request.method === "keep"
          ? [keyOf(request.session)]
          : [];
    for (const key of keys) if (!life.firstSentAt.has(key)) life.firstSentAt.set(key, now);
  }

  #answered(observation: ObservationOf<"answer">): void {
    const life = this.#lives[observation.who.number];
    const asked = life?.requests.find(({ errand }) => errand === observation.errand);
    if (life === undefined || asked === undefined) return;
    if (asked.request.method === "claim") {
      strike(life.requests, asked);
      this.#claimed(life, asked.request, observation.answer, observation.now);
    } else life.pending = observation;
  }

  #claimed(life: Life, request: Extract<Request, { method: "claim" }>, answer: Answer, now: Reading): void {
    if (answer.kind !== "claimed") return;
    request.claims.forEach(({ bid, session, witness = "" }, index) => {
      const claimed = answer.claimed[index];
      if (claimed?.kind !== "granted") return;
      if (claimed.confirms === true) this.#confirmed(life, session.id, life.witnessed.get(witness), now);
      life.sessionOf.set(bid, session.id);
      const firstSentAt = life.firstSentAt.get(bid);
      if (firstSentAt !== undefined && !life.records.has(bid)) life.records.set(bid, firstSentAt);
    });
  }

  #confirmed(life: Life, id: string, sentAt: Reading | undefined, now: Reading): void {
    const session = life.sessions.get(id);
    if (session === undefined || sentAt === undefined) return;
    const tookMs = Math.max(now.mono - sentAt.mono, now.boot - sentAt.boot);
    if (tookMs > this.#promises.proofWithinMs || !isLater(sentAt, session.provenAt)) return;
    if (!life.before.has(id)) life.before.set(id, session.provenAt);
    session.provenAt = sentAt;
  }

  #digest(who: Who): void {
    const life = this.#lives[who.number];
    if (life === undefined) return;
    if (life.before.size > 0) life.before.clear();
    const { pending } = life;
    if (pending === undefined) return;
    life.pending = undefined;
    const asked = life.requests.find(({ errand }) => errand === pending.errand);
    strike(life.requests, asked);
    if (asked?.request.method === "keep" && pending.answer.kind === "kept")
      this.#kept(life, asked.request, asked.sentAt, pending.now, pending.answer);
  }

  #kept(
    life: Life,
    request: Extract<Request, { method: "keep" }>,
    sentAt: Reading,
    now: Reading,
    kept: Extract<Kept, { kind: "kept" }>,
  ): void {
    if (!("id" in request.session)) {
      const firstSentAt = life.firstSentAt.get(request.session.nonce) ?? sentAt;
      life.sessions.set(kept.session.id, {
        ttlMs: kept.session.ttlMs,
        provenAt: firstSentAt,
        answeredSentAt: firstSentAt,
        answeredRoad: kept.road,
      });
      return;
    }
    const session = life.sessions.get(kept.session.id);
    if (kept.proves === false && kept.witness !== undefined) life.witnessed.set(kept.witness, sentAt);
    if (session === undefined || kept.proves === false) return;
    // A partial keep that reports a lost hold says nothing about the holds that it did not carry.
    if (request.wish?.part === true && kept.lost.length > 0) return;
    const tookMs = Math.max(now.mono - sentAt.mono, now.boot - sentAt.boot);
    if (tookMs > this.#promises.proofWithinMs) return;
    const proven = this.#promises.keepProves === "this-send" ? sentAt : provenByPair(session, sentAt, kept.road);
    if (proven === undefined) return;
    if (isLater(proven, session.provenAt)) session.provenAt = proven;
    const not = new Set([...kept.unsure, ...kept.lost].map(({ bid }) => bid));
    for (const { bid } of request.holds) {
      const before = life.records.get(bid);
      if (!not.has(bid) && before !== undefined && isLater(proven, before)) life.records.set(bid, proven);
    }
  }
}

function strike(requests: Sent[], asked: Sent | undefined): void {
  const place = asked === undefined ? -1 : requests.indexOf(asked);
  if (place >= 0) requests.splice(place, 1);
}

function keyOf(session: Session | { readonly nonce: string }): string {
  return "id" in session ? session.id : session.nonce;
}

/** Where touches are relayed: returns the send time of the keep that was answered before this one, if both came by one road, and this one was sent later. */
function provenByPair(session: SessionProof, sentAt: Reading, road: string | undefined): Reading | undefined {
  const { answeredSentAt, answeredRoad } = session;
  const isOneRoad = road === answeredRoad;
  if (isOneRoad && sentAt.mono < answeredSentAt.mono) return undefined;
  session.answeredSentAt = sentAt;
  session.answeredRoad = road;
  return isOneRoad ? answeredSentAt : undefined;
}

/** Compares two readings of one clock. */
function isLater(a: Reading, b: Reading): boolean {
  return a.mono > b.mono || a.boot > b.boot;
}

/** A copy has the proofs of the original. */
function copyOf(life: Life = newLife()): Life {
  const sessions = [...life.sessions].map(([id, proof]) => [id, { ...proof }] as const);
  return {
    requests: life.requests.slice(),
    firstSentAt: new Map(life.firstSentAt),
    sessions: new Map(sessions),
    sessionOf: new Map(life.sessionOf),
    records: new Map(life.records),
    witnessed: new Map(life.witnessed),
    pending: undefined,
    before: new Map(),
    dues: new Map(),
  };
}

function newLife(): Life {
  return {
    requests: [],
    firstSentAt: new Map(),
    sessions: new Map(),
    sessionOf: new Map(),
    records: new Map(),
    witnessed: new Map(),
    pending: undefined,
    before: new Map(),
    dues: new Map(),
  };
}
