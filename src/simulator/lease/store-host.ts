// The store as a node: a modelled shelf behind a network, with a clock of its own and the weaknesses that the world gave it. `guaranteeOf` (guarantees.ts) declares the promises that it gives in spite of
// them. It keeps them, except when somebody meddles, which it reports.
//
//   late        ends sessions later than their ttl, within `lateMaxMs`; never earlier than `extraMarginMs` before it
//   relays      answers a keep before the judge has heard of it: the judge counts from the keep before (`previous-send`), if that came by the same road
//   stale       answers looks from an old copy; never anything else
//   forgetful   a failover goes back to an old copy
//   unsure      leaves some records unrenewed, and says so
//   proof       answers a keep that comes much too late, and renews nothing by it (`proofWithinMs`)
//   moves       comes back from a failover as another store: tokens of another domain
//   replaced    somebody puts an empty store in its place
//   quiet       gives a seat to nobody for a while after its session has expired (lock-delay)
//   kernel      one host: shows until when a seat is held, and that its holder is dead
import { nextBetween, nextChance, nextInteger } from "../../base/rng.ts";
import type {
  Claim,
  Claimed,
  Hold,
  Kept,
  Name,
  Question,
  Seat,
  Session,
  SessionSpec,
  Token,
  Will,
} from "../../lease/exchange.ts";
import type { Answer, Request } from "../../lease/state.ts";
import type { VirtualClock } from "../kernel/clock.ts";
import type { Actor, KernelEvent } from "../kernel/kernel.ts";
import { Watchers } from "./audience.ts";
import { Backups, StaleCopy } from "./backups.ts";
import { createShelf } from "./create-shelf.ts";
import { Domain } from "./domain.ts";
import { memoAnswer } from "./memo-desk.ts";
import { addressOf, type AnswerMessage, type RequestMessage, STORE_ADDRESS } from "./messages.ts";
import type { Shelf } from "../models/shelf.ts";
import { Requests } from "./requests.ts";
import { Roads } from "./roads.ts";
import type { Node } from "../kernel/network.ts";
import type { Meddling, Who } from "./observation.ts";
import type { StoreSpec } from "./spec.ts";
import { asWished, NOT_READY, pretended, withMet } from "./set-answers.ts";
import type { LeaseSurroundings } from "./surroundings.ts";
import { Witnesses } from "./witnesses.ts";

/** An expiry is looked at this much after its instant, so that rounding never makes it early. */
const AFTER_MS = 1e-6;

export class StoreHost implements Actor, Node {
  readonly clock: VirtualClock;
  readonly #world: LeaseSurroundings;
  readonly #spec: StoreSpec;
  readonly #elections: readonly Name[];
  #shelf: Shelf;
  #expiry: KernelEvent | undefined;
  #expiryAtMs = Infinity;
  #isCalm = false;
  #paused = 0;
  readonly #waiting: RequestMessage[] = [];
  readonly #audience: Watchers;
  readonly #tokens = new Map<string, Token>(); // by name and bid: two copies of one process may use one bid for two names
  readonly #sessionOf = new Map<string, string>();
  /** Session → the time when its last keep arrived, by the judging clock. */
  readonly #touchedAt = new Map<string, number>();
  readonly #lastErrand = new Map<Who, number>();
  /** Name → the time until which nobody gets it, by the judging clock. */
  readonly #quietUntil = new Map<Name, number>();
  readonly #ownerOf = new Map<string, Who>();
  readonly #dead = new Set<Who>();
  readonly #domain = new Domain();
  readonly #stale = new StaleCopy();
  readonly #backups: Backups;
  readonly #roads: Roads;
  readonly requests: Requests;
  readonly #witnesses: Witnesses;

  constructor(world: LeaseSurroundings, spec: StoreSpec, clock: VirtualClock, elections: readonly Name[]) {
    this.#elections = elections;
    this.#backups = new Backups(spec.forgetMs);
    this.#roads = new Roads(world, spec);
    this.requests = new Requests(world, spec.showsOldRequests === true, () => ({
      shelf: this.#shelf,
      domain: this.#domain.name,
      audience: this.#audience,
    }));
    this.#audience = new Watchers(world, spec.wakes, (question) => this.#seen(this.#shelf.look(question, this.#now())));
    this.#witnesses = new Witnesses(world);
    this.#world = world;
    this.#spec = spec;
    this.#shelf = createShelf(spec, world.rng);
    this.clock = clock;
  }

  // ---- requests ----------------------------------------------------------------------------------------------------------------------

  receive(_from: number, message: unknown): void {
    const asked = message as RequestMessage;
    if (this.#paused > 0) this.#waiting.push(asked);
    else this.#serve(asked);
  }

  #serve(message: RequestMessage): void {
    const { counts, network, trace, kernel } = this.#world;
    const { who, errand, request } = message;
    const { method } = request;
    if (message.isGivenUp) counts.lateCommits++;
    // The errands of a renewal thread's own keeps are negative, and have no order with the others.
    if (errand > 0 && (this.#lastErrand.get(who) ?? 0) > errand) counts.overtakenCommits++;
    this.#lastErrand.set(who, Math.max(errand, this.#lastErrand.get(who) ?? 0));
    if (this.#spec.isPunctual) this.#expire();
    if (!this.#isCalm) this.#backups.backUp(this.#shelf, kernel.nowMs);
    const answer = this.#answer(message);
    if (trace.isRecorded)
      trace.record(kernel.nowMs, { type: "served", who: who.label, slot: who.slot, errand, method, answer });
    network.send(STORE_ADDRESS, addressOf(who.slot), { kind: "answer", who, errand, answer } satisfies AnswerMessage);
    this.#armExpiry();
  }

  #answer({ request, who, sentAtMs }: RequestMessage): Answer {
    const { refuseForGoodChance } = this.#spec;
    if (!this.#isCalm && refuseForGoodChance > 0 && nextChance(this.#world.rng, refuseForGoodChance)) {
      this.#world.counts.refusalsForGood++;
      return { kind: "refused", code: "STORE_DENIED", message: "the modelled store says no", retryable: false };
    }
    if (!this.#isCalm && nextChance(this.#world.rng, this.#spec.refuseChance)) return NOT_READY;
    switch (request.method) {
      case "keep":
        if (!("id" in request.session)) this.#ownerOf.set(request.session.nonce, who);
        this.requests.met(request.session);
        return this.#isUnproven(request, sentAtMs)
          ? pretended(request.session as Session)
          : withMet(this.#roads.named(this.#keepAsWished(request)), request.session, this.#spec);
      case "claim":
        return { kind: "claimed", claimed: request.claims.map((claim) => this.#claim(claim)) };
      case "release":
        return this.#release(request.will);
      case "look":
        return { kind: "seen", seats: request.questions.map((question) => this.#look(question)) };
      case "writeMemo":
      case "readMemos":
        return memoAnswer(this.#shelf, request, this.#now(), this.#isCalm, this.#world);
      case "askToLeave":
      case "invite":
        return this.requests.hear(request);
    }
  }

  /** The keep is so late that its sender, by the slowest clock, knows that the answer proves nothing. */
  #isUnproven({ session }: Extract<Request, { method: "keep" }>, sentAtMs: number): boolean {
    const { judge, proofWithinMs } = this.#spec;
    if (judge === "taker" || judge === "kernel" || !("id" in session) || !this.#touchedAt.has(session.id)) return false;
    const isUnproven = this.#world.kernel.nowMs - sentAtMs > 1.2 * proofWithinMs + 40;
    if (isUnproven) this.#world.counts.unprovenKeeps++;
    return isUnproven;
  }

  /** Where keeps may be weak, a keep without a wish for proof is answered by a server that may have been replaced as judge: the judge may never hear of it. */
  #keepAsWished({ session, holds, wish = {} }: Extract<Request, { method: "keep" }>): Kept {
    if (this.#spec.weakKeeps !== true) return this.#keep(session, holds);
    if (wish.part === true) this.#world.counts.partKeeps++;
    const isUnheard = wish.proof === false && !this.#isCalm && nextChance(this.#world.rng, 0.5);
    const shelf = isUnheard ? this.#shelf.copy() : undefined;
    const kept = asWished(shelf?.keep(session, holds, this.#now()) ?? this.#keep(session, holds), wish);
    return this.#witnesses.attest(kept, !isUnheard);
  }

  #keep(session: Session | SessionSpec, holds: readonly Hold[]): Kept {
    const id = "id" in session ? session.id : session.nonce;
    const touchedAt = "id" in session ? this.#touchedAt.get(id) : undefined;
    this.#touchedAt.set(id, this.#now());
    const heardAt = this.#roads.hear(id, touchedAt, this.#heardAt(), this.#isCalm);
    const unsure = this.#isCalm ? [] : holds.filter(() => nextChance(this.#world.rng, this.#spec.unsureChance));
    if (unsure.length === 0)
      return this.requests.shown(this.#shelf.keep(session, holds, heardAt), holds, this.#domain.name);
    this.#world.counts.unsureKeeps++;
    const sure = holds.filter((hold) => !unsure.includes(hold));
    const kept = this.#shelf.keep(session, sure, heardAt);
    if (kept.kind !== "kept") return kept;
    return { ...kept, unsure, strays: kept.strays.filter((stray) => !unsure.some(({ bid }) => bid === stray.bid)) };
  }

  #claim(claim: Claim): Claimed {
    const seat = this.#isQuiet(claim.name)
      ? this.#seen(this.#shelf.look({ name: claim.name }, this.#now()))
      : undefined;
    if (seat?.state === "missing") {
      this.#world.counts.lockDelays++;
      return { kind: "beaten", seat };
    }
    if (this.#shelf.isBanned(claim.session.id)) this.#world.counts.bannedClaims++;
    const claimed = this.#witnesses.confirm(claim, this.#domain.put(this.#shelf.claim(claim, this.#heardAt())));
    this.#sessionOf.set(claim.bid, claim.session.id);
    if (claimed.kind === "granted" && claimed.hold.token !== undefined) this.#grant(claim, claimed.hold.token);
    const isTokenless = !this.#spec.isFenced && (claimed.kind === "granted" || claimed.kind === "waiting");
    return isTokenless ? { ...claimed, hold: { name: claim.name, bid: claim.bid } } : claimed;
  }

  #grant(claim: Claim, token: Token): void {
    const key = `${claim.name} ${token.bid}`;
    if (this.#tokens.get(key)?.value === token.value) return;
    if (this.#domain.hasMoved && this.#spec.shape === "line") this.#world.counts.movedLineGrants++;
    this.#quietUntil.delete(claim.name);
    this.#tokens.set(key, token);
    this.requests.granted(claim.name, token);
    this.#world.observe({ type: "granted", atMs: this.#world.kernel.nowMs, election: claim.name, token });
    if (this.#spec.shape === "race") this.#audience.tell([claim.name]);
  }

  #isQuiet(name: Name): boolean {
    return (this.#quietUntil.get(name) ?? -Infinity) > this.#now();
  }

  /** Adds to a seat what this store shows beyond its shelf. */
  #seen(seat: Seat): Seat {
    const { judge, isFenced, lockDelayMs } = this.#spec;
    if (seat.state === "vacant" && this.#isQuiet(seat.name)) return { ...seat, state: "missing", ttlMs: lockDelayMs };
    const { holder } = seat;
    if (holder === undefined) return seat;
    const shown = {
      ...holder,
      token: isFenced ? holder.token : undefined,
      domain: isFenced ? this.#domain.name : undefined,
    };
    const session = this.#sessionOf.get(holder.bid ?? "") ?? "";
    if (judge !== "kernel" || seat.state !== "held") return { ...seat, holder: shown };
    if (this.#dead.has(this.#ownerOf.get(session) as Who)) {
      this.#world.counts.abandonedSeats++;
      return { ...seat, holder: shown, state: "abandoned" };
    }
    this.#world.counts.heldUntilSeats++;
    return { ...seat, holder: shown, heldUntilMs: (this.#touchedAt.get(session) ?? 0) + (seat.ttlMs ?? 0) };
  }

  died(who: Who): void {
    this.#dead.add(who);
  }

  #release(will: Will): Answer {
    this.#shelf.release(will, this.#now());
    this.#audience.tell(will.endSession ? undefined : will.holds.map(({ name }) => name));
    return { kind: "released" };
  }

  #look(question: Question): Seat {
    const { rng, counts } = this.#world;
    const now = this.#now();
    const seat = this.#seen(this.#shelf.look(question, now));
    if (seat.state === "missing") counts.missingSeats++;
    if (this.#spec.staleMs === 0 || this.#isCalm) return seat;
    const copy = this.#stale.of(this.#shelf, this.#spec.staleMs, now);
    if (nextChance(rng, 0.5)) return seat;
    const stale = this.#seen(copy.look(question, now));
    if (stale.version !== seat.version || stale.place?.ahead !== seat.place?.ahead) counts.staleLooks++;
    return stale;
  }

  // ---- time --------------------------------------------------------------------------------------------------------------------------

  handle(_event: KernelEvent): void {
    this.#expiry = undefined;
    this.#expiryAtMs = Infinity;
    if (this.#paused > 0) return;
    this.#expire();
    this.#armExpiry();
  }

  /** The clock by which this store judges. */
  #now(): number {
    const { nowMs } = this.#world.kernel;
    return this.#spec.judge === "store-wall" ? this.clock.readWall(nowMs) : this.clock.read(nowMs).mono;
  }

  /** Returns the time from which the judge counts a request that has just arrived: as early as it may, half of the time. */
  #heardAt(): number {
    const [{ extraMarginMs }, { rng }] = [this.#spec, this.#world];
    if (extraMarginMs === 0) return this.#now();
    return this.#now() - (nextChance(rng, 0.5) ? extraMarginMs : nextBetween(rng, 0, extraMarginMs));
  }

  #expire(): void {
    const now = this.#now();
    if (this.#shelf.nextExpiry() > now) return;
    const freed = this.#shelf.expire(now);
    if (this.#spec.lockDelayMs > 0) for (const name of freed) this.#quietUntil.set(name, now + this.#spec.lockDelayMs);
    this.#audience.tell(freed);
  }

  #armExpiry(): void {
    const next = this.#shelf.nextExpiry();
    const isWall = this.#spec.judge === "store-wall";
    const atMs = isWall ? this.clock.trueTimeOfWall(next) : this.clock.trueTimeOf(next);
    if (atMs === this.#expiryAtMs) return;
    this.#world.kernel.cancel(this.#expiry);
    this.#expiryAtMs = atMs;
    this.#expiry = atMs === Infinity ? undefined : this.#world.kernel.schedule(atMs + AFTER_MS, this, "expiry");
  }

  watch(question: Question, who: Who): void {
    this.#audience.add(question, who);
  }

  unwatch(name: Name, who: Who): void {
    this.#audience.remove(name, who);
  }

  // ---- faults --------------------------------------------------------------------------------------------------------------------------

  pause(): void {
    this.#paused++;
  }

  resume(): void {
    if (--this.#paused > 0) return;
    for (const message of this.#waiting.splice(0)) this.#serve(message);
    this.#expire();
    this.#armExpiry();
  }

  /** The world has become calm: from now on the store has only the weaknesses that it declares. */
  calm(): void {
    this.#isCalm = true;
    this.#shelf.liftBans();
  }

  jump(byMs: number): void {
    this.clock.jumpWall(byMs);
    this.#world.counts.clockJumps++;
    if (byMs > 0) this.#meddled("jumped", undefined);
    if (this.#paused === 0) this.#expire();
    this.#armExpiry();
  }

  deleteRecord(name: Name): void {
    this.#world.counts.recordsDeleted++;
    if (this.#holdsSeveral(name)) this.#world.counts.oneHoldLostOfMany++;
    this.#meddled("record", name);
    this.#shelf.deleteRecord(name, this.#now(), nextInteger(this.#world.rng, 0, 1));
    this.#audience.tell([name]);
  }

  /** Whether the session that holds `name` holds another name too. */
  #holdsSeveral(name: Name): boolean {
    const sessionAt = (other: Name): string | undefined =>
      this.#sessionOf.get(this.#shelf.look({ name: other }, this.#now()).holder?.bid ?? "");
    const session = sessionAt(name);
    return session !== undefined && this.#elections.some((other) => other !== name && sessionAt(other) === session);
  }

  /** An operator ends the session that is first at `name`. */
  endHolder(name: Name): void {
    const bid = this.#shelf.look({ name }, this.#now()).holder?.bid;
    const session = bid === undefined ? undefined : this.#sessionOf.get(bid);
    if (session === undefined) return;
    this.#world.counts.sessionsEnded++;
    this.#meddled("session", undefined);
    this.#shelf.endSession(session);
    this.#audience.tell();
    this.#armExpiry();
  }

  forget(): void {
    const { oldest } = this.#backups;
    if (oldest === undefined) return;
    this.#world.counts.forgettings++;
    this.#meddled("forgot", undefined);
    if (this.#spec.movesDomain) this.#domain.move();
    this.#shelf = oldest.copy();
    this.#witnesses.forget();
    if (this.#paused === 0) this.#expire();
    this.#armExpiry();
  }

  /** The store knows no session and no old copy from now on. */
  replace(): void {
    this.#world.counts.replacements++;
    this.#meddled("forgot", undefined);
    this.#domain.move();
    this.#backups.clear();
    this.#stale.forget();
    this.#witnesses.forget();
    this.#quietUntil.clear();
    this.#shelf = createShelf(this.#spec, this.#world.rng);
    this.#audience.tell();
    this.#armExpiry();
  }

  #meddled(act: Meddling, election: Name | undefined): void {
    this.#world.observe({ type: "meddled", atMs: this.#world.kernel.nowMs, act, election });
  }

  // ---- the truth, for invariants -------------------------------------------------------------------------------------------------------

  stands(name: Name, bid: Token["bid"], session: string): boolean {
    const seat = this.#shelf.look({ name, bid, session: { id: session, candidate: "", ttlMs: 0 } }, this.#now());
    return this.#spec.shape === "line"
      ? (seat.place?.present ?? false)
      : seat.state === "held" && seat.holder?.bid === bid;
  }
}
