// One session of one member: carries out what the member's machine asks for, and tells it the results. It lives inside the term of the member's seat,
// so that the seat is not given back before
// the work of every partition has settled (law 8), and no other session of this member begins before that.
//
// Before each input it asks the term (`isLeading`): once the session's signal has aborted, nothing is begun.
import type { Clock } from "../base/clock.ts";
import { ConclaveError, isConclaveError } from "../base/errors.ts";
import { textOfError } from "../base/harmless.ts";
import { askedOnce } from "../base/outcome.ts";
import type { Election } from "../election/face.ts";
import { writeReservedMemo } from "../election/memo.ts";
import { nap } from "../election/nap.ts";
import type { Term } from "../election/term.ts";
import { parseChunk, sessionRef } from "./chunk.ts";
import { type Ack, createMember, type MemberEffect, type MemberInput, type MemberState, stepMember } from "./member.ts";
import { digestOf } from "./bid-digest.ts";
import { chunkKey, INDEX_KEY, MEMBER_KEY, reserved } from "./names.ts";
import { LedPartition, type PartitionTerm } from "./partition-term.ts";
import { epochDomain, type Revision } from "./revision.ts";
import { formatStatement, type Index, parseIndex } from "./texts.ts";
import { workUntil } from "./work.ts";

/** The work of a partition while a member leads it. */
export type PartitionWork = (partition: number, term: PartitionTerm) => Promise<unknown>;

export interface MemberHostOptions {
  readonly group: string;
  readonly id: string;
  readonly weight: number;
  readonly zone: string | undefined;
  readonly count: number;
  readonly clock: Clock;
  /** The term of this member's own seat. */
  readonly term: Term;
  readonly controller: Election;
  readonly work: PartitionWork;
  readonly report: (error: ConclaveError) => void;
}

const AGAIN_MS = 200;
/** How many chunks are read at once. */
const READS_MAX = 8;

export class MemberHost {
  readonly #options: MemberHostOptions;
  #machine: MemberState | undefined;
  #domain = "";
  readonly #led = new Map<number, LedPartition>();
  #acks: readonly Ack[] | undefined;
  #isStating = false;
  #done: (() => void) | undefined;

  constructor(options: MemberHostOptions) {
    this.#options = options;
  }

  get led(): readonly PartitionTerm[] {
    return [...this.#led.values()];
  }

  /** Resolves when the session's signal has aborted, and the work of every partition has settled. */
  async run(): Promise<void> {
    const { term } = this.#options;
    const { signal } = term;
    const over = new Promise<void>((resolve) => (this.#done = resolve));
    signal.addEventListener("abort", () => this.#leave(), { once: true });
    this.#state([]);
    await this.#follow(signal);
    if (signal.aborted) this.#leave();
    await over;
  }

  /** Reads the chunks that the index says have changed. The index is only a hint: the chunks themselves count. */
  async #follow(signal: AbortSignal): Promise<void> {
    const { controller, report } = this.#options;
    while (!signal.aborted)
      try {
        for await (const memo of controller.observeMemo(reserved(INDEX_KEY), { signal }))
          if (memo !== undefined) await this.#catchUp(parseIndex(memo.value), signal);
      } catch (error) {
        if (signal.aborted) return;
        report(asError(`the assignments of "${this.#options.group}" could not be read`, error));
        await nap(AGAIN_MS, signal, this.#options.clock);
      }
  }

  async #catchUp(index: Index, signal: AbortSignal): Promise<void> {
    const machine = this.#machineFor(index);
    const behind = index.revisions.flatMap((revision, chunk) => {
      const seen = machine.seen.get(chunk);
      const isNew = revision !== undefined && (seen === undefined || isBefore(seen, revision));
      return isNew ? [chunk] : [];
    });
    for (let from = 0; from < behind.length && !signal.aborted; from += READS_MAX)
      await Promise.all(behind.slice(from, from + READS_MAX).map((chunk) => this.#read(chunk)));
  }

  #machineFor({ count, chunkSize, domain }: Index): MemberState {
    const { group, id, term, count: ours } = this.#options;
    if (count !== ours) {
      const message = `"${group}" has ${count} partitions, and this member was told ${ours}. The number of a group cannot be changed: use a group of another name.`;
      throw new ConclaveError("CONFIG_INVALID", message);
    }
    this.#domain = epochDomain(domain, group);
    this.#machine ??= createMember(sessionRef(id, term.token.value, digestOf(term.token.bid)), chunkSize);
    return this.#machine;
  }

  async #read(index: number): Promise<void> {
    const memo = await this.#options.controller.memo(reserved(chunkKey(index)));
    if (memo !== undefined) this.#input({ type: "chunk", index, chunk: parseChunk(memo.value) });
  }

  #leave(): void {
    if (this.#machine === undefined) this.#done?.();
    else if (!this.#machine.hasLeft) this.#input({ type: "leave" });
  }

  /** SAFETY: asks the clock before anything may begin. `isLeading` may abort the signal, which leaves, before it answers. */
  #input(input: MemberInput): void {
    const machine = this.#machine;
    if (machine === undefined) return;
    if (!this.#options.term.isLeading()) this.#leaveOnce(machine);
    if (input.type !== "leave" || !machine.hasLeft) this.#carryOut(stepMember(machine, input));
    if (machine.hasLeft && this.#led.size === 0) this.#done?.();
  }

  #leaveOnce(machine: MemberState): void {
    if (!machine.hasLeft) this.#carryOut(stepMember(machine, { type: "leave" }));
  }

  #carryOut(effects: readonly MemberEffect[]): void {
    for (const effect of effects)
      if (effect.type === "begin") this.#begin(effect.partition, effect.epoch);
      else if (effect.type === "stop") this.#led.get(effect.partition)?.stop();
      else this.#state(effect.acks);
  }

  #begin(partition: number, epoch: Revision): void {
    const { group, id, term } = this.#options;
    const led = new LedPartition(group, partition, id, term, this.#domain, epoch);
    this.#led.set(partition, led);
    const { clock, work, report } = this.#options;
    const call = (): Promise<unknown> => work(partition, led);
    void workUntil({ group, partition, signal: led.signal, clock, call, report }).then(() => {
      led.end();
      this.#led.delete(partition);
      this.#input({ type: "settled", partition });
    });
  }

  /** Writes the latest acks, one write at a time. An ack stays true, so those in between need not be written. */
  #state(acks: readonly Ack[]): void {
    this.#acks = acks;
    if (this.#isStating) return;
    this.#isStating = true;
    void this.#stateAll();
  }

  /** Never rejects. It ends in the same step in which it has seen that there is nothing left to write: acks that came between the two would not be written. */
  async #stateAll(): Promise<void> {
    while (this.#acks !== undefined && this.#options.term.isHeld()) await this.#stateOnce(this.#acks);
    this.#isStating = false;
  }

  async #stateOnce(acks: readonly Ack[]): Promise<void> {
    const { term, weight, zone, clock, report, group } = this.#options;
    this.#acks = undefined;
    try {
      await writeReservedMemo(term, MEMBER_KEY, formatStatement({ weight, zone, acks }));
    } catch (error) {
      if (!term.isHeld()) return;
      this.#acks ??= acks;
      report(asError(`this member of "${group}" could not say what it leads`, error));
      await nap(AGAIN_MS, term.signal, clock);
    }
  }
}

function isBefore({ term, n }: Revision, revision: { readonly token: bigint; readonly n: number }): boolean {
  return term.token === revision.token ? n < revision.n : term.token < revision.token;
}

export function asError(what: string, cause: unknown): ConclaveError {
  if (!isConclaveError(cause))
    return new ConclaveError("STORE_UNREACHABLE", `${what}: ${textOfError(cause)}. It is tried again.`, {
      retryable: true,
      cause,
    });
  const { code, message, retryable } = cause;
  return new ConclaveError(code, `${what}: ${askedOnce(message)} It is tried again.`, { retryable, cause });
}
