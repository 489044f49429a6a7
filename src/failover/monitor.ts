// One monitor. It looks at every server, votes when it sees the primary down, and stands for the leadership of the monitors. While it leads, it carries out what the record says (conductor.ts).
//
// Its vote is the value of its own seat, which it holds as long as its session lives. So the vote expires with the monitor, and nobody votes in the name of a monitor that is there.
import { setMaxListeners } from "node:events";
import type { Clock } from "../base/clock.ts";
import { requireOptions } from "../base/option-keys.ts";
import { createCandidate } from "../election/candidate.ts";
import { nodeClock } from "../election/clock.ts";
import type { Candidate, CandidateOptions, Election } from "../election/face.ts";
import { type Memo, RESERVED } from "../election/memo.ts";
import { nap } from "../election/nap.ts";
import type { Term } from "../election/term.ts";
import type { ConclaveEvent } from "../lease/events.ts";
import type { Store } from "../stores/contract.ts";
import type { View, Views } from "./choice.ts";
import { Conductor } from "./conductor.ts";
import { type FailoverConfig, planOf } from "./config.ts";
import { detect, type DetectorState, isDown, UNSEEN } from "./detector.ts";
import { isLater } from "./memos.ts";
import type { Order } from "./orders.ts";
import {
  dryRunOf,
  formatVote,
  leaderOf,
  monitorOf,
  ORDER_KEY,
  ordersOf,
  parseOrder,
  parseRecord,
  parseSeated,
  parseSees,
  parseVote,
  RECORD_KEY,
  type Seated,
  seatOf,
} from "./record-text.ts";
import type { FailoverRecord } from "./record.ts";
import type { Replication, ServerLink, ServerSpec } from "./replication.ts";
import type { PowerFence } from "./stonith.ts";
import type { FailoverNews, Sight, MonitorVote } from "./state.ts";
import { troubleOf } from "./trouble.ts";

/** Options of `Monitor`. */
export interface MonitorOptions {
  readonly config: FailoverConfig;
  /** The name of this monitor in the configuration. */
  readonly monitor: string;
  readonly store: Store;
  readonly replication: Replication;
  /** Devices that power off the machine of an old primary. Its shooter is not closed with the monitor. */
  readonly fence?: PowerFence | undefined;
  /** There are no guards and no devices. Nothing is fenced, and two servers may take writes at once. */
  readonly unfenced?: boolean | undefined;
  /** It says what it would do, and changes nothing. It stands for no leadership of the group, because whoever leads has to act. */
  readonly dryRun?: boolean | undefined;
  readonly tell: (event: MonitorEvent) => void;
}

/** An event that a monitor sees or causes. */
export type MonitorEvent =
  | ConclaveEvent
  | { readonly type: "failover"; readonly monitor: string; readonly news: FailoverNews }
  | { readonly type: "vote"; readonly monitor: string; readonly primary: string; readonly isDown: boolean }
  /** Another server is the primary: it says so itself, and so does the record. */
  | { readonly type: "switched"; readonly from: string | undefined; readonly to: string; readonly epoch: number }
  | { readonly type: "trouble"; readonly what: string };

/** The implementation of `conclave failover monitor`. */
export class Monitor {
  readonly #options: MonitorOptions;
  readonly #clock: Clock = nodeClock();
  readonly #candidate: Candidate;
  readonly #stopping = new AbortController();
  readonly #links = new Map<string, ServerLink>();
  readonly #views = new Map<string, View>();
  /** By the election in which it was cast. */
  readonly #votes = new Map<string, MonitorVote>();
  /** For each monitor, the servers that answer it. */
  readonly #reports = new Map<string, readonly string[]>();
  /** For each server, when it was asked the last question that it has answered. */
  readonly #answeredAtMs = new Map<string, number>();
  #detector: DetectorState = UNSEEN;
  #record: FailoverRecord | undefined;
  #latest: Memo | undefined;
  #holder: Seated | undefined;
  #order: Order | undefined;
  #voted = "";
  #conductor: Conductor | undefined;
  #announced: string | undefined;

  constructor(options: MonitorOptions) {
    requireOptions("Monitor", options, { config: "object", store: "store", monitor: "string", tell: "function" });
    this.#options = options;
    setMaxListeners(0, this.#stopping.signal);
    const { config, store, monitor, tell } = options;
    const candidateOptions = { store, ttlMs: config.ttlMs, id: monitor };
    this.#candidate = createCandidate(candidateOptions as unknown as CandidateOptions<Store>) as Candidate;
    this.#candidate.subscribe(tell);
  }

  get record(): FailoverRecord | undefined {
    return this.#record;
  }

  get views(): Views {
    return Object.fromEntries(this.#views);
  }

  /** The server that was announced as primary: the record named it, and it said itself that it is. */
  get primary(): ServerSpec | undefined {
    return this.#announced === undefined ? undefined : this.#options.config.servers[this.#announced];
  }

  /** Runs until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { config, monitor } = this.#options;
    const stop = (): void => this.#stopping.abort();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    const until = { signal: this.#stopping.signal };
    const isDryRun = this.#options.dryRun === true;
    const own = isDryRun ? dryRunOf(config.name, monitor) : monitorOf(config.name, monitor);
    const seat = this.#candidate.election(own);
    const looks = Object.values(config.servers).map((server) => this.#look(server));
    try {
      if (!isDryRun) seat.start();
      const led = isDryRun ? seat : this.#candidate.election(leaderOf(config.name));
      const leading = led.lead((term) => this.#lead(term), until);
      await Promise.all([leading, this.#watchRecord(), this.#watchSight(), this.#voteOften(seat), ...looks]);
    } finally {
      stop();
      for (const link of this.#links.values()) link.close();
      await this.#candidate.close();
    }
  }

  // ---- looking

  async #look(server: ServerSpec): Promise<void> {
    const { signal } = this.#stopping;
    const { lookEveryMs, timeoutMs } = this.#options.config;
    while (!signal.aborted) {
      const askedAtMs = this.#clock.now().mono;
      const view = await Promise.race([this.#viewOf(server), nap(2 * timeoutMs, signal)]);
      this.#views.set(server.name, view ?? { is: "unknown" });
      if (view?.is === "up") this.#answeredAtMs.set(server.name, askedAtMs);
      if (this.#record?.primary === server.name) this.#detect(view ?? { is: "unknown" }, askedAtMs);
      this.#announce();
      this.#conductor?.poke();
      await nap(lookEveryMs, signal);
    }
  }

  async #viewOf(server: ServerSpec): Promise<View> {
    let link = this.#links.get(server.name);
    if (link?.isOpen !== true) {
      link = await this.#options.replication.connect(server).catch(() => undefined);
      if (link === undefined) return { is: "unknown" };
      this.#links.set(server.name, link);
    }
    return await link.view();
  }

  #detect(view: View, askedAtMs: number): void {
    this.#detector = detect(this.#detector, this.#record, view, askedAtMs);
  }

  async #watchRecord(): Promise<void> {
    const election = this.#candidate.election(leaderOf(this.#options.config.name));
    await this.#watch("the record", election, RECORD_KEY, (memo) => {
      if (memo === undefined || !isLater(memo, this.#latest)) return;
      this.#record = parseRecord(memo.value);
      this.#latest = memo;
      if (this.#options.dryRun === true) this.#conductor?.again();
      this.#detector = detect(this.#detector, this.#record, undefined, this.#clock.now().mono);
      this.#announce();
    });
  }

  async #watch(what: string, election: Election, key: string, hear: (memo: Memo | undefined) => void): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted)
      try {
        for await (const memo of election.observeMemo(RESERVED + key, { signal })) hear(memo);
      } catch (error) {
        this.#trouble(`${what} could not be watched`, error);
        await nap(this.#options.config.lookEveryMs, signal);
      }
  }

  /** Watches what only a leader needs. It is watched all the time, so that a new leader knows it. */
  async #watchSight(): Promise<void> {
    const { name, monitors } = this.#options.config;
    const seats = monitors.flatMap((monitor) => [
      this.#observe(monitorOf(name, monitor), (value) => {
        this.#countVote(monitorOf(name, monitor), monitor, value);
        this.#reports.set(monitor, parseSees(value));
      }),
      // A dry run counts the votes of other dry runs too, so that a group can be tried before it has live monitors.
      ...(this.#options.dryRun === true
        ? [this.#observe(dryRunOf(name, monitor), (value) => this.#countVote(dryRunOf(name, monitor), monitor, value))]
        : []),
    ]);
    const holder = this.#observe(seatOf(name), (value) => (this.#holder = parseSeated(value)));
    const orders = this.#candidate.election(ordersOf(name));
    const order = this.#watch("orders", orders, ORDER_KEY, (memo) => (this.#order = parseOrder(memo?.value)));
    await Promise.all([...seats, holder, order]);
  }

  #countVote(election: string, monitor: string, value: string | undefined): void {
    const vote = parseVote(monitor, value);
    if (vote === undefined) this.#votes.delete(election);
    else this.#votes.set(election, vote);
  }

  async #observe(name: string, hear: (value: string | undefined) => void): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted)
      try {
        for await (const leader of this.#candidate.election(name).observe({ signal })) {
          hear(leader?.value);
          this.#conductor?.poke();
        }
      } catch (error) {
        hear(undefined);
        this.#trouble(`"${name}" could not be watched`, error);
        await nap(this.#options.config.lookEveryMs, signal);
      }
  }

  // ---- voting

  async #voteOften(seat: Election): Promise<void> {
    const { signal } = this.#stopping;
    const { downAfterMs, lookEveryMs } = this.#options.config;
    while (!signal.aborted) {
      const { primary, epoch } = this.#detector;
      const isVoting = isDown(this.#detector, downAfterMs, this.#clock.now().mono);
      const vote = isVoting && primary !== undefined ? { primary, epoch } : undefined;
      await this.#say(seat, formatVote(vote, this.#sees()), primary ?? "", isVoting);
      await nap(Math.min(lookEveryMs, downAfterMs / 4), signal);
    }
  }

  /** A server that misses one look is still counted, so that the seat is not written anew at every look. */
  #sees(): readonly string[] {
    const { servers, downAfterMs } = this.#options.config;
    const sinceMs = this.#clock.now().mono - downAfterMs;
    return Object.keys(servers).filter((server) => (this.#answeredAtMs.get(server) ?? -Infinity) > sinceMs);
  }

  async #say(seat: Election, text: string, primary: string, isVoting: boolean): Promise<void> {
    const term = seat.term();
    const said = `${term === undefined ? "" : String(term.token.value)} ${text}`;
    if (term === undefined || said === this.#voted) return;
    try {
      await term.announce(text);
      const isNews = isVoting !== this.#voted.includes('"primary":');
      this.#voted = said;
      if (isNews) this.#options.tell({ type: "vote", monitor: this.#options.monitor, primary, isDown: isVoting });
    } catch (error) {
      this.#trouble("the vote could not be cast", error);
    }
  }

  // ---- leading

  async #lead(term: Term): Promise<void> {
    const { config, monitor, replication, fence, unfenced, dryRun, tell } = this.#options;
    const plan = planOf(config, {
      hasGuards: config.hasGuards && unfenced !== true,
      shots: fence?.rules,
      isDryRun: dryRun === true,
    });
    const conductor = new Conductor({
      plan,
      clock: this.#clock,
      term,
      election: this.#candidate.election(leaderOf(config.name)),
      seat: this.#candidate.election(seatOf(config.name)),
      replication,
      fence,
      lookEveryMs: config.lookEveryMs,
      timeoutMs: config.timeoutMs,
      sight: () => this.#sight(),
      tell: (news) => tell({ type: "failover", monitor, news }),
      report: (what, error) => this.#trouble(what, error),
    });
    this.#conductor = conductor;
    try {
      await conductor.conduct();
    } finally {
      this.#conductor = undefined;
    }
    // This monitor pauses, so that another one becomes the leader.
    if (conductor.hasGivenUp) await nap(config.ttlMs, this.#stopping.signal);
  }

  #sight(): Sight {
    const others = [...this.#reports].filter(([monitor]) => monitor !== this.#options.monitor);
    const votes = [...this.#votes.values()];
    const askedAtMs = Object.fromEntries(this.#answeredAtMs);
    const reports = Object.fromEntries(others);
    return { views: this.views, askedAtMs, votes, holder: this.#holder, order: this.#order, reports };
  }

  /** SAFETY: clients are sent to a server only when the record names it and it says itself that it is the primary. */
  #announce(): void {
    const primary = this.#record?.primary;
    const view = primary === undefined ? undefined : this.#views.get(primary);
    if (primary === undefined || primary === this.#announced || view?.is !== "up" || view.role !== "primary") return;
    const from = this.#announced;
    this.#announced = primary;
    this.#options.tell({ type: "switched", from, to: primary, epoch: this.#record?.epoch ?? 0 });
  }

  #trouble(what: string, error: unknown): void {
    if (!this.#stopping.signal.aborted) this.#options.tell(troubleOf(what, error));
  }
}
