// `joinPartitions(group, options)`: this process becomes a member of a group that shares a number of partitions, and stands for election as the
// group's controller. The promises, and why they hold, stand at the
// heads of controller.ts and member.ts, and in docs/PARTITIONS.md.
//
// One candidate, and so one session, serves for both seats: the member's own, and the controller's if this process is elected for it.
import type { Clock } from "../base/clock.ts";
import { ConclaveError, invalidConfig } from "../base/errors.ts";
import { show } from "../base/show.ts";
import { createCandidate } from "../election/candidate.ts";
import type { Candidate, Election } from "../election/face.ts";
import { type Inside, insideOf } from "../election/inside.ts";
import { nap } from "../election/nap.ts";
import { isTaken, lookAtAll } from "../election/observe.ts";
import type { Term } from "../election/term.ts";
import type { FencedStore } from "../stores/contract.ts";
import { ControllerHost } from "./controller-host.ts";
import { asError, MemberHost } from "./member-host.ts";
import { controllerName, INDEX_KEY, memberName, problemsOfId, registryName, reserved } from "./names.ts";
import { type PartitionOptions, type ResolvedOptions, resolvePartitions } from "./options.ts";
import type { PartitionTerm } from "./partition-term.ts";
import {
  changeRegistry,
  forgettable,
  readRegistry,
  withCount,
  withDrain,
  withIds,
  withoutIds,
  withTransfer,
} from "./registry.ts";
import { parseIndex, type Registry } from "./texts.ts";

/** A member of a group: it goes on until it is closed. */
export interface PartitionGroup extends AsyncDisposable {
  readonly group: string;
  readonly id: string;
  /** The partitions that this member leads at this moment, by the clock. */
  held(): readonly PartitionTerm[];
  /** Whether this process is the controller of the group at this moment. */
  isController(): boolean;
  /** Gives all partitions of a member to the others, one after the other as they stop, and none to it, until `undrain`. */
  drain(member: string): Promise<void>;
  undrain(member: string): Promise<void>;
  /** The partition shall be led by this member while it is there; `undefined`: by any. */
  transfer(partition: number, to: string | undefined): Promise<void>;
  /** Aborts the signals of all partitions, waits for their work, and leaves. The others lead them after that. */
  close(): Promise<void>;
}

/** Joins. Resolves when this process is registered; rejects if the options or the store cannot work, or the group has another number of partitions. */
export async function joinPartitions(group: string, options: PartitionOptions): Promise<PartitionGroup> {
  const resolved = resolvePartitions(group, options);
  const {
    partitions: _p,
    onAssigned: _w,
    weight: _g,
    zone: _z,
    mayControl: _c,
    movesAtOnce: _m,
    gatherMs: _s,
    ...rest
  } = options;
  const candidate = createCandidate<FencedStore>({ ...rest, id: resolved.id });
  const made = new JoinedGroup(resolved, options, candidate);
  try {
    await made.register();
  } catch (error) {
    await candidate.close();
    throw error;
  }
  made.begin();
  return made;
}

const DEFAULT_TTL_MS = 15_000;
const AGAIN_MS = 500;

class JoinedGroup implements PartitionGroup {
  readonly group: string;
  readonly id: string;
  readonly #resolved: ResolvedOptions;
  readonly #options: PartitionOptions;
  readonly #candidate: Candidate;
  readonly #controller: Election;
  readonly #seat: Election;
  readonly #inside: Inside;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  #host: MemberHost | undefined;
  #running: readonly Promise<void>[] = [];
  #closed: Promise<void> | undefined;

  constructor(resolved: ResolvedOptions, options: PartitionOptions, candidate: Candidate) {
    this.group = resolved.group;
    this.id = resolved.id;
    this.#resolved = resolved;
    this.#options = options;
    this.#candidate = candidate;
    this.#controller = candidate.election(controllerName(this.group));
    this.#seat = candidate.election(memberName(this.group, this.id));
    const inside = insideOf(this.#controller);
    if (inside === undefined) throw new ConclaveError("CONFIG_INVALID", "joinPartitions needs a candidate of conclave");
    this.#inside = inside;
    this.#clock = inside.clock;
  }

  /** Registers under the lock, so that the store has been written to before anything is read: some stores make their tables only then. */
  async register(signal: AbortSignal = this.#closing.signal): Promise<void> {
    const { store } = this.#inside;
    const forgotten = new Set<string>();
    const change = async (registry: Registry): Promise<Registry> => {
      await this.#checkCount(registry);
      const grown = withIds(withCount(registry, this.#resolved.plan.layout.count), [this.id]);
      const ids = forgettable(grown, store.guarantee.memos?.bytes ?? Infinity).filter((id) => id !== this.id);
      const there = await this.#there(ids);
      const gone = new Set(ids.filter((id) => !there.has(id)));
      for (const id of gone) forgotten.add(id);
      return withoutIds(grown, gone);
    };
    await changeRegistry(this.#candidate, this.group, change, { signal });
    // Who was granted its seat after the look above may have found itself registered before the write.
    const back = await this.#there([...forgotten]);
    if (back.size > 0)
      await changeRegistry(this.#candidate, this.group, (registry) => withIds(registry, back), { signal });
  }

  /** Those of these ids in whose seats somebody is. */
  async #there(ids: readonly string[]): Promise<ReadonlySet<string>> {
    if (ids.length === 0) return new Set();
    const { store } = this.#inside;
    const lookout = { store, clock: this.#clock, requestTimeoutMs: this.#requestTimeoutMs };
    const seats = await lookAtAll(
      lookout,
      ids.map((id) => memberName(this.group, id)),
    );
    const nowMs = this.#clock.now().mono;
    return new Set(ids.filter((_, place) => isTaken(seats[place], nowMs)));
  }

  /** This member has been granted its seat: from now on nobody takes it for one that is gone. If somebody has before, it registers again. */
  async #stayRegistered(signal: AbortSignal): Promise<void> {
    const election = this.#candidate.election(registryName(this.group));
    while (!signal.aborted)
      try {
        const { ids } = await readRegistry(election);
        if (!ids.has(this.id)) await this.register(signal);
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.#report(asError(`"${this.group}": whether member ${this.id} is registered could not be found out`, error));
        await nap(AGAIN_MS, signal, this.#clock);
      }
  }

  async #checkCount(registry: Registry): Promise<void> {
    const memo = await this.#controller.memo(reserved(INDEX_KEY));
    const count = memo === undefined ? registry.count : parseIndex(memo.value).count;
    const wanted = this.#resolved.plan.layout.count;
    if (count === undefined || count === wanted) return;
    throw invalidConfig(`joinPartitions(${show(this.group)})`, [
      `the group has ${count} partitions, not ${wanted}; the number cannot be changed: use a group of another name`,
    ]);
  }

  begin(): void {
    const { mayControl } = this.#resolved;
    this.#running = [this.#again("its seat", () => this.#standAsMember())];
    if (mayControl) this.#running = [...this.#running, this.#again("the controller", () => this.#standAsController())];
  }

  /** Losing a term, or the store, never ends a member (law 9). */
  async #again(what: string, stand: () => Promise<unknown>): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted)
      try {
        await stand();
      } catch (error) {
        this.#report(asError(`"${this.group}": member ${this.id} stood for ${what} in vain`, error));
      } finally {
        await nap(AGAIN_MS, signal, this.#clock);
      }
  }

  #standAsMember(): Promise<unknown> {
    return this.#seat.lead((term) => this.#serve(term), { signal: this.#closing.signal });
  }

  async #serve(term: Term): Promise<void> {
    const { group, id, weight, zone, plan } = this.#resolved;
    const host = new MemberHost({
      group,
      id,
      weight,
      zone,
      count: plan.layout.count,
      clock: this.#clock,
      term,
      controller: this.#controller,
      work: this.#options.onAssigned,
      report: (error) => this.#report(error),
    });
    this.#host = host;
    await Promise.all([host.run(), this.#stayRegistered(term.signal)]);
  }

  #standAsController(): Promise<unknown> {
    return this.#controller.lead((term) => this.#rule(term), { signal: this.#closing.signal });
  }

  async #rule(term: Term): Promise<void> {
    const { group, id, plan, gatherMs } = this.#resolved;
    const ttlMs = this.#options.ttlMs ?? DEFAULT_TTL_MS;
    const { store } = this.#inside;
    const host = new ControllerHost({
      group,
      id,
      plan,
      gatherMs,
      store,
      term,
      clock: this.#clock,
      candidate: this.#candidate,
      lookEveryMs: ttlMs / 3,
      requestTimeoutMs: this.#requestTimeoutMs,
      report: (error) => this.#report(error),
    });
    await host.run();
  }

  get #requestTimeoutMs(): number {
    return Math.min(10_000, (this.#options.ttlMs ?? DEFAULT_TTL_MS) / 2);
  }

  held(): readonly PartitionTerm[] {
    return this.#host?.led.filter((term) => term.isHeld()) ?? [];
  }

  isController(): boolean {
    return this.#controller.isLeading();
  }

  async drain(member: string): Promise<void> {
    this.#checkId(member, "drain");
    await changeRegistry(this.#candidate, this.group, (registry) => withDrain(registry, member, true));
  }

  async undrain(member: string): Promise<void> {
    this.#checkId(member, "undrain");
    await changeRegistry(this.#candidate, this.group, (registry) => withDrain(registry, member, false));
  }

  async transfer(partition: number, to: string | undefined): Promise<void> {
    const { count } = this.#resolved.plan.layout;
    if (!Number.isSafeInteger(partition) || partition < 0 || partition >= count)
      throw invalidConfig("transfer", [`there is no partition ${show(partition)}; they count from 0 to ${count - 1}`]);
    if (to !== undefined) this.#checkId(to, "transfer");
    await changeRegistry(this.#candidate, this.group, (registry) => withTransfer(registry, partition, to));
  }

  #checkId(id: unknown, call: string): void {
    const problems = problemsOfId(id);
    if (problems.length > 0) throw invalidConfig(call, problems);
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
    await Promise.all(this.#running);
    await this.#candidate.close();
  }

  #report(error: ConclaveError): void {
    this.#inside.tell({ type: "error", error, election: memberName(this.group, this.id) });
  }
}
