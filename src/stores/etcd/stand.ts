// Joining the line and leaving it. Each is one transaction conditioned on the entry's own create revision; nobody else's key is ever written.
//
// `granted` is etcd's word, at one revision, that my entry is there and none of the line is before it. The order is etcd's: each entry is made once, at a
// revision of the whole store, and leaves only by release, deletion, or the end of its lease. So at any revision at most one entry is the first.
import { EtcdError, isLeaseNotFound } from "../../clients/etcd/errors.ts";
import type { Link } from "../../clients/etcd/link.ts";
import type { Header, KeyValue, Operation, TxnRequest, TxnResponse } from "../../clients/etcd/messages.ts";
import { unknown } from "../../base/outcome.ts";
import type { Bid, Claim, Claimed, Hold, Session } from "../contract.ts";
import {
  domainOf,
  holdOf,
  keyOf,
  kindOf,
  leaseOfSession,
  type Line,
  lineOf,
  readRecord,
  writeRecord,
} from "./entry.ts";
import { foreignData, outcomeOf } from "./refusals.ts";

/** etcd takes 128 operations in a transaction, and counts those inside it too. */
const TOGETHER_MAX = 64;
/** Counting those ahead beyond this many is of no use to anybody. */
const COUNT_UP_TO = 1000;

export function firstOfLine({ start, end }: Line, keysOnly: boolean): Operation {
  return { range: { key: start, rangeEnd: end, order: "oldest first", limit: 1, keysOnly } };
}

/** Answers in the order of `claims`, each for itself. Those of one session go together. */
export async function joinAll(
  link: Link,
  prefix: string,
  claims: readonly Claim[],
  signal: AbortSignal,
): Promise<readonly Claimed[]> {
  const answers = new Map<Claim, Claimed>();
  await Promise.all(
    chunksOf(claims, ({ session }) => session.id).map(async (chunk) => {
      const joined = await joinTogether(link, prefix, chunk, signal);
      chunk.forEach((claim, index) => answers.set(claim, joined[index] ?? unknown("no answer for this claim")));
    }),
  );
  return claims.map((claim) => answers.get(claim) ?? unknown("no answer for this claim"));
}

async function joinTogether(
  link: Link,
  prefix: string,
  claims: readonly Claim[],
  signal: AbortSignal,
): Promise<readonly Claimed[]> {
  try {
    const requests = claims.map((claim) => joinRequest(prefix, claim));
    const { header, each } = await txnTogether(link, requests, signal);
    return await Promise.all(claims.map((claim, index) => readJoin(link, prefix, claim, header, each[index], signal)));
  } catch (error) {
    if (isLeaseNotFound(error)) return claims.map(() => ({ kind: "session-lost" }));
    // Nothing of it was applied because of one of them: each for itself, then.
    if (
      claims.length > 1 &&
      error instanceof EtcdError &&
      (error.problem === "denied" || error.problem === "too-large")
    )
      return (await Promise.all(claims.map((claim) => joinTogether(link, prefix, [claim], signal)))).flat();
    return claims.map(({ name }) => outcomeOf(error, `${prefix}${name}/`));
  }
}

function joinRequest(prefix: string, claim: Claim): TxnRequest {
  const line = lineOf(prefix, claim.name);
  const key = keyOf(line, claim.session.id);
  const first = firstOfLine(line, true);
  return {
    compare: [{ key, createRevision: 0n }],
    success: [{ put: { key, value: recordOf(claim), lease: leaseOfSession(claim.session.id) } }, first],
    failure: [{ range: { key } }, first],
  };
}

function recordOf({ session, bid, value }: Claim): Buffer {
  return writeRecord({ candidate: session.candidate, bid, ttlMs: session.ttlMs, value });
}

async function readJoin(
  link: Link,
  prefix: string,
  claim: Claim,
  header: Header,
  joined: TxnBody | undefined,
  signal: AbortSignal,
): Promise<Claimed> {
  if (joined === undefined) return unknown("no answer for this claim");
  const { name, bid, value, session } = claim;
  const line = lineOf(prefix, name);
  const key = keyOf(line, session.id);
  const own = joined.succeeded ? undefined : joined.responses[0]?.kvs[0];
  if (!joined.succeeded) {
    const standing = own && readRecord(own.value);
    if (own === undefined || standing === undefined) return foreignEntry(key);
    if (standing.bid !== bid) return { kind: "leftover", bid: standing.bid };
    if (standing.value !== value && !(await announce(link, own, recordOf(claim), leaseOfSession(session.id), signal)))
      return unknown("the entry went away while its value was written");
  }
  const hold = holdOf(name, bid, own?.createRevision ?? header.revision, domainOf(header.clusterId));
  const foremost = joined.responses[1]?.kvs[0];
  if (foremost?.key.equals(key) === true) return { kind: "granted", hold };
  return await findPlace(link, line, key, hold, signal);
}

function foreignEntry(key: Buffer): Claimed {
  const message = `etcd: ${key.toString("utf8")} is this candidate's own key, and somebody else has written to it. Nothing was overwritten. Find out who writes there, or use another name.`;
  return { kind: "refused", code: "STORE_FOREIGN_DATA", message, retryable: false };
}

/** A claim of a bid that stands already only changes what is announced. */
async function announce(
  link: Link,
  own: KeyValue,
  value: Buffer,
  lease: bigint,
  signal: AbortSignal,
): Promise<boolean> {
  const { key, createRevision } = own;
  const success: Operation[] = [{ put: { key, value, lease } }];
  return (await link.txn({ compare: [{ key, createRevision }], success, failure: [] }, signal)).succeeded;
}

/** Somebody or something is before me. */
async function findPlace(link: Link, line: Line, key: Buffer, hold: Hold, signal: AbortSignal): Promise<Claimed> {
  const revision = hold.token?.value ?? 0n;
  const ahead = await entriesBefore(link, line, key, revision, signal);
  if (ahead === undefined) return unknown("the entry went away while its place was looked for");
  const data = ahead.find((kv) => kindOf(line, kv) === "data");
  if (data !== undefined) {
    const success: Operation[] = [{ delete: { key } }];
    await link.txn({ compare: [{ key, createRevision: revision }], success, failure: [] }, signal);
    return foreignData(data.key.toString("utf8"));
  }
  const before = ahead.filter((kv) => kindOf(line, kv) === "entry").length;
  return before === 0 ? { kind: "granted", hold } : { kind: "waiting", hold, ahead: before };
}

/** What was made below the name before `revision`, as long as my entry of that revision is there; keys only. */
export async function entriesBefore(
  link: Link,
  line: Line,
  key: Buffer,
  revision: bigint,
  signal: AbortSignal,
): Promise<readonly KeyValue[] | undefined> {
  const range = { key: line.start, rangeEnd: line.end, keysOnly: true, maxCreateRevision: revision - 1n };
  for (const limit of [COUNT_UP_TO, undefined]) {
    const compare = [{ key, createRevision: revision }];
    const answer = await link.txn({ compare, success: [{ range: { ...range, limit } }], failure: [] }, signal);
    if (!answer.succeeded) return undefined;
    const { kvs = [], more = false } = answer.responses[0] ?? {};
    if (!more || kvs.some((kv) => kindOf(line, kv) !== "other election")) return kvs;
  }
  return undefined;
}

/** Conditioned on session and bid. By the token in one request for all; where there is none, or another entry of that bid stands, by looking first. */
export async function leaveAll(
  link: Link,
  prefix: string,
  session: Session,
  holds: readonly Hold[],
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(
    chunksOf(holds, () => session.id).map(async (chunk) => {
      const entries = chunk.map(({ name, bid, token }) => {
        const key = keyOf(lineOf(prefix, name), session.id);
        return { key, bid, createRevision: token?.value };
      });
      const { each } = await txnTogether(link, entries.map(leaveRequest), signal);
      await Promise.all(entries.map((entry, index) => finishLeaving(link, entry, each[index], signal)));
    }),
  );
}

interface Leaving {
  readonly key: Buffer;
  readonly bid: Bid;
  /** None: not known yet. */
  readonly createRevision: bigint | undefined;
}

function leaveRequest({ key, createRevision }: Leaving): TxnRequest {
  const look: Operation = { range: { key } };
  if (createRevision === undefined) return { compare: [], success: [look], failure: [] };
  return { compare: [{ key, createRevision }], success: [{ delete: { key } }], failure: [look] };
}

async function finishLeaving(
  link: Link,
  leaving: Leaving,
  answer: TxnBody | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (leaving.createRevision !== undefined && answer?.succeeded === true) return;
  const entry = answer?.responses[0]?.kvs[0];
  if (entry === undefined || readRecord(entry.value)?.bid !== leaving.bid) return;
  const found = { ...leaving, createRevision: entry.createRevision };
  await finishLeaving(link, found, await link.txn(leaveRequest(found), signal), signal);
}

// ---- several at once

type TxnBody = Omit<TxnResponse, "header">;

/** Transactions inside one, each with its own comparison: one request and one commit for all. */
async function txnTogether(
  link: Link,
  requests: readonly TxnRequest[],
  signal: AbortSignal,
): Promise<{ readonly header: Header; readonly each: readonly (TxnBody | undefined)[] }> {
  const [only] = requests;
  if (only !== undefined && requests.length === 1) {
    const answer = await link.txn(only, signal);
    return { header: answer.header, each: [answer] };
  }
  const success = requests.map((txn): Operation => ({ txn }));
  const { header, responses } = await link.txn({ compare: [], success, failure: [] }, signal);
  return { header, each: responses.map(({ txn }) => txn) };
}

/** At most so many, and only those of one key together. */
function chunksOf<T>(all: readonly T[], keyOfEach: (one: T) => string): readonly T[][] {
  const chunks: T[][] = [];
  const open = new Map<string, T[]>();
  for (const one of all) {
    const key = keyOfEach(one);
    let chunk = open.get(key);
    if (chunk === undefined || chunk.length >= TOGETHER_MAX) {
      chunk = [];
      open.set(key, chunk);
      chunks.push(chunk);
    }
    chunk.push(one);
  }
  return chunks;
}
