// A guarded election: for work on a resource that compares no token. Its next leader begins only when the machine of the last one is off for certain,
// or the work of the last one has certainly ended (machine.ts
// says when that is, and why). It is used like `elect(…).lead(work)`, with a node, a configuration and devices.
import type { Clock } from "../base/clock.ts";
import { invalidConfig } from "../base/errors.ts";
import { requireOptions } from "../base/option-keys.ts";
import { show } from "../base/show.ts";
import { createCandidate } from "../election/candidate.ts";
import { nodeClock } from "../election/clock.ts";
import type { Candidate, CandidateOptions, Election, LeadOptions } from "../election/face.ts";
import { RESERVED } from "../election/memo.ts";
import { nap } from "../election/nap.ts";
import type { Term } from "../election/term.ts";
import type { ConclaveEvent } from "../lease/events.ts";
import type { Store } from "../stores/contract.ts";
import { admitNode, refusalOfStore } from "./admission.ts";
import { type StonithConfig, stonithPlanOf } from "./config.ts";
import { FedWatchdog, type WatchdogFound, type WatchdogPlaces } from "./devices/watchdog.ts";
import { GuardedTerm } from "./guarded-term.ts";
import { isLifeOver, ownHome, ownLife, type ProcessHome } from "./life.ts";
import { Notebook } from "./notebook.ts";
import {
  NOTES_KEY,
  notesOf,
  ORDER_KEY,
  ordersOf,
  parseNotes,
  parseOrder,
  parseRecord,
  RECORD_KEY,
} from "./record-text.ts";
import { NO_RECORD, type Stint } from "./record.ts";
import type { Shooter } from "./shooter.ts";
import { isStranger, strangersIn } from "./strangers.ts";
import type { Notes, StonithNews, StonithPlan, StonithSight } from "./state.ts";

/** Options of `guardedElection`. */
export interface GuardedOptions {
  /** The result of `loadStonithConfig`: the same on every node. */
  readonly config: StonithConfig;
  /** Which of the configured nodes this is. */
  readonly node: string | { readonly name: string; readonly machine?: string | undefined };
  readonly store: Store;
  /** The result of `openRunner`. It is closed with the election. */
  readonly shooter: Shooter;
  /** The guarded work starts no other processes: then nothing of it is left when its process is dead. @default false */
  readonly noChildren?: boolean | undefined;
  /** Shoots through a store that may forget a ban. For tests only: the loss of one server may let two nodes act. @default false */
  readonly storeWithoutQuorum?: "only for tests" | undefined;
  readonly tell?: ((event: GuardedEvent) => void) | undefined;
  /** How often notes and orders are read. @default 1000 */
  readonly lookEveryMs?: number | undefined;
}

/** How long to wait for notes that are due when the election is closed. Without them an unneeded shot may follow. */
const NOTES_WITHIN_MS = 3000;

/** What a guarded election does, beside the events of its candidate. */
export type GuardedEvent =
  | ConclaveEvent
  | { readonly type: "stonith"; readonly election: string; readonly node: string; readonly news: StonithNews }
  | { readonly type: "trouble"; readonly what: string };

/** An election whose next leader begins only when the last one is off for certain, or its work has ended. */
export class GuardedElection implements AsyncDisposable {
  readonly name: string;
  readonly node: string;
  readonly #options: GuardedOptions;
  readonly #clock: Clock = nodeClock();
  readonly #home: ProcessHome;
  readonly #life: string;
  readonly #candidate: Candidate;
  readonly #election: Election;
  readonly #closing = new AbortController();
  readonly #notebook: Notebook;
  readonly #watchdog: WatchdogFound | undefined;
  /** Terms of this process that are not over. */
  readonly #open = new Set<string>();
  readonly #foreign = new Set<string>();
  #isWatching = false;

  /** `places`: where the kernel tells of watchdogs, for a test that has none. */
  constructor(options: GuardedOptions, places: WatchdogPlaces = {}) {
    requireOptions("guardedElection", options, { config: "object", store: "store" });
    const { config, store, node } = options;
    if (typeof (typeof node === "string" ? node : (node as { readonly name?: unknown } | undefined)?.name) !== "string")
      throw invalidConfig("guardedElection", [`node ${show(node)} is neither a name nor { name, machine }`]);
    this.#options = options;
    this.name = config.election;
    this.node = typeof node === "string" ? node : node.name;
    this.#home = ownHome(typeof node === "string" ? undefined : node.machine);
    this.#life = ownLife(this.#home);
    this.#watchdog = checked(options, this.node, places);
    const candidateOptions = { store, node, ttlMs: config.ttlMs, onEvent: (event: ConclaveEvent) => this.#tell(event) };
    this.#candidate = createCandidate(candidateOptions as unknown as CandidateOptions<Store>) as Candidate;
    this.#election = this.#candidate.election(this.name);
    const report = (what: string, error: unknown): void => this.#report(what, error);
    const place = { election: this.name, node: this.node };
    this.#notebook = new Notebook(this.#candidate, place, this.#clock, this.#closing.signal, report);
  }

  /**
   * Like `election.lead`: each time this node is elected, and every node that acted before is off for certain, `work` runs once. `term.signal` says when it has to end. When it settles, nothing that it has
   * started may act any more: then the next leader begins without a shot.
   */
  async lead<R>(work: (term: Term) => Promise<R>, { signal }: LeadOptions = {}): Promise<R | undefined> {
    await this.#noteHome();
    if (!this.#isWatching) void this.#watchLine();
    this.#isWatching = true;
    const leading = async (term: Term): Promise<R | undefined> => {
      const outcome: { result?: { readonly value: R | undefined }; failure?: { readonly error: unknown } } = {};
      const run = async (): Promise<void> => {
        try {
          outcome.result = { value: await this.#watched(term, () => work(term)) };
        } catch (error) {
          outcome.failure = { error };
        }
      };
      const isGivenUp = await this.#term(term, run, false);
      if (outcome.failure !== undefined) throw outcome.failure.error;
      // The machine has given the term up: the term is treated as lost, and this node stands again.
      if (isGivenUp && !term.signal.aborted) await term.resign();
      return outcome.result?.value;
    };
    return await this.#election.lead(leading, { signal });
  }

  /** Leads only to carry out orders, such as that of `conclave stonith fence` while nobody leads, until `signal` aborts. Begins no work. */
  async obey(signal: AbortSignal): Promise<void> {
    await this.#election.lead(async (term) => void (await this.#term(term, () => Promise.resolve(), true)), { signal });
  }

  async #term(term: Term, work: () => Promise<void>, isOnlyForOrders: boolean): Promise<boolean> {
    const { shooter, lookEveryMs = 1000 } = this.#options;
    const guarded = new GuardedTerm({
      plan: this.#plan(isOnlyForOrders),
      clock: this.#clock,
      term,
      election: this.#election,
      shooter,
      lookEveryMs,
      sight: () => this.#sight(),
      provedGone: (stints) => this.#provedGone(stints),
      work,
      tell: (news) => this.#tell({ type: "stonith", election: this.name, node: this.node, news }),
      report: (what, error) => this.#report(what, error),
    });
    const { me } = guarded;
    this.#open.add(me.token);
    const { isUnreleased, joins, isGivenUp } = await guarded.run();
    if (isUnreleased) this.#notebook.note({ settled: [me], gone: [] });
    const quiet = joins.length === 0 ? Promise.resolve() : shooter.whenGone();
    void quiet.then(() => {
      this.#open.delete(me.token);
      this.#notebook.note({ settled: [], gone: joins.map((intent) => ({ ...me, intent })) });
    });
    return isGivenUp;
  }

  #plan(isOnlyForOrders: boolean): StonithPlan {
    const { config, shooter } = this.#options;
    const watchdog = this.#watchdog && { timeoutMs: this.#watchdog.timeoutMs, ttlMs: config.ttlMs };
    const plan = stonithPlanOf(config, { node: this.node, life: this.#life, watchdog, isOnlyForOrders });
    return { ...plan, devices: plan.devices.filter((node) => shooter.nodes.includes(node)) };
  }

  /**
   * SAFETY: it is armed before the work begins, fed only while the term is held, and disarmed when the work has settled. The term is asked once more when it is armed: a process that stood still before that was not reset,
   * although the record says that it has a watchdog, so that another leader may have begun.
   */
  async #watched<R>(term: Term, work: () => Promise<R>): Promise<R | undefined> {
    if (this.#watchdog === undefined) return await work();
    const fed = FedWatchdog.arm(this.#watchdog, this.#clock, () => term.isHeld());
    try {
      return term.isLeading() ? await work() : undefined;
    } finally {
      fed.disarm();
    }
  }

  // ---- what is seen

  async #sight(): Promise<StonithSight> {
    const { config } = this.#options;
    const order = await this.#candidate.election(ordersOf(this.name)).memo(RESERVED + ORDER_KEY);
    let notes: Notes = { settled: [], gone: [] };
    for (const member of Object.keys(config.nodes)) {
      const memo = await this.#candidate.election(notesOf(this.name, member)).memo(RESERVED + NOTES_KEY);
      notes = all(notes, parseNotes(memo?.value));
    }
    const waiting = await strangersIn(this.#options.store, this.name, this.#clock);
    const foreign = [...new Set([...this.#foreign, ...waiting])];
    return { notes, order: parseOrder(order?.value), foreign };
  }

  /** Leaders that are no candidates of conclave obey no ban, and do not write who acts. */
  async #watchLine(): Promise<void> {
    const { signal } = this.#closing;
    try {
      for await (const leader of this.#election.observe({ signal }))
        if (leader !== undefined && isStranger(leader)) this.#foreign.add(leader.id);
    } catch (error) {
      if (!signal.aborted) this.#report("the line could not be watched", error);
    }
  }

  // ---- this node

  #provedGone(stints: readonly Stint[]): readonly Stint[] {
    const { noChildren = false } = this.#options;
    return stints.filter((stint) => {
      if (stint.node !== this.node) return false;
      return stint.life === this.#life ? !this.#open.has(stint.token) : isLifeOver(stint.life, this.#home, noChildren);
    });
  }

  /** Notes what an earlier process of this node did not report, as far as it can be proved. */
  async #noteHome(): Promise<void> {
    try {
      const memo = await this.#election.memo(RESERVED + RECORD_KEY);
      const { acting, intents } = memo === undefined ? NO_RECORD : parseRecord(memo.value);
      const settled = this.#provedGone(acting).map(({ node, token, life }) => ({ node, token, life }));
      const gone = intents.flatMap(({ id: intent, joined }) =>
        this.#provedGone(joined).map((stint) => ({ ...stint, intent })),
      );
      this.#notebook.note({ settled, gone });
    } catch (error) {
      this.#report("the record could not be read", error);
    }
  }

  #tell(event: GuardedEvent): void {
    this.#options.tell?.(event);
  }

  #report(what: string, error: unknown): void {
    this.#tell({ type: "trouble", what: `${what}: ${error instanceof Error ? error.message : String(error)}` });
  }

  /** Ends what is under way, as `candidate.close()` does, and waits a little for notes that are due. */
  async close(): Promise<void> {
    await this.#election.close();
    await Promise.race([this.#notebook.flush(), nap(NOTES_WITHIN_MS, this.#closing.signal, this.#clock)]);
    this.#closing.abort();
    await this.#candidate.close();
    await this.#options.shooter.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** An election whose next leader begins only when the last one is off for certain, or its work has ended. Throws CONFIG_INVALID or STORE_UNSUPPORTED before anything is asked. See docs/STONITH.md. */
export function guardedElection(options: GuardedOptions): GuardedElection {
  return new GuardedElection(options);
}

function checked(
  { config, store, storeWithoutQuorum }: GuardedOptions,
  node: string,
  places: WatchdogPlaces,
): WatchdogFound | undefined {
  const isForTests = storeWithoutQuorum === "only for tests";
  const refusal = refusalOfStore(store, { isForTests, wayAround: 'storeWithoutQuorum: "only for tests"' });
  if (refusal !== undefined) throw refusal;
  return admitNode(config, node, places);
}

/** The notes of every member together: none is dropped. */
function all(one: Notes, other: Notes): Notes {
  return { settled: [...one.settled, ...other.settled], gone: [...one.gone, ...other.gone] };
}
