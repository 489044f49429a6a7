// `rendezvousPartitions(group, options)`: partitions without a controller. Each member holds a permit of one semaphore, looks which others do, and computes by rendezvous hashing which partitions are its own.
//
// PROMISES  A member leads only while its own session is held. Members that see the same list agree on the owner of each partition. When a member goes, only its partitions move, to all others evenly; when
//   one comes, partitions move only to it.
// DOES NOT PROMISE  Two members may lead one partition for as long as their views of the members differ, and then until the work of one has stopped. There is no token by which a guard could tell
//   them apart. `joinPartitions` has both.
import type { Clock } from "../base/clock.ts";
import { ConclaveError, invalidConfig, TermLostError } from "../base/errors.ts";
import { show } from "../base/show.ts";
import { semaphore } from "../election/candidate.ts";
import type { CandidateSettings } from "../election/face.ts";
import { type Inside, insideOf } from "../election/inside.ts";
import { nap } from "../election/nap.ts";
import { type Permit, seatName, type Semaphore } from "../election/permit.ts";
import { Watches } from "../election/watches.ts";
import { rendezvousOwner } from "../protocols/rendezvous/rendezvous.ts";
import type { Store } from "../stores/contract.ts";
import { LiveMembers } from "./live-members.ts";
import { asError } from "./member-host.ts";
import { problemsOfGroup, problemsOfId } from "./names.ts";
import { defaultId } from "./options.ts";
import { workUntil } from "./work.ts";

/** What a member has while it leads a partition by its own view of the members. It has no token. */
export interface RendezvousLead {
  readonly group: string;
  readonly partition: number;
  /** The id of the member. */
  readonly member: string;
  /** Aborts when this member sees that the partition is another's, or its session ends. Another may have begun before. */
  readonly signal: AbortSignal;
  /** Whether to go on: true until the signal aborts, by the clock. Another member may lead the same partition, if it sees another list. */
  isLeading(): boolean;
  /** Throws TERM_LOST when `isLeading()` is false. */
  throwIfNotLeading(): void;
}

/** Options of `rendezvousPartitions`: those of a candidate, and these. */
export interface RendezvousOptions extends CandidateSettings {
  /** Any store. */
  readonly store: Store;
  /** Two members may lead one partition for as long as their views of the members differ, and no token tells them apart. This must be set on every store. */
  readonly unfenced: true;
  /** How many partitions there are. All members are told the same. */
  readonly partitions: number;
  /** Called for each partition that this member leads from now on. It works as `onAssigned` of `joinPartitions` does, but others do not wait for it. */
  readonly onAssigned: (partition: number, lead: RendezvousLead) => Promise<unknown>;
  /** So many members take part at once; further ones wait. From 1 to 100, and all members are told the same: each look asks for so many seats. @default 16 */
  readonly membersMax?: number | undefined;
  /** The name of this member: what it leads follows from it. Of two processes with one name, one leads and the other waits. @default the name of the host */
  readonly id?: string | undefined;
}

/** A member of a group without a controller: it goes on until it is closed. */
export interface RendezvousGroup extends AsyncDisposable {
  readonly group: string;
  readonly id: string;
  /** The partitions that this member leads at this moment, by the clock. */
  held(): readonly RendezvousLead[];
  /** The members that this one saw last, in the order of their ids; none while it has no session. */
  members(): readonly string[];
  /** Aborts the signals of all partitions, waits for their work, and leaves. */
  close(): Promise<void>;
}

const MEMBERS_MAX = 16;
const DEFAULT_TTL_MS = 15_000;
const AGAIN_MS = 500;

/** Joins in the background. Throws at once if the options cannot work. */
export function rendezvousPartitions(group: string, options: RendezvousOptions): RendezvousGroup {
  const { partitions, onAssigned, membersMax = MEMBERS_MAX, id = defaultId(), ...rest } = options ?? {};
  const problems = [...problemsOfGroup(group), ...problemsOfId(id)];
  if (!Number.isSafeInteger(partitions) || partitions < 1)
    problems.push(`partitions ${show(partitions)} is not a whole number of at least 1`);
  if (typeof onAssigned !== "function")
    problems.push(`onAssigned is not a function. Pass async (partition, lead) => { … }`);
  if ((rest as Partial<RendezvousOptions>).unfenced !== true)
    problems.push(
      "unfenced: true is missing: two members may lead one partition, and no token tells them apart. Say it if that is only wasteful; if not, use joinPartitions",
    );
  if (rest.renewal === "manual") problems.push(`renewal "manual" renews nothing by itself; use "loop" or "thread"`);
  if (problems.length > 0) throw invalidConfig(`rendezvousPartitions(${show(group)})`, problems);
  const seats = semaphore(semaphoreOf(group), { ...rest, id, permits: membersMax });
  const member = new RendezvousMember(group, id, { ...options, membersMax }, seats);
  member.begin();
  return member;
}

const semaphoreOf = (group: string): string => `partitions/${group}`;

interface Working {
  readonly lead: ViewedLead;
  readonly settled: Promise<void>;
}

class RendezvousMember implements RendezvousGroup {
  readonly group: string;
  readonly id: string;
  readonly #options: RendezvousOptions;
  readonly #semaphore: Semaphore;
  readonly #inside: Inside;
  readonly #clock: Clock;
  readonly #live: LiveMembers;
  readonly #ttlMs: number;
  readonly #closing = new AbortController();
  readonly #working = new Map<number, Working>();
  #members: readonly string[] = [];
  /** The list that `#own` was computed from; empty while another process of this id leads. */
  #view: readonly string[] = [];
  #own: ReadonlySet<number> = new Set();
  #wake: () => void = () => {};
  #isRung = false;
  #running: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor(group: string, id: string, options: RendezvousOptions, seats: Semaphore) {
    this.group = group;
    this.id = id;
    this.#options = options;
    this.#semaphore = seats;
    const inside = insideOf(seats);
    if (inside === undefined)
      throw new ConclaveError("CONFIG_INVALID", "rendezvousPartitions needs a store of conclave");
    this.#inside = inside;
    const { store, clock } = inside;
    this.#clock = clock;
    this.#ttlMs = options.ttlMs ?? DEFAULT_TTL_MS;
    this.#live = new LiveMembers({
      store,
      clock,
      semaphore: seats.name,
      seats: seats.permits,
      ttlMs: this.#ttlMs,
      requestTimeoutMs: Math.min(10_000, this.#ttlMs / 2),
    });
  }

  begin(): void {
    this.#running = this.#takePart();
  }

  /** Losing the session, or the store, never ends a member (law 9). */
  async #takePart(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted)
      try {
        await this.#semaphore.lead((permit) => this.#serve(permit), { signal });
      } catch (error) {
        this.#report("took no part", error);
        await nap(AGAIN_MS, signal, this.#clock);
      }
  }

  /** Resolves when the permit's signal has aborted, and the work of every partition has settled. */
  async #serve(permit: Permit): Promise<void> {
    const { signal } = permit;
    const watches = new Watches(this.#inside.store, this.#clock, () => this.#ring());
    for (const name of this.#live.names) watches.add({ name });
    // At once, and not when the look that is under way has been answered.
    signal.addEventListener("abort", () => this.#leave(permit), { once: true });
    while (!signal.aborted) {
      this.#isRung = false;
      try {
        this.#follow(permit, await this.#live.look());
      } catch (error) {
        if (!signal.aborted) this.#report("could not look at the others", error);
      }
      await this.#rest(this.#ttlMs / 3, signal);
    }
    watches.close();
    this.#leave(permit);
    await Promise.all([...this.#working.values()].map(({ settled }) => settled));
  }

  #leave(permit: Permit): void {
    this.#members = [];
    this.#view = [];
    this.#own = new Set();
    this.#settleOwners(permit);
    this.#ring();
  }

  #ring(): void {
    this.#isRung = true;
    this.#wake();
  }

  /** Hints wake it, and so does time, because hints get lost. */
  async #rest(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#isRung || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = this.#clock.timer(ms, resolve);
      this.#wake = () => {
        timer.cancel();
        resolve();
      };
    });
    this.#wake = () => {};
  }

  #follow(permit: Permit, seats: ReadonlyMap<number, string>): void {
    if (!permit.isLeading()) return;
    // A look may be older than this permit, so that it does not show it.
    const all = new Map(seats).set(permit.seat, this.id);
    const twin = [...all].some(([seat, id]) => id === this.id && seat < permit.seat);
    const members = [...new Set(all.values())].toSorted();
    const view = twin ? [] : members;
    if (view.join(" ") === this.#view.join(" ")) return; // an id has no spaces
    this.#view = view;
    this.#members = members;
    this.#own = ownedBy(this.id, view, this.group, this.#options.partitions);
    this.#settleOwners(permit);
  }

  /** Stops what is another's now, and begins what is new; what is still stopping begins anew when it has settled. */
  #settleOwners(permit: Permit): void {
    for (const [partition, { lead }] of this.#working) if (!this.#own.has(partition)) lead.stop();
    for (const partition of this.#own) this.#begin(permit, partition);
  }

  #begin(permit: Permit, partition: number): void {
    if (this.#working.has(partition) || !permit.isLeading()) return;
    const { group, id } = this;
    const lead = new ViewedLead(group, partition, id, permit);
    const settled = workUntil({
      group,
      partition,
      signal: lead.signal,
      clock: this.#clock,
      call: () => this.#options.onAssigned(partition, lead),
      report: (error) => this.#tell(error),
    }).then(() => {
      this.#working.delete(partition);
      if (this.#own.has(partition)) this.#begin(permit, partition);
    });
    this.#working.set(partition, { lead, settled });
  }

  held(): readonly RendezvousLead[] {
    return [...this.#working.values()].flatMap(({ lead }) => (lead.isLeading() ? [lead] : []));
  }

  members(): readonly string[] {
    return this.#members;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#closing.abort(new ConclaveError("CLOSED", `the member ${this.id} of "${this.group}" was closed`));
    await this.#running;
    await this.#semaphore.close();
  }

  #report(what: string, error: unknown): void {
    this.#tell(asError(`"${this.group}": member ${this.id} ${what}`, error));
  }

  #tell(error: ConclaveError): void {
    this.#inside.tell({ type: "error", error, election: seatName(this.#semaphore.name, 0) });
  }
}

/** The partitions of `id`, where these members are there: the same for all who see the same list. */
function ownedBy(id: string, members: readonly string[], group: string, partitions: number): ReadonlySet<number> {
  const all = Array.from({ length: partitions }, (_, partition) => partition);
  return new Set(all.filter((partition) => rendezvousOwner(`${group}/${partition}`, members) === id));
}

class ViewedLead implements RendezvousLead {
  readonly group: string;
  readonly partition: number;
  readonly member: string;
  readonly #permit: Permit;
  readonly #controller = new AbortController();

  constructor(group: string, partition: number, member: string, permit: Permit) {
    this.group = group;
    this.partition = partition;
    this.member = member;
    this.#permit = permit;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  isLeading(): boolean {
    return this.#permit.isLeading() && !this.#controller.signal.aborted;
  }

  throwIfNotLeading(): void {
    if (!this.isLeading()) throw this.#lost();
  }

  stop(): void {
    this.#controller.abort(this.#lost());
  }

  #lost(): TermLostError {
    return new TermLostError(`${this.group}/${this.partition}`, this.#permit.isLeading() ? "asked" : "expired");
  }
}
