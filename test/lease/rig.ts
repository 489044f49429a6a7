// A machine on the table: time in hand, every request answered by the test. Nothing happens unless a line of the test makes it happen.
import type { Grain, Reading } from "../../src/base/clock.ts";
import type { ConclaveEvent } from "conclave";
import {
  type Bid,
  type Claim,
  type Guarantee,
  type Hold,
  type Kept,
  type Seat,
  type Session,
  type SessionSpec,
  type Token,
  VACANT,
  type Version,
} from "conclave/stores/contract";
import { createMachine, isHeld, nextWake, step, termState } from "../../src/lease/machine.ts";
import { resolveSettings, type SettingsInput } from "../../src/lease/settings.ts";
import type { Answer, Effect, Input, Machine, Request } from "../../src/lease/state.ts";

export const GRAIN: Grain = { monoMs: 5, bootMs: 20 };

export const promise: Guarantee = {
  store: "table",
  scope: "process",
  quorum: false,
  ttl: { minMs: 100, maxMs: 3_600_000, stepMs: 1, why: "any" },
  wakes: "poll",
  cap: "none",
  fencing: "fenced",
  token: { source: "test", domain: "table", survivesDeletion: true, survivesRestore: false },
  shape: "race",
  judge: "taker",
  keepProves: "this-send",
  proofWithinMs: Infinity,
  extraMarginMs: 0,
  earlyEnds: [],
  keep: "one-request",
  holdsPerSession: 1000,
  under: {
    processPause: "a paused holder may still write.",
    partition: "",
    storeLeaderChange: "",
    storeRestart: "",
    clockJump: "",
    clockDrift: "",
    recordDeleted: "",
    machineCloned: "",
  },
};

interface PendingCall<M extends Request["method"] = Request["method"]> {
  readonly errand: number;
  readonly request: Extract<Request, { method: M }>;
}

export class Rig {
  readonly machine: Machine;
  readonly events: ConclaveEvent[] = [];
  readonly effects: Effect[] = [];
  readonly pending: PendingCall[] = [];
  now: Reading = { mono: 1000, boot: 501_000 };
  #granted = 0n;

  constructor(guarantee: Partial<Guarantee> = {}, input: Partial<SettingsInput> = {}, nonce = "me") {
    const settings = resolveSettings(
      { id: "alice", ttlMs: 10_000, drainMs: 2000, ...input },
      { ...promise, ...guarantee },
      GRAIN,
      "rig",
    );
    this.machine = createMachine(settings, nonce, 7);
  }

  input(input: Input): void {
    const effects: Effect[] = [];
    step(this.machine, input, this.now, effects);
    for (const effect of effects) {
      this.effects.push(effect);
      if (effect.type === "event") this.events.push(effect.event);
      if (effect.type === "call") this.pending.push({ errand: effect.errand, request: effect.request });
    }
  }

  /** Moves both hands, ticking whenever the machine asks for it. */
  pass(ms: number): void {
    const end = this.now.mono + ms;
    for (let guard = 0; guard < 1000; guard++) {
      const wake = nextWake(this.machine, this.now);
      if (wake > end) break;
      this.jump(Math.max(0, wake - this.now.mono));
      this.input({ type: "tick" });
    }
    this.jump(end - this.now.mono);
  }

  /** Moves both hands without a tick: the timers are late. */
  jump(ms: number): void {
    this.now = { mono: this.now.mono + ms, boot: this.now.boot + ms };
  }

  /** The host sleeps: boot time alone goes on. */
  sleep(ms: number): void {
    this.now = { mono: this.now.mono, boot: this.now.boot + ms };
  }

  /** The oldest unanswered request of this method. */
  next<M extends Request["method"]>(method: M): PendingCall<M> {
    const index = this.pending.findIndex(({ request }) => request.method === method);
    if (index < 0)
      throw new Error(
        `no ${method} is waiting; there are: ${this.pending.map(({ request }) => request.method).join(", ") || "none"}`,
      );
    return this.pending.splice(index, 1)[0] as unknown as PendingCall<M>;
  }

  has(method: Request["method"]): boolean {
    return this.pending.some(({ request }) => request.method === method);
  }

  answer(call: { readonly errand: number }, answer: Answer): void {
    this.input({ type: "answer", errand: call.errand, answer });
  }

  unknown(call: { readonly errand: number }): void {
    this.answer(call, { kind: "unknown", cause: "test" });
  }

  keep(call = this.next("keep"), kept: Partial<Extract<Kept, { kind: "kept" }>> = {}): void {
    this.answer(call, {
      kind: "kept",
      session: sessionOf(call.request.session),
      lost: [],
      unsure: [],
      strays: [],
      ...kept,
    });
  }

  /** Answers the look that waits, or the claim over VACANT in its place, which is beaten: both show the seat. */
  see(seat: Partial<Seat> = {}): void {
    const shown = ({ name }: { readonly name: string }): Seat => ({
      name,
      version: "v1" as Version,
      state: "vacant",
      ...seat,
    });
    if (this.isHopeful) {
      const call = this.next("claim");
      const claimed = call.request.claims.map((claim) => ({ kind: "beaten" as const, seat: shown(claim) }));
      return this.answer(call, { kind: "claimed", claimed });
    }
    const call = this.next("look");
    this.answer(call, { kind: "seen", seats: call.request.questions.map(shown) });
  }

  /** A claim over VACANT waits for its answer. */
  get isHopeful(): boolean {
    return this.pending.some(
      ({ request }) => request.method === "claim" && request.claims.every(({ over }) => over === VACANT),
    );
  }

  grant(call = this.next("claim"), token = ++this.#granted): void {
    this.answer(call, {
      kind: "claimed",
      claimed: call.request.claims.map((claim) => ({ kind: "granted", hold: holdOf(claim, token) })),
    });
  }

  /** From nothing to the first claim, over VACANT in a race, with a session, in no time at all. */
  stand(name = "x"): this {
    this.input({ type: "stand", name, value: "" });
    this.pass(0);
    this.keep();
    this.pass(0);
    return this;
  }

  /** On to the first claim over a version, the seat being vacant. */
  standAndClaim(name = "x"): PendingCall<"claim"> {
    this.stand(name);
    this.see();
    this.pass(0);
    return this.next("claim");
  }

  /** From nothing to leading, in no time at all. */
  lead(name = "x"): Bid {
    this.input({ type: "stand", name, value: "" });
    this.pass(0);
    if (this.has("keep")) this.keep();
    this.pass(0);
    if (this.has("look") || this.isHopeful) this.see();
    this.pass(0);
    const claim = this.next("claim");
    this.grant(claim);
    const bid = claim.request.claims[0]?.bid;
    if (bid === undefined) throw new Error("nothing was claimed");
    return bid;
  }

  /** Keeps answering renewals at once while time passes. */
  healthy(ms: number): void {
    const end = this.now.mono + ms;
    while (this.now.mono < end) {
      this.pass(Math.min(100, end - this.now.mono));
      if (this.has("keep")) this.keep();
    }
  }

  isHeld(bid: Bid, name = "x"): boolean {
    return isHeld(this.machine, name, bid, this.now);
  }

  state(bid: Bid, name = "x"): string {
    return termState(this.machine, name, bid, this.now);
  }

  /** The deadline of the session by the machine's books, on the monotonic hand. */
  get deadline(): number {
    if (this.machine.session.kind !== "open") throw new Error(`the session is ${this.machine.session.kind}`);
    return this.machine.session.lifeline.deadline.mono;
  }

  /** Milliseconds until the first hand passes the deadline. */
  get remaining(): number {
    if (this.machine.session.kind !== "open") return 0;
    const { deadline } = this.machine.session.lifeline;
    return Math.min(deadline.mono - this.now.mono, deadline.boot - this.now.boot);
  }

  happened(type: ConclaveEvent["type"]): ConclaveEvent[] {
    return this.events.filter((event) => event.type === type);
  }
}

export function sessionOf(session: Session | SessionSpec): Session {
  return "id" in session ? session : { id: session.nonce, candidate: session.candidate, ttlMs: session.ttlMs };
}

export function holdOf(claim: Pick<Claim, "name" | "bid">, value: bigint): Hold {
  const token: Token = { domain: "table", value, bid: claim.bid };
  return { name: claim.name, bid: claim.bid, token };
}

export const version = (text: string): Version => text as Version;
