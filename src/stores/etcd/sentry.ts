// Hints for one name. A candidate in the queue watches its own entry, and the one right before it: when that goes, the next one before is looked for, and a
// hint is given when there is none. So a leader that leaves wakes one candidate and not all. An onlooker watches the first entry, or an empty line for
// somebody who comes. Every watch begins right after the revision at which its key was read, so that nothing falls between the two.
import type { Link } from "../../clients/etcd/link.ts";
import type { KeyValue, RangeResponse, WatchEvent } from "../../clients/etcd/messages.ts";
import type { Hint, Question } from "../contract.ts";
import { domainOf, holderOf, keyOf, kindOf, type Line, lineOf, readRecord, versionOf } from "./entry.ts";
import { firstEntry } from "./look.ts";

export interface Post {
  readonly link: Link;
  readonly prefix: string;
  readonly signal: AbortSignal;
  hint(hint: Hint): void;
  /** The source broke. */
  end(): void;
}

export async function standSentry(post: Post, question: Question): Promise<void> {
  const line = lineOf(post.prefix, question.name);
  if (question.bid === undefined) await watchFirst(post, line);
  else await watchOwn(post, line, question);
}

/** Calls `then` for each event of the key until the post ends or `then` says "enough". */
function follow(
  post: Post,
  request: { readonly key: Uint8Array; readonly rangeEnd?: Uint8Array },
  after: bigint,
  then: (event: WatchEvent) => "enough" | undefined,
): void {
  const hear = (events: readonly WatchEvent[]): void => {
    for (const event of events)
      if (then(event) === "enough") {
        stop();
        return;
      }
  };
  const cancel = post.link.watches().add({ ...request, startRevision: after + 1n }, { hear, end: () => post.end() });
  const stop = (): void => {
    post.signal.removeEventListener("abort", stop);
    cancel();
  };
  post.signal.addEventListener("abort", stop, { once: true });
  if (post.signal.aborted) stop();
}

/** A request to etcd that fails ends the watch it was made for: a caller that still wants one begins anew. */
function again(post: Post, next: () => Promise<void>): void {
  next().catch(() => post.end());
}

// ---- in the line

async function watchOwn(post: Post, line: Line, { bid, session }: Question): Promise<void> {
  const { name } = line;
  const { header, kvs } = await post.link.range({ key: keyOf(line, session?.id ?? "") }, post.signal);
  const [own] = kvs;
  const gone = (revision: bigint): void =>
    post.hint({ name, seat: { name, version: versionOf(undefined, revision), state: "vacant" } });
  if (own === undefined || readRecord(own.value)?.bid !== bid) return gone(header.revision);
  follow(post, { key: own.key }, header.revision, (event) => {
    if (event.type !== "delete") return undefined;
    gone(event.kv.modRevision);
    return "enough";
  });
  await watchPredecessor(post, line, own);
}

/** New entries come only at the end of the queue. So the second in the queue is the first when the first one goes, and need not ask again. */
async function watchPredecessor(post: Post, line: Line, own: KeyValue): Promise<void> {
  const { header, before, isFirst } = await findPredecessor(post, line, own);
  if (before === undefined) return post.hint(nobodyBefore(line, own, header));
  follow(post, { key: before.key }, header.revision, (event) => {
    if (event.type !== "delete") return undefined;
    if (isFirst) post.hint(nobodyBefore(line, own, header));
    else again(post, () => watchPredecessor(post, line, own));
    return "enough";
  });
}

/** Worth a claim: as far as can be seen, the entry is the first. */
function nobodyBefore(line: Line, own: KeyValue, { clusterId }: RangeResponse["header"]): Hint {
  const { name } = line;
  const holder = holderOf(line, own, domainOf(clusterId));
  const seat = { version: versionOf(own, own.modRevision), state: "held", holder } as const;
  return { name, seat: { name, ...seat, place: { present: true, ahead: 0 } } };
}

async function findPredecessor(
  { link, signal }: Post,
  line: Line,
  own: KeyValue,
): Promise<{
  readonly header: RangeResponse["header"];
  readonly before: KeyValue | undefined;
  /** Certainly nobody stands before it. */
  readonly isFirst: boolean;
}> {
  const range = {
    key: line.start,
    rangeEnd: line.end,
    order: "newest first",
    keysOnly: true,
    maxCreateRevision: own.createRevision - 1n,
  } as const;
  const near = await link.range({ ...range, limit: 2 }, signal);
  const [nearest] = near.kvs;
  if (nearest === undefined || kindOf(line, nearest) === "entry")
    return { header: near.header, before: nearest, isFirst: near.kvs.length === 1 };
  const all = await link.range(range, signal);
  const entries = all.kvs.filter((kv) => kindOf(line, kv) === "entry");
  return { header: all.header, before: entries[0], isFirst: entries.length === 1 };
}

// ---- looking on

/** Also hints once at the beginning: something may have changed between the asker's look and now. */
async function watchFirst(post: Post, line: Line): Promise<void> {
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
