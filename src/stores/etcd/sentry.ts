// Hints for one name. A candidate in the queue watches its own entry, and the one right before it. When the one before goes, the next one before is looked for, and a
// hint is given when there is none. So a leader that leaves wakes one candidate and not all. An onlooker watches the first entry, or watches an empty line for
// a new candidate. Every watch begins right after the revision at which its key was read, so no change is missed between the two.
import type { EtcdLink } from "../../clients/etcd/link.ts";
import type { KeyValue, Operation, RangeRequest, WatchEvent } from "../../clients/etcd/messages.ts";
import type { StopSignal } from "../../clients/stop-signal.ts";
import type { Hint, Name, Question } from "../contract.ts";
import { domainOf, holderOf, keyOf, kindOf, type Line, lineOf, readRecord, versionOf } from "./entry.ts";
import { firstEntry } from "./look.ts";
import { memoKey } from "./memos.ts";
import { firstOfLine } from "./stand.ts";
import { inTurns, piecesOf } from "../few-at-once.ts";

export interface EtcdPost {
  readonly link: EtcdLink;
  readonly prefix: string;
  /** The signal for requests. */
  readonly signal: StopSignal;
  /** The functions that end the watches. There are many of them: one set costs less than as many listeners on one signal. */
  readonly stops: Set<() => void>;
  hint(hint: Hint): void;
  /** The source of the hints broke. */
  end(): void;
}

/** Each question takes two reads; etcd takes at most 128 operations in a transaction. */
const QUESTIONS_PER_TXN = 60;

export async function standSentries(post: EtcdPost, questions: readonly Question[]): Promise<void> {
  const ofMemos = questions.filter(({ memo }) => memo !== undefined);
  const lookingOn = questions.filter(({ bid, memo }) => bid === undefined && memo === undefined);
  const inLine = questions.filter(({ bid }) => bid !== undefined);
  await inTurns(piecesOf(inLine, QUESTIONS_PER_TXN), (some) => watchOwn(post, some));
  await inTurns(ofMemos, ({ name, memo = "" }) => watchMemo(post, name, memo));
  await inTurns(lookingOn, ({ name }) => watchFirst(post, lineOf(post.prefix, name)));
}

/**
 * Calls `then` for each event of the key until the post ends, or `then` returns "enough" or "last". After "enough" the watch is cancelled at etcd. After "last" it stays there until the post ends, and is heard no more:
 * a candidate that may be the first has to ask for its place at once, and a request that cancels the watch, and etcd's answer to that, would only delay it. One watch of a key that is gone is what this leaves.
 */
function follow(
  post: EtcdPost,
  request: { readonly key: Uint8Array; readonly rangeEnd?: Uint8Array },
  after: bigint,
  then: (event: WatchEvent) => "enough" | "last" | undefined,
): void {
  if (post.signal.aborted) return;
  let isOver = false;
  const hear = (events: readonly WatchEvent[]): void => {
    for (const event of events) {
      if (isOver) return;
      const said = then(event);
      isOver = said !== undefined;
      if (said === "enough") stop();
    }
  };
  const cancel = post.link.watches().add({ ...request, startRevision: after + 1n }, { hear, end: () => post.end() });
  const stop = (): void => {
    post.stops.delete(stop);
    cancel();
  };
  post.stops.add(stop);
}

/** A request to etcd that fails ends the watch that it was made for: a caller that still wants a watch begins anew. */
function again(post: EtcdPost, next: () => Promise<void>): void {
  next().catch(() => post.end());
}

// ---- in the line

async function watchOwn(post: EtcdPost, questions: readonly Question[]): Promise<void> {
  const asked = questions.map(({ name, bid, session }) => {
    const line = lineOf(post.prefix, name);
    return { line, bid, key: keyOf(post.prefix, name, session?.id ?? "") };
  });
  const success = asked.flatMap(({ line, key }): Operation[] => [{ range: { key } }, firstOfLine(line, true)]);
  const { header, responses } = await post.link.txn({ compare: [], success, failure: [] }, post.signal);
  const domain = domainOf(header.clusterId);
  const behind: Standing[] = [];
  asked.forEach(({ line, bid, key }, index) => {
    const own = responses[2 * index]?.kvs[0];
    if (own === undefined || readRecord(own.value)?.bid !== bid) return post.hint(ownIsGone(line, header.revision));
    follow(post, { key }, header.revision, ({ type, kv }) => {
      if (type !== "delete") return undefined;
      post.hint(ownIsGone(line, kv.modRevision));
      return "enough";
    });
    const standing = { line, own, domain };
    if (responses[2 * index + 1]?.kvs[0]?.key.equals(key) === true) post.hint(nobodyBefore(standing));
    else behind.push(standing);
    return undefined;
  });
  if (behind.length > 0) await watchPredecessors(post, behind);
}

interface Standing {
  readonly line: Line;
  readonly own: KeyValue;
  readonly domain: string;
}

/** New entries come only at the end of the queue. So the second in the queue becomes the first when the first one goes, and need not ask again. */
async function watchPredecessors(post: EtcdPost, standing: readonly Standing[]): Promise<void> {
  const found = await findPredecessors(post, standing);
  standing.forEach((each, index) => {
    const { revision, before, isFirst } = found[index] ?? NOBODY;
    // The hint is made now, and not when there is no time to lose.
    const hint = nobodyBefore(each);
    if (before === undefined) return post.hint(hint);
    follow(post, { key: before.key }, revision, ({ type }) => {
      if (type !== "delete") return undefined;
      if (isFirst) {
        post.hint(hint);
        return "last";
      }
      again(post, () => watchPredecessors(post, [each]));
      return "enough";
    });
    return undefined;
  });
}

function ownIsGone({ name }: Line, revision: bigint): Hint {
  return { name, seat: { name, version: versionOf(undefined, revision), state: "vacant" } };
}

/** A hint that makes a claim worthwhile: as far as can be seen, the entry is the first. */
function nobodyBefore({ line, own, domain }: Standing): Hint {
  const { name } = line;
  const holder = holderOf(line, own, domain);
  const seat = { version: versionOf(own, own.modRevision), state: "held", holder } as const;
  return { name, seat: { name, ...seat, place: { present: true, ahead: 0 } } };
}

interface Predecessor {
  /** The revision at which it was read. */
  readonly revision: bigint;
  readonly before: KeyValue | undefined;
  /** True if certainly nobody stands before it. */
  readonly isFirst: boolean;
}

const NOBODY: Predecessor = { revision: 0n, before: undefined, isFirst: true };

async function findPredecessors(
  { link, signal }: EtcdPost,
  standing: readonly Standing[],
): Promise<readonly Predecessor[]> {
  const ranges = standing.map(({ line, own }) => rangeBefore(line, own));
  const success = ranges.map((range): Operation => ({ range: { ...range, limit: 2 } }));
  const { header, responses } = await link.txn({ compare: [], success, failure: [] }, signal);
  return await Promise.all(
    standing.map(async ({ line }, index): Promise<Predecessor> => {
      const kvs = responses[index]?.kvs ?? [];
      const [nearest] = kvs;
      if (nearest === undefined || kindOf(line, nearest) === "entry")
        return { revision: header.revision, before: nearest, isFirst: kvs.length === 1 };
      const all = await link.range(ranges[index] ?? { key: line.start }, signal);
      const entries = all.kvs.filter((kv) => kindOf(line, kv) === "entry");
      return { revision: all.header.revision, before: entries[0], isFirst: entries.length === 1 };
    }),
  );
}

function rangeBefore(line: Line, own: KeyValue): RangeRequest {
  const maxCreateRevision = own.createRevision - 1n;
  return { key: line.start, rangeEnd: line.end, order: "newest first", keysOnly: true, maxCreateRevision };
}

// ---- a memo

/** Gives one hint at the beginning too. */
async function watchMemo(post: EtcdPost, name: Name, memo: string): Promise<void> {
  const key = memoKey(post.prefix, name, memo);
  const { header } = await post.link.range({ key, keysOnly: true }, post.signal);
  follow(post, { key }, header.revision, () => {
    post.hint({ name, memo });
    return undefined;
  });
  post.hint({ name, memo });
}

// ---- looking on

/** Gives one hint at the beginning too: something may have changed between the caller's look and now. */
async function watchFirst(post: EtcdPost, line: Line): Promise<void> {
  const { name, start, end } = line;
  const range = { key: start, rangeEnd: end, order: "oldest first", limit: 1, keysOnly: true } as const;
  const { header, kvs } = await post.link.range(range, post.signal);
  const first = await firstEntry(post.link, line, kvs[0], post.signal);
  if (first === undefined)
    follow(post, { key: start, rangeEnd: end }, header.revision, ({ type, kv }) => {
      if (type !== "put" || kindOf(line, kv) !== "entry") return undefined;
      again(post, () => watchFirst(post, line));
      return "enough";
    });
  else
    follow(post, { key: first.key }, header.revision, ({ type }) => {
      if (type === "put") post.hint({ name });
      else again(post, () => watchFirst(post, line));
      return type === "put" ? undefined : "enough";
    });
  post.hint({ name });
}
