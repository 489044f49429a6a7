// Carries out one term of the leader of the monitors: does what machine.ts asks for, and tells it the results. It decides nothing itself, except how long to pause after the store did not answer.
//
// SAFETY: an agent that powers a machine off is started only after a last look: the record is read again and must say that this server is being fenced, and then the term must be held by the clock. The agent is killed before
// the deadline of this term (src/stonith/runner.ts). A server is told to follow another one only after a last look of the same kind (strays.ts).
import type { Clock, Reading, Timer } from "../base/clock.ts";
import { isConclaveError } from "../base/errors.ts";
import { InputQueue } from "../base/input-queue.ts";
import type { Election } from "../election/face.ts";
import { RESERVED, writeReservedMemo } from "../election/memo.ts";
import { nap } from "../election/nap.ts";
import type { Term } from "../election/term.ts";
import type { View } from "./choice.ts";
import { AWAY, stepFailover, wakeAtMs } from "./machine.ts";
import { formatRecord, parseRecord, RECORD_KEY } from "./record-text.ts";
import type { FailoverRecord } from "./record.ts";
import type { GuardOutcome } from "./guard-machine.ts";
import type { Promotion, Replication, ServerLink, ServerSpec } from "./replication.ts";
import { mayShoot } from "./shots.ts";
import type { PowerFence } from "./stonith.ts";
import { mayTakeBack } from "./strays.ts";
import type { FailoverEffect, FailoverInput, FailoverNews, FailoverPlan, FailoverState, Sight } from "./state.ts";

export interface ConductorOptions {
  readonly plan: FailoverPlan;
  readonly clock: Clock;
  readonly term: Term;
  /** The election `failover/NAME`. Its memo is the record. */
  readonly election: Election;
  /** The election `primary/NAME`. */
  readonly seat: Election;
  readonly replication: Replication;
  readonly fence: PowerFence | undefined;
  readonly lookEveryMs: number;
  readonly timeoutMs: number;
  /** Returns what is seen now. */
  readonly sight: () => Sight;
  readonly tell: (news: FailoverNews) => void;
  readonly report: (what: string, error: unknown) => void;
}

const PAUSE_MS = 100;
/** A stray that does not obey is told again after so many looks. */
const PAUSE_LOOKS = 4;

export class Conductor {
  readonly #options: ConductorOptions;
  readonly #inputs = new InputQueue<FailoverInput>(
    (input) => this.#step(input),
    () => this.#arrange(),
  );
  /** Connections over which servers were surveyed: without guards, a promotion goes to the very process that was looked at. */
  readonly #links = new Map<string, ServerLink>();
  #state: FailoverState = AWAY;
  #timer: Timer | undefined;
  #standing: AbortController | undefined;
  #seatTerm: Term | undefined;
  #isWriting = false;
  #shot: AbortController | undefined;
  /** Servers that are being told whom to follow. */
  readonly #following = new Set<string>();
  /** Servers of which a human was told that they cannot follow, and whom. */
  readonly #vain = new Map<string, string>();
  /** True if the term was given up, so that another monitor may lead. */
  hasGivenUp = false;

  constructor(options: ConductorOptions) {
    this.#options = options;
  }

  /** Resolves when the term's signal has aborted and nothing of the term is under way. */
  async conduct(): Promise<void> {
    const { term, lookEveryMs } = this.#options;
    this.#inputs.put({ type: "lead" });
    while (!term.signal.aborted) {
      await nap(lookEveryMs, term.signal);
      if (term.isLeading() && this.#state.at === "acting")
        this.#inputs.put({ type: "seen", sight: this.#options.sight() });
    }
    this.#inputs.put({ type: "leave" });
    this.#shot?.abort();
    this.#timer?.cancel();
    for (const link of this.#links.values()) link.close();
    await this.#giveSeat();
  }

  /** Another monitor has written a record, so a dry run begins anew with it. */
  again(): void {
    this.#inputs.put({ type: "lead" });
  }

  /** Something has changed, so the machine looks now rather than at the next turn. */
  poke(): void {
    if (this.#options.term.isLeading() && this.#state.at === "acting")
      this.#inputs.put({ type: "seen", sight: this.#options.sight() });
  }

  #step(input: FailoverInput): void {
    const { plan, clock, term } = this.#options;
    if (input.type !== "leave" && !term.isLeading()) return;
    const now = { nowMs: clock.now().mono, wallMs: Math.floor(clock.wall?.() ?? 0) };
    const { state, effects } = stepFailover(plan, this.#state, input, now);
    this.#state = state;
    if (stepOf(state) !== "fencing") this.#shot?.abort();
    for (const effect of effects) this.#carryOut(effect);
  }

  #arrange(): void {
    this.#timer?.cancel();
    const wakeMs = wakeAtMs(this.#state);
    const { clock, term } = this.#options;
    if (wakeMs === Infinity || term.signal.aborted) return;
    const leftMs = Math.max(0, wakeMs - clock.now().mono);
    this.#timer = clock.timer(leftMs, () => this.#inputs.put({ type: "tick" }));
  }

  #carryOut(effect: FailoverEffect): void {
    switch (effect.type) {
      case "read":
        return void this.#read();
      case "write":
        return void this.#write(effect.record);
      case "take-seat":
        return void this.#takeSeat(effect.errand);
      case "give-seat":
        return void this.#giveSeat();
      case "fence":
        return void this.#fence(effect.server, effect.errand);
      case "survey":
        return void this.#survey(effect.errand);
      case "promote":
        return void this.#promote(effect.server);
      case "hand-over":
        return void this.#handOver(effect.from, effect.to);
      case "follow":
        return void this.#follow(effect.server, effect.primary);
      case "resign":
        this.hasGivenUp = true;
        return void this.#options.term.resign().catch(() => {}); // if this fails, the term expires
      case "tell":
        return this.#options.tell(effect.news);
    }
  }

  // ---- the record

  async #read(): Promise<void> {
    await this.#answered("the record could not be read", async () => {
      const memo = await this.#options.election.memo(RESERVED + RECORD_KEY);
      return { type: "read", record: memo === undefined ? undefined : parseRecord(memo.value) };
    });
  }

  /** Writes one record at a time. The term itself sends an unanswered write again. */
  async #write(record: FailoverRecord): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    await this.#answered("the record could not be written", async () => {
      await writeReservedMemo(this.#options.term, RECORD_KEY, formatRecord(record));
      return { type: "written" };
    });
  }

  async #answered(what: string, ask: () => Promise<FailoverInput>): Promise<void> {
    const { term, report } = this.#options;
    let input: FailoverInput = { type: "unanswered" };
    try {
      input = await ask();
    } catch (error) {
      if (term.signal.aborted || (isConclaveError(error) && error.code === "TERM_LOST")) return;
      report(what, error);
      await nap(PAUSE_MS, term.signal);
    }
    this.#isWriting = false;
    this.#inputs.put(input);
  }

  // ---- the seat, and the device

  async #takeSeat(errand: number): Promise<void> {
    await this.#giveSeat();
    const standing = new AbortController();
    this.#standing = standing;
    while (!standing.signal.aborted && !this.#options.term.signal.aborted)
      try {
        const term = await this.#options.seat.campaign({ signal: standing.signal });
        this.#seatTerm = term;
        if (standing.signal.aborted) return await this.#giveSeat();
        return this.#inputs.put({ type: "seat-taken", errand });
      } catch (error) {
        if (standing.signal.aborted) return;
        this.#options.report("the seat could not be asked for", error);
        await nap(PAUSE_MS, standing.signal);
      }
  }

  async #giveSeat(): Promise<void> {
    this.#standing?.abort();
    const term = this.#seatTerm;
    this.#seatTerm = undefined;
    await term?.resign().catch(() => {}); // if this fails, the term expires
  }

  async #fence(server: string, errand: number): Promise<void> {
    const { fence, term } = this.#options;
    const epoch = this.#state.at === "acting" ? this.#state.record.epoch : -1;
    const shot = new AbortController();
    this.#shot = shot;
    const report = await fence?.shooter.shoot({
      node: fence.rules.nodes[server] ?? server,
      mayShoot: () => this.#lastLook(server, epoch),
      deadline: () => this.#deadline(),
      signal: AbortSignal.any([shot.signal, term.signal]),
    });
    const { outcome, said } = report ?? { outcome: "failed", said: "there is no device" };
    this.#inputs.put({ type: "fenced", errand, outcome: outcome === "off" ? "verified" : outcome, said });
  }

  /** Says why no agent may be started now, or undefined if one may. */
  async #lastLook(server: string, epoch: number): Promise<string | undefined> {
    const { election, term } = this.#options;
    const memo = await election.memo(RESERVED + RECORD_KEY);
    const isWanted = mayShoot(memo === undefined ? undefined : parseRecord(memo.value), server, epoch);
    // SAFETY: the term is asked last, by the clock. An answer of the store that came late is worth nothing if the term has expired meanwhile.
    if (isWanted && term.isLeading()) return undefined;
    return `the term is not held, or ${server} is not being fenced any more`;
  }

  #deadline(): Reading {
    const { clock, term } = this.#options;
    const { mono, boot } = clock.now();
    const leftMs = term.remainingMs();
    return { mono: mono + leftMs, boot: boot + leftMs };
  }

  // ---- servers

  /** Asks every server, over connections that are opened now. */
  async #survey(errand: number): Promise<void> {
    const { replication, timeoutMs } = this.#options;
    const views: Record<string, View> = {};
    const looks = Object.values(replication.servers).map(async (server) => {
      this.#links.get(server.name)?.close();
      this.#links.delete(server.name);
      const link = await replication.connect(server).catch(() => undefined);
      if (link === undefined) return;
      this.#links.set(server.name, link);
      views[server.name] = await link.view();
    });
    const late = new AbortController();
    await Promise.race([Promise.all(looks), nap(3 * timeoutMs, late.signal)]);
    late.abort();
    this.#inputs.put({ type: "surveyed", errand, views: { ...views } });
  }

  async #promote(server: string): Promise<void> {
    const link = this.#links.get(server) ?? (await this.#connect(server));
    if (this.#options.term.isLeading()) await link?.promote(this.#promotion(server));
  }

  #promotion(server: string): Promotion {
    const record = this.#state.at === "acting" ? this.#state.record : undefined;
    return {
      generation: record?.generation ?? 0,
      standbys: record?.sync?.sets.find(({ primary }) => primary === server),
    };
  }

  async #handOver(from: string, to: string): Promise<void> {
    const target = this.#options.replication.servers[to];
    const [old, next] = [await this.#connect(from), await this.#connect(to)];
    if (target === undefined || old === undefined) return;
    const outcome = await old.retire(target, this.#options.plan.handOverWithinMs / 2);
    if (outcome === "done" && this.#options.term.isLeading()) await next?.promote(this.#promotion(to));
    old.close();
    next?.close();
  }

  /** One at a time for each server: it may take longer than the next look, which asks for it again. */
  async #follow(server: string, primary: string): Promise<void> {
    const { plan, lookEveryMs, term } = this.#options;
    const spec = this.#options.replication.servers[primary];
    if (spec === undefined || this.#following.has(server)) return;
    this.#following.add(server);
    const link = await this.#connect(server);
    const outcome = link && (await this.#takeBack(link, server, spec).catch(() => undefined));
    link?.close();
    if (plan.hasGuards && outcome !== "done") await nap(PAUSE_LOOKS * lookEveryMs, term.signal);
    this.#following.delete(server);
    this.#reportVain(server, primary, outcome);
  }

  /** SAFETY: the order of these questions is the argument of strays.ts. The last of them is put to the clock, and the order is sent over the connection on which the server has answered. */
  async #takeBack(link: ServerLink, server: string, primary: ServerSpec): Promise<GuardOutcome | "parted" | undefined> {
    const { plan, election, term } = this.#options;
    const view = await link.view();
    if (plan.hasGuards && (view.is !== "up" || view.role !== "primary")) return "done";
    const memo = await election.memo(RESERVED + RECORD_KEY);
    const record = memo === undefined ? undefined : parseRecord(memo.value);
    if (!mayTakeBack(plan, record, server, primary.name) || !term.isLeading()) return undefined;
    return await link.follow(primary);
  }

  /** Once for each server and primary. */
  #reportVain(server: string, primary: string, outcome: GuardOutcome | "parted" | undefined): void {
    if (outcome === "done") return void this.#vain.delete(server);
    const why = outcome === undefined ? undefined : this.#whyVain(server, primary, outcome);
    if (why === undefined || this.#vain.get(server) === primary) return;
    this.#vain.set(server, primary);
    this.#options.report(why, undefined);
  }

  #whyVain(server: string, primary: string, outcome: GuardOutcome | "parted"): string | undefined {
    if (outcome === "parted")
      return `${server} has what ${primary} does not have, and cannot follow it. Take it back with pg_rewind, or make it anew with pg_basebackup`;
    if (!this.#options.plan.hasGuards || outcome !== "not-done") return undefined;
    return `${server} takes writes beside ${primary}, and cannot be made a replica from here: end it on its host, so that its guard starts it as a replica`;
  }

  async #connect(server: string): Promise<ServerLink | undefined> {
    const spec = this.#options.replication.servers[server];
    return spec === undefined ? undefined : await this.#options.replication.connect(spec).catch(() => undefined);
  }
}

function stepOf(state: FailoverState): FailoverRecord["step"]["at"] | undefined {
  return state.at === "acting" || state.at === "writing" ? state.record.step.at : undefined;
}
