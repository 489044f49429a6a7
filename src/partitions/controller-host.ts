// One term of a group's controller: carries out what the controller's machine asks for, and tells it the results. It decides only when to look.
//
// That a member is gone is proven by an election: at the seat of every member that is seen or owns something, this process stands for election as any
// rival would. If it is granted the seat, the member's term
// is over: the judge of the store, or the taker, has waited out the holder's deadline (laws 1 and 2: a deadline counts from the send, and a rival
// waits for a full ttl of silence). The seat is given back at once.
// So a member's death is noticed as soon as any rival would notice it. At the seat of its own member this process does not stand: both depend on one session, and end together.
import type { Clock } from "../base/clock.ts";
import { ConclaveError, isConclaveError } from "../base/errors.ts";
import type { Candidate, Election } from "../election/face.ts";
import { writeReservedMemo } from "../election/memo.ts";
import { nap } from "../election/nap.ts";
import type { Term } from "../election/term.ts";
import type { StoredMemo, Store } from "../stores/contract.ts";
import { type Chunk, formatChunk, parseChunk } from "./chunk.ts";
import {
  type ControllerInput,
  type ControllerState,
  createController,
  type GroupPlan,
  idsToWatch,
  stepController,
} from "./controller.ts";
import { chunksOf } from "./layout.ts";
import { MemberLookout } from "./lookout.ts";
import { asError } from "./member-host.ts";
import {
  chunkKey,
  chunkOfKey,
  controllerName,
  INDEX_KEY,
  memberName,
  registryName,
  REGISTRY_KEY,
  reserved,
} from "./names.ts";
import { EMPTY_REGISTRY, formatIndex, type Index, parseIndex, parseRegistry, type Registry } from "./texts.ts";

export interface ControllerHostOptions {
  readonly group: string;
  /** The id of the member in this process. */
  readonly id: string;
  readonly plan: GroupPlan;
  readonly store: Store;
  readonly clock: Clock;
  readonly candidate: Candidate;
  readonly term: Term;
  /** A group that was never assigned waits so long for its first members. */
  readonly gatherMs: number;
  /** How much time passes between two looks at most. */
  readonly lookEveryMs: number;
  readonly requestTimeoutMs: number;
  readonly report: (error: ConclaveError) => void;
}

const AGAIN_MS = 200;
/**
 * What many members say within this time is acted on together. Otherwise each of them would be answered by a write of every chunk that it speaks of, and all members would read each write: with twenty
 * members and ten thousand partitions, twenty times as many requests for one round of moves. The end of a member does not wait for this.
 */
const LOOK_GAP_MS = 100;
/** One write of the index tells of all chunks that are written within this time. */
const INDEX_GAP_MS = 20;

export class ControllerHost {
  readonly #options: ControllerHostOptions;
  readonly #stop = new AbortController();
  readonly #lookout: MemberLookout;
  readonly #standing = new Map<string, AbortController>();
  readonly #pending = new Set<Promise<void>>();
  #machine: ControllerState | undefined;
  #registry: Registry = EMPTY_REGISTRY;
  #revisions: Index["revisions"][number][] = [];
  #isIndexStale = false;
  #isIndexing = false;
  #wake: () => void = () => {};
  #isRung = false;

  constructor(options: ControllerHostOptions) {
    this.#options = options;
    const { store, clock, group, requestTimeoutMs } = options;
    this.#lookout = new MemberLookout(store, clock, group, requestTimeoutMs, () => this.#ring());
  }

  /** Resolves when the term's signal aborts, or a write fails for a reason that trying again cannot help, and nothing is under way any more. */
  async run(): Promise<void> {
    const { term, clock, gatherMs } = this.#options;
    const end = (): void => this.#end();
    term.signal.addEventListener("abort", end, { once: true });
    if (term.signal.aborted) end();
    try {
      const machine = await this.#begin();
      if (machine === undefined) return;
      const isNew = this.#revisions.every((revision) => revision === undefined);
      const registry = this.#followRegistry();
      if (isNew) await nap(gatherMs, this.#stop.signal, clock);
      await this.#lookOn(machine);
      await registry;
    } finally {
      end();
      await Promise.all(this.#pending);
    }
  }

  #end(): void {
    this.#stop.abort();
    this.#lookout.close();
    for (const standing of this.#standing.values()) standing.abort();
    this.#ring();
  }

  #ring(): void {
    this.#isRung = true;
    this.#wake();
  }

  /**
   * What stands in the store, read after the grant: memos of predecessors are refused from then on. And what operators have asked for: a controller that decided without it would take partitions from where
   * they were wished to be, and bring them back when it hears of the wish.
   */
  async #begin(): Promise<ControllerState | undefined> {
    const { group, plan, term } = this.#options;
    const memos = await this.#insist("the assignments", () =>
      this.#lookout.readMemos(controllerName(group), undefined),
    );
    if (memos === undefined) return undefined;
    checkIndex(memos, this.#options);
    const registry = await this.#insist("the registry", () =>
      this.#lookout.readMemos(registryName(group), reserved(REGISTRY_KEY)),
    );
    if (registry === undefined) return undefined;
    const written = registry.find(({ key }) => key === reserved(REGISTRY_KEY));
    if (written !== undefined) this.#registry = parseRegistry(written.value);
    const chunks: (Chunk | undefined)[] = Array.from({ length: chunksOf(plan.layout) });
    for (const { key, value } of memos) {
      const index = chunkOfKey(key);
      if (index !== undefined) chunks[index] = parseChunk(value);
    }
    this.#revisions = chunks.map((chunk) => chunk && { token: chunk.revision.term.token, n: chunk.revision.n });
    this.#machine = createController(plan, { token: term.token.value, bid: term.token.bid }, chunks);
    this.#ringMembers();
    return this.#machine;
  }

  /** Asks again and again until it succeeds, or the term is over. */
  async #insist<T>(what: string, ask: () => Promise<T>): Promise<T | undefined> {
    const { clock, group, report } = this.#options;
    while (!this.#stop.signal.aborted)
      try {
        return await ask();
      } catch (error) {
        if (isConclaveError(error) && !error.retryable) throw error;
        report(asError(`${what} of "${group}" could not be read`, error));
        await nap(AGAIN_MS, this.#stop.signal, clock);
      }
    return undefined;
  }

  async #followRegistry(): Promise<void> {
    const { candidate, group, report, clock } = this.#options;
    const { signal } = this.#stop;
    const election: Election = candidate.election(registryName(group));
    while (!signal.aborted)
      try {
        for await (const memo of election.observeMemo(reserved(REGISTRY_KEY), { signal })) {
          this.#registry = memo === undefined ? EMPTY_REGISTRY : parseRegistry(memo.value);
          this.#ring();
        }
      } catch (error) {
        if (signal.aborted) return;
        report(asError(`the registry of "${group}" could not be read`, error));
        await nap(AGAIN_MS, signal, clock);
      }
  }

  async #lookOn(machine: ControllerState): Promise<void> {
    const { report, group, clock, lookEveryMs } = this.#options;
    while (!this.#stop.signal.aborted) {
      this.#isRung = false;
      try {
        await this.#look(machine);
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        report(asError(`the members of "${group}" could not be looked at`, error));
        await nap(AGAIN_MS, this.#stop.signal, clock);
      }
      await nap(LOOK_GAP_MS, this.#stop.signal, clock);
      await this.#rest(this.#isMoving(machine) ? Math.min(AGAIN_MS, lookEveryMs) : lookEveryMs);
    }
  }

  #isMoving(machine: ControllerState): boolean {
    return machine.books.some(({ entries }) => entries.some(({ revokedAt }) => revokedAt !== undefined));
  }

  /** Waits until it is woken, for `ms` at most. */
  async #rest(ms: number): Promise<void> {
    if (this.#isRung || this.#stop.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = this.#options.clock.timer(ms, resolve);
      this.#wake = () => {
        timer.cancel();
        resolve();
      };
    });
    this.#wake = () => {};
  }

  async #look(machine: ControllerState): Promise<void> {
    const { ids, draining, transfers } = this.#registry;
    const all = new Set([...ids, ...idsToWatch(machine)]);
    const { members, granted } = await this.#lookout.look(all, moversOf(machine));
    this.#input({ type: "wishes", wishes: { draining, transfers } });
    this.#input({ type: "seen", members });
    for (const [id, below] of granted)
      if (below > (machine.over.get(id) ?? -1n)) this.#input({ type: "over", id, below });
    for (const id of idsToWatch(machine)) this.#stand(id);
  }

  // ---- proofs

  #stand(id: string): void {
    if (id === this.#options.id || this.#standing.has(id) || this.#stop.signal.aborted) return;
    const until = new AbortController();
    this.#standing.set(id, until);
    this.#track(this.#prove(id, until.signal).finally(() => this.#standing.delete(id)));
  }

  /** SAFETY: being granted the seat is the proof; nothing less is taken for one. */
  async #prove(id: string, signal: AbortSignal): Promise<void> {
    const { candidate, group, report, clock } = this.#options;
    try {
      const proof = await candidate.election(memberName(group, id)).campaign({ signal });
      this.#input({ type: "over", id, below: proof.token.value });
      await proof.resign();
      this.#ring();
    } catch (error) {
      if (signal.aborted) return;
      report(asError(`"${group}": whether member ${id} is over could not be found out`, error));
      await nap(AGAIN_MS, signal, clock);
      this.#ring();
    }
  }

  // ---- writes

  /** SAFETY: a controller whose signal has aborted begins no write. Whether a write lands is decided by the store, which compares the seat. */
  #input(input: ControllerInput): void {
    const machine = this.#machine;
    if (machine === undefined || !this.#options.term.isLeading() || this.#stop.signal.aborted) return;
    for (const { index, chunk } of stepController(machine, input)) this.#track(this.#write(index, chunk));
  }

  async #write(index: number, chunk: Chunk): Promise<void> {
    const { term, group, report } = this.#options;
    try {
      await writeReservedMemo(term, chunkKey(index), formatChunk(chunk));
    } catch (error) {
      // It is not known what stands in the store: this term ends, and the next one reads it.
      if (!this.#stop.signal.aborted) report(asError(`"${group}": an assignment could not be written`, error));
      return this.#end();
    }
    const { term: by, n } = chunk.revision;
    this.#revisions[index] = { token: by.token, n };
    this.#ringMembers();
    this.#input({ type: "written", index });
  }

  /** Is written after the chunks: a member that has read this index reads at least the revisions that it names. */
  #ringMembers(): void {
    this.#isIndexStale = true;
    if (this.#isIndexing) return;
    this.#isIndexing = true;
    this.#track(this.#writeIndexes());
  }

  /** It ends in the same step in which it has seen that nothing is stale: a change that came between the two would not be written. */
  async #writeIndexes(): Promise<void> {
    while (this.#isIndexStale && !this.#stop.signal.aborted) await this.#writeIndex();
    this.#isIndexing = false;
  }

  async #writeIndex(): Promise<void> {
    const { term, plan, group, report, clock } = this.#options;
    await nap(INDEX_GAP_MS, this.#stop.signal, clock);
    if (this.#stop.signal.aborted) return;
    this.#isIndexStale = false;
    const index: Index = { ...plan.layout, domain: term.token.domain, revisions: [...this.#revisions] };
    try {
      await writeReservedMemo(term, INDEX_KEY, formatIndex(index));
    } catch (error) {
      if (!this.#stop.signal.aborted) report(asError(`"${group}": the index could not be written`, error));
      this.#end();
    }
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#pending.delete(tracked));
    this.#pending.add(tracked);
  }
}

/** Members from which partitions are being taken: the controller waits for their next statement. */
function moversOf({ books }: ControllerState): ReadonlySet<string> {
  return new Set(
    books.flatMap(({ entries }) =>
      entries.flatMap(({ owner, revokedAt }) => (owner === undefined || revokedAt === undefined ? [] : [owner.id])),
    ),
  );
}

function checkIndex(memos: readonly StoredMemo[], { group, plan: { layout } }: ControllerHostOptions): void {
  const memo = memos.find(({ key }) => key === reserved(INDEX_KEY));
  if (memo === undefined) return;
  const { count, chunkSize } = parseIndex(memo.value);
  if (count === layout.count && chunkSize === layout.chunkSize) return;
  const message = `"${group}" has ${count} partitions in chunks of ${chunkSize}, and this member was told ${layout.count} in chunks of ${layout.chunkSize}. Neither can be changed: use a group of another name.`;
  throw new ConclaveError("CONFIG_INVALID", message);
}
