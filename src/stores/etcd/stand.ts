// Joining the line and leaving it. Each is one transaction conditioned on the entry's own create revision; nobody else's key is ever written.
//
// `granted` is etcd's word, at one revision, that my entry is there and none of the line is before it. The order is etcd's: each entry is made once, at a
// revision of the whole store, and leaves only by release, deletion, or the end of its lease. So at any revision at most one entry is the first.
import { isLeaseNotFound } from "../../clients/etcd/errors.ts";
import type { Link } from "../../clients/etcd/link.ts";
import type { KeyValue, Operation } from "../../clients/etcd/messages.ts";
import { unknown } from "../../base/outcome.ts";
import type { Claim, Claimed, Hold, Session } from "../contract.ts";
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
import { foreignData } from "./refusals.ts";

/** Counting those ahead beyond this many is of no use to anybody. */
const COUNT_UP_TO = 1000;

export function firstOfLine({ start, end }: Line, keysOnly: boolean): Operation {
  return { range: { key: start, rangeEnd: end, order: "oldest first", limit: 1, keysOnly } };
}

export async function join(link: Link, prefix: string, claim: Claim, signal: AbortSignal): Promise<Claimed> {
  const { session, name, bid, value } = claim;
  const line = lineOf(prefix, name);
  const key = keyOf(line, session.id);
  const lease = leaseOfSession(session.id);
  const record = writeRecord({ candidate: session.candidate, bid, ttlMs: session.ttlMs, value });
  const first = firstOfLine(line, true);
  const joined = await link
    .txn(
      {
        compare: [{ key, createRevision: 0n }],
        success: [{ put: { key, value: record, lease } }, first],
        failure: [{ range: { key } }, first],
      },
      signal,
    )
    .catch(lostIfNoLease);
  if (joined === "session-lost") return { kind: "session-lost" };
  const { header, succeeded, responses } = joined;
  const own = succeeded ? undefined : responses[0]?.kvs[0];
  if (!succeeded) {
    const standing = own && readRecord(own.value);
    if (own === undefined || standing === undefined) return foreignEntry(key);
    if (standing.bid !== bid) return { kind: "leftover", bid: standing.bid };
    if (standing.value !== value && !(await announce(link, own, record, lease, signal)))
      return unknown("the entry went away while its value was written");
  }
  const revision = own?.createRevision ?? header.revision;
  const hold = holdOf(name, bid, revision, domainOf(header.clusterId));
  const foremost = responses[1]?.kvs[0];
  if (foremost?.key.equals(key) === true) return { kind: "granted", hold };
  return await findPlace(link, line, key, hold, signal);
}

function lostIfNoLease(error: unknown): "session-lost" {
  if (isLeaseNotFound(error)) return "session-lost";
  throw error;
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

/** Conditioned on session and bid. By the token in one request; where there is none, or another entry of that bid stands, by looking first. */
export async function leave(
  link: Link,
  prefix: string,
  session: Session,
  { name, bid, token }: Hold,
  signal: AbortSignal,
): Promise<void> {
  const key = keyOf(lineOf(prefix, name), session.id);
  const look: Operation = { range: { key } };
  const remove: Operation = { delete: { key } };
  for (let createRevision = token?.value; ;) {
    const answer =
      createRevision === undefined
        ? await link.txn({ compare: [], success: [look], failure: [] }, signal)
        : await link.txn({ compare: [{ key, createRevision }], success: [remove], failure: [look] }, signal);
    if (createRevision !== undefined && answer.succeeded) return;
    const entry = answer.responses[0]?.kvs[0];
    if (entry === undefined || readRecord(entry.value)?.bid !== bid) return;
    createRevision = entry.createRevision;
  }
}
