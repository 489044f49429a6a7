// One term of a guarded election: carries out what machine.ts asks for, and tells it the results. It decides only how long to pause after a store that did not answer.
//
// SAFETY: the user's work begins only by the effect `begin`. `end()` resolves only when the work has settled. The intents that this term has joined
// are noted as gone only when the shooter says that no process
// which it has started lives, and this term starts none any more.
import type { Clock, Reading, Timer } from "../base/clock.ts";
import { isConclaveError } from "../base/errors.ts";
import { InputQueue } from "../base/input-queue.ts";
import { createRng, nextFraction, type Rng } from "../base/rng.ts";
import { onAbort } from "../election/abort.ts";
import type { Election } from "../election/face.ts";
import { RESERVED, writeReservedMemo } from "../election/memo.ts";
import { nap } from "../election/nap.ts";
import { randomSeed } from "../election/nonce.ts";
import type { Term } from "../election/term.ts";
import { AWAY, mayShoot, stepStonith, wakeAtMs } from "./machine.ts";
import { formatRecord, parseRecord, RECORD_KEY } from "./record-text.ts";
import { hasStint, type Stint, type StonithRecord } from "./record.ts";
import type { Shooter } from "./shooter.ts";
import type {
  Ended,
  StonithEffect,
  StonithInput,
  StonithNews,
  StonithPlan,
  StonithSight,
  StonithState,
} from "./state.ts";

export interface GuardedTermOptions {
  readonly plan: StonithPlan;
  readonly clock: Clock;
  readonly term: Term;
  readonly election: Election;
  readonly shooter: Shooter;
  readonly lookEveryMs: number;
  /** Reads orders, notes and who else is in the line; one look at a time. */
  readonly sight: () => Promise<StonithSight>;
  /** Returns those of which nothing is left on this node. */
  readonly provedGone: (stints: readonly Stint[]) => readonly Stint[];
  /** The guarded work. */
  readonly work: () => Promise<void>;
  readonly tell: (news: StonithNews) => void;
  readonly report: (what: string, error: unknown) => void;
}

/** How a term has ended. */
export interface GuardedEnd {
  /** Its work had begun, and the record still lists this term as acting. */
  readonly isUnreleased: boolean;
  /** The intents that this term has joined, or may have joined, and for which the record may not say that its agents are gone. */
  readonly joins: readonly string[];
  /** The machine gave the term up before its work began: another term may follow. */
  readonly isGivenUp: boolean;
}

const PAUSE_MS = 100;
/** How long to wait for agents to be gone before a shot is reported. */
const GONE_WITHIN_MS = 2000;

export class GuardedTerm {
  readonly #options: GuardedTermOptions;
  readonly #me: Stint;
  readonly #rng: Rng = createRng(randomSeed());
  readonly #inputs = new InputQueue<StonithInput>(
    (input) => this.#step(input),
    () => this.#arrange(),
  );
  readonly #over = new AbortController();
  readonly #joins = new Set<string>();
  #state: StonithState = AWAY;
  #timer: Timer | undefined;
  #shot: AbortController | undefined;
  #working: Promise<void> | undefined;
  #hasBegun = false;
  #isReleased = false;
  #isGivenUp = false;

  constructor(options: GuardedTermOptions) {
    this.#options = options;
    const { plan, term } = options;
    this.#me = { node: plan.node, life: plan.life, token: String(term.token.value) };
  }

  get me(): Stint {
    return this.#me;
  }

  /** Resolves when the term is over, or its work has ended and the record says so. */
  async run(): Promise<GuardedEnd> {
    const { term } = this.#options;
    const stop = onAbort(term.signal, () => this.#ending());
    this.#inputs.put({ type: "lead", token: this.#me.token });
    if (term.signal.aborted) this.#ending();
    await this.#look();
    stop();
    this.#timer?.cancel();
    this.#shot?.abort();
    await this.#working;
    return {
      isUnreleased: this.#hasBegun && !this.#isReleased,
      joins: [...this.#joins],
      isGivenUp: this.#isGivenUp,
    };
  }

  /** Its end was asked for, or the term runs out: nothing new is begun. What has begun ends by itself, and the record is written while the term is held. */
  #ending(): void {
    this.#shot?.abort();
    if (!this.#hasBegun) this.#inputs.put({ type: "settled" });
  }

  async #look(): Promise<void> {
    const { lookEveryMs, sight, report, clock, term } = this.#options;
    while (!this.#over.signal.aborted) {
      await nap(lookEveryMs, this.#over.signal, clock);
      if (this.#over.signal.aborted) return;
      if (!term.isHeld()) this.#leave();
      else if (this.#state.at === "leading")
        try {
          this.#inputs.put({ type: "seen", sight: await sight() });
        } catch (error) {
          report("the notes and orders could not be read", error);
        }
    }
  }

  #leave(): void {
    this.#inputs.put({ type: "leave" });
    this.#shot?.abort();
    if (this.#working === undefined) this.#over.abort();
    else void this.#working.finally(() => this.#over.abort());
  }

  #step(input: StonithInput): void {
    const { plan, clock } = this.#options;
    if (this.#over.signal.aborted && input.type !== "leave") return;
    const now = { nowMs: clock.now().mono, wallMs: Math.floor(clock.wall?.() ?? 0), random: nextFraction(this.#rng) };
    const { state, effects } = stepStonith(plan, this.#state, input, now);
    this.#state = state;
    for (const effect of effects) this.#carryOut(effect);
  }

  #arrange(): void {
    this.#timer?.cancel();
    const wakeMs = wakeAtMs(this.#state);
    const { clock } = this.#options;
    if (wakeMs === Infinity || this.#over.signal.aborted) return;
    this.#timer = clock.timer(Math.max(0, wakeMs - clock.now().mono), () => this.#inputs.put({ type: "tick" }));
  }

  #carryOut(effect: StonithEffect): void {
    const { term, provedGone } = this.#options;
    switch (effect.type) {
      case "read":
        return void this.#read();
      case "write":
        return void this.#write(effect.record);
      case "ban":
        return void this.#answered("the ban could not be written", () =>
          term.ban(effect.node, effect.why.slice(0, 900)),
        );
      case "lift":
        return void this.#answered("the ban could not be lifted", () => term.lift(effect.node));
      case "end-sessions":
        return void this.#answered("the sessions of a node could not be ended", () => this.#endSessions(effect.node));
      case "look-home":
        return this.#inputs.put({ type: "home", gone: provedGone(effect.stints) });
      case "look":
        return void this.#lookAt(effect.nodes);
      case "shoot":
        return void this.#shoot(effect);
      case "stop-shot":
        return this.#shot?.abort();
      case "begin":
        return this.#begin();
      case "resign":
        this.#isGivenUp = !this.#hasBegun;
        return this.#over.abort();
      case "tell":
        return this.#options.tell(effect.news);
    }
  }

  #begin(): void {
    const { term, work } = this.#options;
    // SAFETY: the write took time. A term that is ending begins nothing.
    if (!term.isLeading()) return this.#inputs.put({ type: "settled" });
    this.#hasBegun = true;
    this.#working = work().finally(() => this.#inputs.put({ type: "settled" }));
  }

  // ---- the store

  async #read(): Promise<void> {
    const { election, sight } = this.#options;
    await this.#asked("the record could not be read", async () => {
      const memo = await election.memo(RESERVED + RECORD_KEY);
      return { type: "read", record: memo === undefined ? undefined : parseRecord(memo.value), sight: await sight() };
    });
  }

  async #write(record: StonithRecord): Promise<void> {
    for (const { id, joined } of record.intents) if (hasStint(joined, this.#me)) this.#joins.add(id);
    await this.#answered("the record could not be written", async () => {
      await writeReservedMemo(this.#options.term, RECORD_KEY, formatRecord(record));
      this.#isReleased = this.#hasBegun && !hasStint(record.acting, this.#me);
      // An intent that stands without this term in `joined` has been reported. No shot for it is under way, because the machine does not allow that.
      for (const { id, joined } of record.intents) if (!hasStint(joined, this.#me)) this.#joins.delete(id);
    });
  }

  /** A refusal delays nothing: then the sessions run out by their ttl. If the answer is unknown, the request is made again inside of the term, as for every memo. */
  async #endSessions(node: string): Promise<void> {
    const { term, report } = this.#options;
    await term.endSessionsOf(node).catch((error: unknown) => {
      if (!term.isHeld() || (isConclaveError(error) && error.code === "TERM_LOST")) throw error;
      report(`the sessions of ${node} could not be ended, and run out by their ttl`, error);
    });
  }

  async #answered(what: string, ask: () => Promise<void>): Promise<void> {
    await this.#asked(what, async () => {
      await ask();
      return { type: "written" };
    });
  }

  async #asked(what: string, ask: () => Promise<StonithInput>): Promise<void> {
    const { term, report, clock } = this.#options;
    let input: StonithInput = { type: "unanswered" };
    try {
      input = await ask();
    } catch (error) {
      if (!term.isHeld() || (isConclaveError(error) && error.code === "TERM_LOST")) return this.#leave();
      report(what, error);
      await nap(PAUSE_MS, this.#over.signal, clock);
    }
    this.#inputs.put(input);
  }

  // ---- shots

  async #lookAt(nodes: readonly string[]): Promise<void> {
    const { shooter } = this.#options;
    const looks = nodes.map(async (node) => ((await shooter.look(node, this.#over.signal)).is === "on" ? [node] : []));
    this.#inputs.put({ type: "looked", on: (await Promise.all(looks).catch(() => [])).flat() });
  }

  async #shoot({ node, intent, errand }: Extract<StonithEffect, { type: "shoot" }>): Promise<void> {
    const { shooter, term, report } = this.#options;
    const shot = new AbortController();
    this.#shot = shot;
    if (!term.isLeading()) shot.abort();
    let ended: Omit<Ended, "isGone"> = { outcome: "unknown", said: "the term is ending" };
    try {
      if (!shot.signal.aborted)
        ended = await shooter.shoot({
          node,
          mayShoot: () => this.#lastLook(intent, node, shot.signal),
          deadline: () => this.#deadline(),
          signal: shot.signal,
        });
    } catch (error) {
      report(`the shot at ${node} has failed`, error);
      ended = { outcome: "unknown", said: "the shooter has failed" };
    }
    const isGone = await this.#isGoneSoon();
    this.#inputs.put({ type: "shot", errand, outcome: ended.outcome, said: ended.said, isGone });
    if (!isGone) void shooter.whenGone().then(() => this.#inputs.put({ type: "gone", intent }));
  }

  async #isGoneSoon(): Promise<boolean> {
    const { shooter, clock } = this.#options;
    const late = new AbortController();
    const gone = shooter.whenGone().then(() => true);
    const isGone = await Promise.race([gone, nap(GONE_WITHIN_MS, late.signal, clock).then(() => false)]);
    late.abort();
    return isGone;
  }

  #deadline(): Reading {
    const { clock, term } = this.#options;
    const { mono, boot } = clock.now();
    const leftMs = term.remainingMs();
    return { mono: mono + leftMs, boot: boot + leftMs };
  }

  /** Why no agent may be started now; undefined if one may. */
  async #lastLook(intent: string, node: string, signal: AbortSignal): Promise<string | undefined> {
    const { election, term } = this.#options;
    const [memo, bans] = await Promise.all([election.memo(RESERVED + RECORD_KEY), election.bans()]);
    const record = memo === undefined ? undefined : parseRecord(memo.value);
    // SAFETY: this is read last, by the clock. A late answer permits nothing if the term has run out meanwhile.
    const isHeld = term.isLeading() && !signal.aborted;
    const look = { isHeld, record, bans: bans.map((ban) => ban.node) };
    return mayShoot(look, this.#me, intent, node)
      ? undefined
      : "the term is not held, or the intent is not open, or the ban does not stand";
  }
}
