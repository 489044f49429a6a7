// What judges a world of partitions: the promises of src/partitions, said once more without knowing how they are kept. It sees the works that begin and end, the chunks that the store has
// applied, and the deadlines of all sessions, in true time.
import type { Chunk, ChunkEntry } from "../../partitions/chunk.ts";
import type { PartitionLayout } from "../../partitions/layout.ts";
import { compareRevisions, type Revision } from "../../partitions/revision.ts";
import { Judge } from "../kernel/judge.ts";
import type { SimSession } from "./store.ts";

/** A partition as one member leads it. */
export interface Handle {
  readonly partition: number;
  readonly who: number;
  readonly session: SimSession;
  readonly sessionKey: string;
  readonly epoch: Revision;
  /** The work has settled, or the process is dead. */
  isOver: boolean;
}

export class PartitionJudge extends Judge {
  readonly #layout: PartitionLayout;
  readonly #areAlike: boolean;
  readonly #handles: Handle[][];
  readonly #newest: (Revision | undefined)[];
  /** When each partition was begun last. */
  readonly #begunMs: number[] = [];
  /** `partition epoch` → the session that the store's chunk named. */
  readonly #named = new Map<string, string>();
  /** A member has come, or an operator has asked for something, since everything was led and nothing moved. */
  isCaused = true;
  #causedAtMs = 0;

  /** `areAlike`: all members and partitions are. Otherwise a preferred member may have room when another is gone, and weights and zones may not be even without a move. */
  constructor(layout: PartitionLayout, areAlike: boolean, judgedBy: readonly string[] | undefined) {
    super(judgedBy);
    this.#layout = layout;
    this.#areAlike = areAlike;
    this.#handles = Array.from({ length: layout.count }, () => []);
    this.#newest = Array.from({ length: layout.count });
  }

  cause(nowMs: number): void {
    this.isCaused = true;
    this.#causedAtMs = nowMs;
  }

  /** Writes that were caused earlier may be on their way until `latestMs`; if everything is at rest then, nothing has a cause to move. */
  restAfter(latestMs: number, nowMs: number, isAtRest: () => boolean): void {
    if (this.isCaused && nowMs - this.#causedAtMs > latestMs && isAtRest()) this.isCaused = false;
  }

  /** Whether its process believes at this instant that it holds it. A stopped process goes on believing. */
  static isHeld({ session, isOver }: Handle, nowMs: number): boolean {
    return !isOver && nowMs < session.deadlineMs;
  }

  heldBy(partition: number, nowMs: number): Handle | undefined {
    return this.#handles[partition]?.find((handle) => PartitionJudge.isHeld(handle, nowMs));
  }

  begun(handle: Handle, nowMs: number): void {
    const { partition, who, epoch, sessionKey, session } = handle;
    const story = (what: string): string => `member ${who} begins partition ${partition} at ${said(epoch)}: ${what}`;
    if (nowMs >= session.deadlineMs) this.find("begun-while-held", story("its session is not held"), nowMs);
    const other = this.heldBy(partition, nowMs);
    if (other !== undefined)
      this.find("one-holder", story(`member ${other.who} holds it at ${said(other.epoch)}`), nowMs);
    const newest = this.#newest[partition];
    if (newest !== undefined && compareRevisions(epoch, newest) <= 0)
      this.find("epochs-grow", story(`${said(newest)} was begun before`), nowMs);
    this.#newest[partition] = epoch;
    this.#begunMs[partition] = nowMs;
    if (this.#named.get(keyOf(partition, epoch)) !== sessionKey)
      this.find("named-session", story("the store has assigned that to another session"), nowMs);
    const open = (this.#handles[partition] ?? []).filter(({ isOver }) => !isOver);
    this.#handles[partition] = [...open, handle];
  }

  /** The time is over within which the deaths of `sinceMs` must have been made good. What has begun since may be on the move again, where members are preferred. */
  ledAgain(unledNow: readonly number[], sinceMs: number, when: string, nowMs: number): void {
    const unled = unledNow.filter((partition) => (this.#begunMs[partition] ?? 0) < sinceMs);
    if (unled.length > 0) this.find("led-again", `nobody leads ${unled.join(", ")} ${when}`, nowMs);
  }

  /** A chunk as the store has applied it. */
  applied(index: number, old: Chunk | undefined, { revision, entries }: Chunk, nowMs: number): void {
    if (old !== undefined && compareRevisions(revision, old.revision) <= 0)
      this.find("revisions-grow", `${said(revision)} was written over ${said(old.revision)}`, nowMs);
    for (const [place, entry] of entries.entries()) {
      const partition = index * this.#layout.chunkSize + place;
      if (entry.epoch === revision && entry.owner !== undefined)
        this.#named.set(keyOf(partition, revision), entry.owner.key);
      this.#judgeMove(partition, old?.entries[place], entry, nowMs);
    }
  }

  /** Neither a crash nor a change of the controller moves a partition of a living member. */
  #judgeMove(partition: number, old: ChunkEntry | undefined, entry: ChunkEntry, nowMs: number): void {
    const isRevoked = entry.revokedAt !== undefined && old?.revokedAt === undefined;
    if (isRevoked && !this.isCaused && this.#areAlike)
      this.find("movement", `partition ${partition} is revoked, and nobody has come or was wished for`, nowMs);
    if (old?.owner !== undefined && old.revokedAt === undefined && old.owner.key !== entry.owner?.key) {
      const holder = this.heldBy(partition, nowMs);
      if (holder?.sessionKey === old.owner.key)
        this.find("taken-from-the-living", `partition ${partition} is written to another while it is held`, nowMs);
    }
  }
}

function keyOf(partition: number, { term, n }: Revision): string {
  return `${partition} ${term.token} ${n}`;
}

function said({ term, n }: Revision): string {
  return `epoch ${term.token}.${n}`;
}
