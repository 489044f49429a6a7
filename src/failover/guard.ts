// The guard beside one server. It starts the service itself, always as a replica, holds the seat `primary/NAME` while the service may be writable, and kills every process of the service before anybody else can be granted
// that seat. It is a sibling of `conclave run` (src/supervisor) and uses the same gate, cell and keeper. guard-machine.ts decides what is done; this file does it.
//
// The assumptions are those of `conclave run`. The service obeys SIGKILL, nobody else starts it (an enabled unit beside it is refused), and nobody promotes it by hand. If the machine is suspended as a whole, the keeper
// stops too: then only a device that powers the machine off is a fence.
import { setMaxListeners } from "node:events";
import type { Clock, Reading } from "../base/clock.ts";
import type { ConclaveError } from "../base/errors.ts";
import { InputQueue } from "../base/input-queue.ts";
import { requireOptions } from "../base/option-keys.ts";
import { whenAborted } from "../election/abort.ts";
import { createCandidate } from "../election/candidate.ts";
import { nodeClock } from "../election/clock.ts";
import type { Candidate, CandidateOptions, Election } from "../election/face.ts";
import { type Memo, RESERVED } from "../election/memo.ts";
import { nap } from "../election/nap.ts";
import type { Term } from "../election/term.ts";
import type { ConclaveEvent } from "../lease/events.ts";
import type { Reopenable, ShowsLife, Store } from "../stores/contract.ts";
import { witness } from "../supervisor/estate.ts";
import { type KeeperEvent, KeeperLink } from "../supervisor/keeper-link.ts";
import { type Instants, instantsOf, later, warningMs } from "../supervisor/schedule.ts";
import {
  type GuardAt,
  type GuardEffect,
  type GuardInput,
  guardOf,
  type GuardState,
  mayWrite,
  soughtBy,
  stepGuard,
} from "./guard-machine.ts";
import { endLeftovers } from "./leftovers.ts";
import { isLater } from "./memos.ts";
import { Service, type ServiceEvent } from "./service.ts";
import { formatSeated, leaderOf, parseRecord, RECORD_KEY, seatOf } from "./record-text.ts";
import type { Replication, ServerSpec } from "./replication.ts";
import { troubleOf } from "./trouble.ts";

/** Options of `Guard`. */
export interface GuardOptions {
  /** The name of the group. */
  readonly name: string;
  readonly server: ServerSpec;
  readonly command: readonly [string, ...string[]];
  readonly replication: Replication;
  readonly store: Store & Partial<Reopenable & ShowsLife>;
  readonly ttlMs: number;
  readonly handOverWithinMs: number;
  /** The service may run without a cgroup of its own. Then a process that leaves its process group and clears its environment is not found. */
  readonly withoutCgroup?: boolean | undefined;
  readonly tell: (event: GuardEvent) => void;
}

/** An event of a guard, its keeper or its service. */
export type GuardEvent =
  | ConclaveEvent
  | KeeperEvent
  | { readonly type: "guard"; readonly state: GuardAt; readonly server: string; readonly epoch: number | undefined }
  | ServiceEvent
  | { readonly type: "trouble"; readonly what: string };

const PAUSE_MS = 500;
const LOOK_EVERY_MS = 50;
const FOLLOW_EVERY_MS = 500;
/** While no seat is held, the keeper has no instant to wait for. It kills the service only if this process dies. */
const FAR_MS = 10 * 365 * 24 * 3600 * 1000;

/** The implementation of `conclave failover guard`. */
export class Guard {
  readonly #options: GuardOptions;
  readonly #clock: Clock = nodeClock();
  readonly #drainMs: number;
  readonly #candidate: Candidate;
  readonly #seat: Election;
  readonly #records: Election;
  readonly #keeper: KeeperLink;
  readonly #service: Service;
  readonly #stopping = new AbortController();
  readonly #inputs = new InputQueue<GuardInput>((input) => this.#step(input));
  #state: GuardState;
  #failure: ConclaveError | undefined;
  #term: Term | undefined;
  #standing: AbortController | undefined;
  #latest: Memo | undefined;
  /** The server that the service was not yet told to follow, or has not yet confirmed to follow. */
  #untold: string | undefined;
  /** The last report about a service that does not follow, because the same report is made only once. */
  #said: string | undefined;
  /** Aborted when there may be something new to tell the service. */
  #hasNews = new AbortController();

  /** Throws CONFIG_INVALID, STORE_UNSUPPORTED. Nothing is started yet. */
  constructor(options: GuardOptions) {
    requireOptions("Guard", options, {
      name: "string",
      server: "object",
      command: "object",
      replication: "object",
      store: "store",
      ttlMs: "number",
      handOverWithinMs: "number",
      tell: "function",
    });
    this.#options = options;
    setMaxListeners(0, this.#stopping.signal);
    const { name, server, store, ttlMs, tell } = options;
    this.#state = guardOf(server.name);
    this.#drainMs = Math.floor(ttlMs / 5);
    const seen = witness(store, () => this.#leaveEstate());
    this.#estate = (url) => seen.estate(url);
    const candidateOptions = { store: seen.store, ttlMs, drainMs: warningMs(this.#drainMs), id: server.name };
    this.#candidate = createCandidate(candidateOptions as unknown as CandidateOptions<Store>) as Candidate;
    this.#candidate.subscribe((event) => {
      if (event.type === "renewed") this.#extend();
      tell(event);
    });
    this.#seat = this.#candidate.election(seatOf(name));
    this.#records = this.#candidate.election(leaderOf(name));
    const patienceMs = Math.min(10_000, Math.max(2000, ttlMs / 3));
    this.#keeper = new KeeperLink({ election: seatOf(name), life: undefined, patienceMs, tell });
    this.#service = new Service({
      ...options,
      clock: this.#clock,
      keeper: this.#keeper,
      drainMs: this.#drainMs,
      stopping: this.#stopping.signal,
      instants: () => this.#instants(),
      term: () => this.#term,
      started: (life) => this.#inputs.put({ type: "started", life }),
      emptied: (life) => this.#emptied(life),
      failed: (error) => {
        this.#failure = error;
        this.#stopping.abort();
      },
      trouble: (what, error) => this.#trouble(what, error),
    });
  }

  readonly #estate: ReturnType<typeof witness>["estate"];

  get at(): GuardAt {
    return this.#state.at;
  }

  /** True if the service takes writes, and the seat is held by the clock. */
  get isPrimary(): boolean {
    return this.#state.at === "primary" && this.#term?.isLeading() === true;
  }

  /** Runs until `signal` aborts. Then the service is stopped, and only after that the seat is given back. */
  async run(signal: AbortSignal): Promise<void> {
    this.#keeper.start();
    try {
      const { name, server } = this.#options;
      const left = await endLeftovers(name, server.name, signal);
      if (left.length > 0) this.#options.tell({ type: "service", state: "leftovers", pids: left });
      await this.#readOnce(signal);
      void this.#watchRecord();
      void this.#watchFollowing();
      this.#inputs.put({ type: "begin" });
      await whenAborted(AbortSignal.any([signal, this.#stopping.signal]));
      if (this.#failure !== undefined) throw this.#failure;
    } finally {
      this.#stopping.abort();
      await this.#service.stop();
      this.#standing?.abort();
      await this.#candidate.close();
      await this.#keeper.end();
    }
  }

  // ---- the record

  /** Reads the record before the first start, so that the service follows the right server from its start. If the store does not answer, the service follows nobody. */
  async #readOnce(signal: AbortSignal): Promise<void> {
    try {
      this.#note(await this.#records.memo(RESERVED + RECORD_KEY, { signal }));
    } catch (error) {
      this.#trouble("the record could not be read", error);
    }
  }

  async #watchRecord(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted)
      try {
        for await (const memo of this.#records.observeMemo(RESERVED + RECORD_KEY, { signal }))
          if (this.#note(memo)) this.#inputs.put({ type: "record", record: this.#state.record });
        return;
      } catch (error) {
        this.#trouble("the record could not be watched", error);
        await nap(PAUSE_MS, signal);
      }
  }

  /** An older record is never shown after a newer one. */
  #note(memo: Memo | undefined): boolean {
    if (memo === undefined || !isLater(memo, this.#latest)) return false;
    const record = parseRecord(memo.value);
    this.#latest = memo;
    this.#state = { ...this.#state, record };
    return true;
  }

  /** Tells the replica which server to follow, one command at a time, when that has changed. It repeats this from time to time while the replica does not follow. */
  async #watchFollowing(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#hasNews = new AbortController();
      await this.#followOnce();
      await nap(FOLLOW_EVERY_MS, AbortSignal.any([signal, this.#hasNews.signal]));
    }
  }

  async #followOnce(): Promise<void> {
    if (this.#state.at === "starting") return await this.#seek();
    const { at, follows, life } = this.#state;
    const primary = follows === undefined ? undefined : this.#options.replication.servers[follows];
    const { link } = this.#service;
    if (at !== "replica" || primary === undefined || link === undefined) return;
    if (this.#untold !== primary.name && (await link.isFollowing(primary))) return;
    // SAFETY: meanwhile the service may have become the primary, or follows another server. The command is sent without a pause after this look, and a promotion goes over the same connection after it.
    if (this.#state.at !== "replica" || this.#state.follows !== primary.name || this.#service.link !== link) return;
    const outcome = await link.follow(primary);
    const isNew = this.#untold === primary.name && this.#state.follows === primary.name;
    if (outcome === "done" && isNew) this.#untold = undefined;
    if (outcome === "parted") this.#inputs.put({ type: "parted", life, primary: primary.name });
    const said = outcome === "done" ? undefined : `the service does not follow ${primary.name} yet (${outcome})`;
    if (said !== undefined && said !== this.#said) this.#trouble(said);
    this.#said = said;
  }

  async #seek(): Promise<void> {
    const name = soughtBy(this.#state);
    const primary = name === undefined ? undefined : this.#options.replication.servers[name];
    if (primary === undefined) return;
    try {
      // SAFETY: a service that answers is told by its connection, and may be promoted.
      await this.#service.seek(primary, () => soughtBy(this.#state) === name);
    } catch (error) {
      this.#trouble(`the service could not be told to get the rest from ${primary.name}`, error);
    }
  }

  // ---- the machine

  #step(input: GuardInput): void {
    const before = this.#state.at;
    const { state, effects } = stepGuard(this.#state, input, { isLeading: this.#term?.isLeading() === true });
    this.#state = state;
    if (before !== state.at) {
      this.#options.tell({ type: "guard", state: state.at, server: state.server, epoch: state.record?.epoch });
      this.#hasNews.abort();
    }
    for (const effect of effects) this.#carryOut(effect);
  }

  #carryOut(effect: GuardEffect): void {
    switch (effect.type) {
      case "start":
        return void this.#service.start(effect.follows, effect.life, effect.mends);
      case "kill":
        return void this.#service.end(effect.life);
      case "stop":
        return void this.#service.endGently(effect.life);
      case "stand":
        return void this.#stand();
      case "resign":
        return void this.#resign();
      case "reread":
        return void this.#reread();
      case "promote":
        return void this.#promote();
      case "announce":
        return this.#announce(effect.epoch);
      case "follow":
        this.#untold = effect.primary;
        return this.#hasNews.abort();
      case "retire":
        return void this.#retire(effect.to);
      case "unretire":
        return void this.#service.link?.unretire();
    }
  }

  /** The seat of a lost term is given back only now, when the service is gone. */
  #emptied(life: number): void {
    this.#inputs.put({ type: "emptied", life });
    if (this.#term?.signal.aborted === true) void this.#resign();
  }

  // ---- the seat

  async #stand(): Promise<void> {
    const standing = new AbortController();
    this.#standing = standing;
    try {
      const term = await this.#seat.campaign({ signal: standing.signal });
      this.#term = term;
      this.#inputs.put({ type: "seat-granted" });
      const ended = (): void => this.#seatEnded(term);
      term.signal.addEventListener("abort", ended, { once: true });
      if (term.signal.aborted) ended();
    } catch (error) {
      if (!standing.signal.aborted) this.#trouble("the seat could not be asked for", error);
      await nap(standing.signal.aborted ? 0 : PAUSE_MS, this.#stopping.signal);
      this.#inputs.put({ type: "seat-ended" });
    }
  }

  #seatEnded(term: Term): void {
    if (this.#term !== term) return;
    const isHarmless = !mayWrite(this.#state);
    this.#inputs.put({ type: "seat-ended" });
    if (isHarmless) void this.#resign();
  }

  /** SAFETY: the machine asks for this only when the service can no longer write. The keeper then has no instant to wait for. */
  async #resign(): Promise<void> {
    const term = this.#term;
    this.#standing?.abort();
    if (term === undefined) return; // #stand, which asks for the seat, hears that it was given up
    this.#term = undefined;
    await term.resign().catch(() => {}); // if this fails, the term expires
    this.#inputs.put({ type: "seat-ended" });
    if (this.#term === undefined && this.#service.child !== undefined)
      void this.#keeper.guard(this.#service.child.cell, this.#instants());
  }

  async #reread(): Promise<void> {
    try {
      this.#note(await this.#records.memo(RESERVED + RECORD_KEY));
      this.#inputs.put({ type: "reread", record: this.#state.record });
    } catch (error) {
      this.#trouble("the record could not be read", error);
      await nap(LOOK_EVERY_MS, this.#stopping.signal);
      this.#inputs.put({ type: "unread" });
    }
  }

  /** SAFETY: the keeper has confirmed that it knows when the service must be gone, and after that the seat is still held by the clock. This is the last look before the service can be writable. */
  async #promote(): Promise<void> {
    const { child, link } = this.#service;
    const term = this.#term;
    if (child === undefined || link === undefined || term === undefined)
      return this.#inputs.put({ type: "promoted", outcome: "not-done" });
    const life = await this.#options.store.lifeDescriptor?.();
    await Promise.race([this.#keeper.guard(child.cell, this.#instants()), term.ended]);
    const { record } = this.#state;
    const standbys = record?.sync?.sets.find(({ primary }) => primary === this.#options.server.name);
    const promotion = { generation: record?.generation ?? 0, standbys };
    const outcome = term.isLeading() && life === this.#service.life ? await link.promote(promotion) : "not-done";
    this.#inputs.put({ type: "promoted", outcome });
  }

  #announce(epoch: number): void {
    const value = formatSeated({ server: this.#options.server.name, epoch });
    void this.#term?.announce(value).catch((error: unknown) => this.#trouble("the seat could not be announced", error));
  }

  async #retire(to: string): Promise<void> {
    const spec = this.#options.replication.servers[to];
    const outcome = await this.#service.retire(spec, this.#options.handOverWithinMs / 2);
    // As long as the record asks for the hand-over it is tried again, but not at once.
    const isAsked = this.#state.record?.step.at === "handing-over";
    if (outcome === "not-done" && isAsked) await nap(PAUSE_MS, this.#stopping.signal);
    this.#inputs.put({ type: "retired", outcome });
  }

  // ---- the keeper

  #instants(): Instants {
    const now: Reading = this.#clock.now();
    if (this.#term !== undefined) return instantsOf(now, this.#term.remainingMs(), this.#drainMs);
    const far = later(now, FAR_MS);
    return { termAt: far, killAt: far, deadline: far };
  }

  #extend(): void {
    if (this.#term !== undefined && this.#service.child !== undefined) this.#keeper.extend(this.#instants(), true);
  }

  #leaveEstate(): void {
    const { url } = this.#options.store;
    if (url !== undefined) this.#keeper.leaveEstate(this.#estate(url));
  }

  #trouble(what: string, error?: unknown): void {
    if (!this.#stopping.signal.aborted) this.#options.tell(troubleOf(what, error));
  }
}
