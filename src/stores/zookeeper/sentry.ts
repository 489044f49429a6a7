// Hints for one name. A candidate in the line watches its own entry, and the one right before it. When the one before goes, the next one before is looked for, and a hint is
// given when there is none. So a leader that leaves wakes one candidate and not all. An onlooker watches the first entry, or watches an empty line for a new candidate.
// In a race all candidates watch the seat. A watch of ZooKeeper fires once, and is set by the very request that reads the node, so no change is missed between the two.
import type { WatchedEvent } from "../../clients/zookeeper/messages.ts";
import type { Hint, Name, Question } from "../contract.ts";
import { inTurns } from "../few-at-once.ts";
import { type LineEntry, entryPrefix } from "./layout.ts";
import type { ZooKeeperLink } from "./link.ts";
import { seeLine } from "./look.ts";
import { memoPath } from "./memos.ts";
import { versionOf } from "./record.ts";
import { heldSeat, pathsOf } from "./seat.ts";
import type { TreePlace } from "./place.ts";

type Listener = (event: WatchedEvent) => void;

export class ZooKeeperPost {
  readonly link: ZooKeeperLink;
  readonly place: TreePlace;
  readonly #hint: (hint: Hint) => void;
  readonly #end: () => void;
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #stop: () => void;

  constructor(link: ZooKeeperLink, place: TreePlace, hint: (hint: Hint) => void, end: () => void) {
    this.link = link;
    this.place = place;
    this.#hint = hint;
    this.#end = end;
    this.#stop = link.connection.listen((event) => this.#hear(event), end);
  }

  async stand(questions: readonly Question[]): Promise<void> {
    await inTurns(questions, async (question) => {
      const { name, memo, bid } = question;
      if (memo !== undefined) await this.#watchMemo(name, memo);
      else if (this.place.shape === "race") await this.#watchSeat(name);
      else if (bid === undefined) await this.#watchFirst(name);
      else await this.#watchOwn(question, bid);
    });
  }

  stop(): void {
    this.#stop();
    this.#listeners.clear();
  }

  /** This is called before the request that sets the watch. `then` is called for every event of the path until it returns "enough". */
  #follow(path: string, then: (event: WatchedEvent) => "enough" | undefined): void {
    const listeners = this.#listeners.get(path) ?? new Set();
    this.#listeners.set(path, listeners);
    const listener: Listener = (event) => {
      if (then(event) !== "enough") return;
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(path);
    };
    listeners.add(listener);
  }

  #hear(event: WatchedEvent): void {
    // Listeners that are added during these calls are for the next event.
    const listeners = Array.from(this.#listeners.get(event.path) ?? []);
    for (const listener of listeners) listener(event);
  }

  /** A request that fails ends the watch that it was made for: a caller that still wants a watch begins anew. */
  #again(next: () => Promise<void>): void {
    next().catch(() => this.#end());
  }

  // ---- in the line

  async #watchOwn({ name, session }: Question, bid: NonNullable<Question["bid"]>): Promise<void> {
    const { parent, entries, zxid } = await seeLine(this.link, this.place, name);
    const prefix = entryPrefix(this.place.layout, session?.id ?? "", bid);
    const own = entries.find(({ node }) => node.startsWith(prefix));
    const gone = (): void => this.#hint({ name, seat: { name, version: versionOf(undefined, zxid), state: "vacant" } });
    if (own === undefined) return gone();
    const path = `${parent}/${own.node}`;
    this.#follow(path, ({ type }) => {
      if (type === "deleted") gone();
      else this.#again(async () => void (await this.link.exists(path, true)));
      return type === "deleted" ? "enough" : undefined;
    });
    if ((await this.link.exists(path, true)) === undefined) return gone();
    await this.#watchPredecessor(name, parent, own, entries);
    return undefined;
  }

  async #watchPredecessor(name: Name, parent: string, own: LineEntry, entries: readonly LineEntry[]): Promise<void> {
    const before = entries.findLast(({ sequence }) => sequence < own.sequence);
    if (before === undefined) return this.#hint(nobodyBefore(name, own));
    const path = `${parent}/${before.node}`;
    const next = async (): Promise<void> => {
      const line = await seeLine(this.link, this.place, name);
      await this.#watchPredecessor(name, parent, own, line.entries);
    };
    let isOver = false;
    this.#follow(path, ({ type }) => {
      if (isOver) return "enough";
      if (type === "deleted") this.#again(next);
      else this.#again(async () => void (await this.link.exists(path, true)));
      return type === "deleted" ? "enough" : undefined;
    });
    if ((await this.link.exists(path, true)) !== undefined) return undefined;
    isOver = true;
    return await next();
  }

  // ---- a memo

  /** Gives one hint at the beginning too. */
  async #watchMemo(name: Name, memo: string): Promise<void> {
    const path = memoPath(this.place.chroot, name, memo);
    this.#follow(path, () => {
      this.#hint({ name, memo });
      this.#again(async () => void (await this.link.exists(path, true)));
      return undefined;
    });
    await this.link.exists(path, true);
    this.#hint({ name, memo });
  }

  // ---- a race

  /** Every candidate that wants the seat watches it, so a holder that leaves wakes them all. Gives one hint at the beginning too. */
  async #watchSeat(name: Name): Promise<void> {
    const { chroot, domain } = this.place;
    const { seat: path } = pathsOf(chroot, name);
    const tell = async (): Promise<void> => {
      for (;;) {
        const found = await this.link.data(path, true);
        if (found !== undefined) return this.#hint({ name, seat: heldSeat(name, path, found, domain) });
        if ((await this.link.exists(path, true)) === undefined) break;
      }
      const version = versionOf(undefined, this.link.connection.lastZxid);
      this.#hint({ name, seat: { name, version, state: "vacant" } });
    };
    this.#follow(path, () => {
      this.#again(tell);
      return undefined;
    });
    await tell();
  }

  // ---- looking on

  /** Gives one hint at the beginning too: something may have changed between the caller's look and now. */
  async #watchFirst(name: Name): Promise<void> {
    const { parent, entries } = await seeLine(this.link, this.place, name);
    const [first] = entries;
    const path = first === undefined ? parent : `${parent}/${first.node}`;
    let isOver = false;
    this.#follow(path, ({ type }) => {
      if (isOver) return "enough";
      if (type === "data") {
        this.#hint({ name });
        this.#again(async () => void (await this.link.exists(path, true)));
        return undefined;
      }
      isOver = true;
      this.#again(() => this.#watchFirst(name));
      return "enough";
    });
    if (await this.#isArmed(path, first, parent)) return this.#hint({ name });
    isOver = true;
    return await this.#watchFirst(name);
  }

  /** True if the entry is still there or, for an empty line, if the line is still empty. If the election's node does not exist, its creation is watched. */
  async #isArmed(path: string, first: LineEntry | undefined, parent: string): Promise<boolean> {
    if (first !== undefined) return (await this.link.exists(path, true)) !== undefined;
    const { found } = await this.link.children(parent, true);
    if (found !== undefined) return found.names.length === 0;
    return (await this.link.exists(parent, true)) === undefined;
  }
}

/** A hint that makes a claim worthwhile: as far as can be seen, the entry is the first. */
function nobodyBefore(name: Name, own: LineEntry): Hint {
  const seat = { name, version: versionOf(BigInt(own.sequence), 0n), state: "held" } as const;
  return { name, seat: { ...seat, place: { present: true, ahead: 0 } } };
}
