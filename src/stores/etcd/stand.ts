// Joins the line and leaves it. Each is one transaction with the entry's own create revision as its condition; a key of another client is never written.
//
// `granted` means that etcd says, at one revision, that my entry is there and no entry of the line is before it. The order is etcd's: each entry is made once, at a
// revision of the whole store, and leaves only by release, by deletion, or by the end of its lease. So at any revision at most one entry is the first.
//
// A candidate that already stands asks by a transaction of reads alone (`readStanding`). etcd answers it at one revision, no older than anything committed before
// it was asked (a linearizable read). So its answer is worth as much as that of a transaction which could also write, but it waits for no disk.
// That read is also the one that keep.ts needs to confirm a renewal: it was sent after the renewal was answered, and it shows an entry that is bound to the lease. So a grant
// confirms the keep whose witness the claim names, if the same member has answered both in the same raft term.
import { EtcdError, isLeaseNotFound } from "../../clients/etcd/errors.ts";
import type { EtcdLink } from "../../clients/etcd/link.ts";
import type { Compare, Header, KeyValue, Operation, TxnRequest, TxnResponse } from "../../clients/etcd/messages.ts";
import type { StopSignal } from "../../clients/stop-signal.ts";
import { unknown } from "../../base/outcome.ts";
import type { Bid, Claim, Claimed, Hold, Session } from "../contract.ts";
import { Banned } from "../banned.ts";
import { noBan } from "./bans.ts";
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
import { witnessOf } from "./keep.ts";
import { foreignData, outcomeOf } from "./refusals.ts";
import { inTurns, piecesOf } from "../few-at-once.ts";

/** etcd takes 128 operations in a transaction, and also counts those inside nested transactions. */
export const TOGETHER_MAX = 64;
/** It is of no use to count more entries ahead than this. */
const COUNT_UP_TO = 1000;

export function firstOfLine({ start, end }: Line, keysOnly: boolean): Operation {
  return { range: { key: start, rangeEnd: end, order: "oldest first", limit: 1, keysOnly } };
}

/** Answers in the order of `claims`, each for itself. Claims of one session are sent together, and those that already stand are sent separately. */
export async function joinAll(
  link: EtcdLink,
  prefix: string,
  claims: readonly Claim[],
  signal: StopSignal,
): Promise<readonly Claimed[]> {
  const answers = new Map<Claim, Claimed>();
  await inTurns(
    chunksOf(claims, ({ session, stands = false }) => `${session.id} ${stands}`),
    async (chunk) => {
      const joined = await joinTogether(link, prefix, chunk, signal);
      chunk.forEach((claim, index) => answers.set(claim, joined[index] ?? NO_ANSWER));
    },
  );
  return claims.map((claim) => answers.get(claim) ?? NO_ANSWER);
}

async function joinTogether(
  link: EtcdLink,
  prefix: string,
  claims: readonly Claim[],
  signal: StopSignal,
): Promise<readonly Claimed[]> {
  try {
    const { header, each } = await (claims[0]?.stands === true ? readStanding : join)(link, prefix, claims, signal);
    const joined = await Promise.all(
      claims.map((claim, index) => readJoin(link, prefix, claim, header, each[index], signal)),
    );
    const behind = joined.filter((each) => each.kind === "behind");
    const places = behind.length === 0 ? [] : await findPlaces(link, behind, guardOf(prefix, claims), signal);
    return joined.map((each) => (each.kind === "behind" ? (places[behind.indexOf(each)] ?? NO_ANSWER) : each));
  } catch (error) {
    if (isLeaseNotFound(error) || error instanceof Banned) return claims.map(() => ({ kind: "session-lost" }));
    // Nothing was applied because of one of the claims, so each is sent alone.
    if (
      claims.length > 1 &&
      error instanceof EtcdError &&
      (error.problem === "denied" || error.problem === "too-large")
    )
      return (await Promise.all(claims.map((claim) => joinTogether(link, prefix, [claim], signal)))).flat();
    return claims.map(({ name }) => outcomeOf(error, `${prefix}${name}/`));
  }
}

const NO_ANSWER = unknown("no answer for this claim");

/** The entry is in the line, with something before it. Another look finds its place. */
interface Behind extends EtcdOwnEntry {
  readonly kind: "behind";
  readonly hold: Hold;
  readonly confirms?: true;
}

/** The answer to several requests that were sent as one. */
interface Together {
  readonly header: Header;
  readonly each: readonly (TxnBody | undefined)[];
}

function join(link: EtcdLink, prefix: string, claims: readonly Claim[], signal: StopSignal): Promise<Together> {
  return txnTogether(
    link,
    claims.map((claim) => joinRequest(prefix, claim)),
    signal,
    guardOf(prefix, claims),
  );
}

/** Claims that are sent together belong to one session. */
function guardOf(prefix: string, [claim]: readonly Claim[]): readonly Compare[] {
  return claim === undefined ? [] : noBan(prefix, claim.session);
}

/** The entry that a join finds if it is not the first try. A candidate whose entry is gone joins anew, at the end. */
async function readStanding(
  link: EtcdLink,
  prefix: string,
  claims: readonly Claim[],
  signal: StopSignal,
): Promise<Together> {
  const success = claims.flatMap((claim) => standingReads(prefix, claim));
  const compare = guardOf(prefix, claims);
  const { header, succeeded, responses } = await link.txn({ compare, success, failure: [] }, signal);
  if (!succeeded) throw new Banned();
  const each = claims.map((_, index) => ({ succeeded: false, responses: responses.slice(2 * index, 2 * index + 2) }));
  const isThere = each.every(({ responses: [own] }) => own?.kvs[0] !== undefined);
  return isThere ? { header, each } : await join(link, prefix, claims, signal);
}

/** The own entry, and the first of the line. */
function standingReads(prefix: string, { name, session }: Claim): readonly Operation[] {
  return [{ range: { key: keyOf(prefix, name, session.id) } }, firstOfLine(lineOf(prefix, name), true)];
}

function joinRequest(prefix: string, claim: Claim): TxnRequest {
  const line = lineOf(prefix, claim.name);
  const key = keyOf(prefix, claim.name, claim.session.id);
  const put: Operation = { put: { key, value: recordOf(claim), lease: leaseOfSession(claim.session.id) } };
  return {
    compare: [{ key, createRevision: 0n }],
    success: [put, firstOfLine(line, true)],
    failure: standingReads(prefix, claim),
  };
}

function recordOf({ session, bid, value }: Claim): Buffer {
  return writeRecord({ candidate: session.candidate, bid, ttlMs: session.ttlMs, value });
}

async function readJoin(
  link: EtcdLink,
  prefix: string,
  claim: Claim,
  header: Header,
  joined: TxnBody | undefined,
  signal: StopSignal,
): Promise<Claimed | Behind> {
  if (joined === undefined) return NO_ANSWER;
  const { name, bid, value, session } = claim;
  const line = lineOf(prefix, name);
  const key = keyOf(prefix, name, session.id);
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
  const confirms = claim.witness === witnessOf(header) ? ({ confirms: true } as const) : {};
  if (foremost?.key.equals(key) === true) return { kind: "granted", hold, ...confirms };
  return { kind: "behind", line, key, hold, revision: hold.token?.value ?? 0n, ...confirms };
}

function foreignEntry(key: Buffer): Claimed {
  const message = `etcd: ${key.toString("utf8")} is this candidate's own key, and somebody else has written to it. Nothing was overwritten. Find out who writes there, or use another name.`;
  return { kind: "refused", code: "STORE_FOREIGN_DATA", message, retryable: false };
}

/** A claim of a bid that already stands only changes the announced value. */
async function announce(
  link: EtcdLink,
  own: KeyValue,
  value: Buffer,
  lease: bigint,
  signal: StopSignal,
): Promise<boolean> {
  const { key, createRevision } = own;
  const success: Operation[] = [{ put: { key, value, lease } }];
  return (await link.txn({ compare: [{ key, createRevision }], success, failure: [] }, signal)).succeeded;
}

/** At least one key is before each of these. */
async function findPlaces(
  link: EtcdLink,
  behind: readonly Behind[],
  guard: readonly Compare[],
  signal: StopSignal,
): Promise<readonly Claimed[]> {
  const before = await entriesBefore(link, behind, signal, guard);
  return await Promise.all(behind.map((place, index) => placeAmong(link, place, before[index], signal)));
}

async function placeAmong(
  link: EtcdLink,
  { line, key, hold, revision, confirms }: Behind,
  ahead: readonly KeyValue[] | undefined,
  signal: StopSignal,
): Promise<Claimed> {
  if (ahead === undefined) return unknown("the entry went away while its place was looked for");
  const data = ahead.find((kv) => kindOf(line, kv) === "data");
  if (data !== undefined) {
    const success: Operation[] = [{ delete: { key } }];
    await link.txn({ compare: [{ key, createRevision: revision }], success, failure: [] }, signal);
    return foreignData(data.key.toString("utf8"));
  }
  const before = ahead.filter((kv) => kindOf(line, kv) === "entry").length;
  if (before > 0) return { kind: "waiting", hold, ahead: before };
  return confirms === true ? { kind: "granted", hold, confirms } : { kind: "granted", hold };
}

/** An entry of ours, by its create revision. */
export interface EtcdOwnEntry {
  readonly line: Line;
  readonly key: Buffer;
  readonly revision: bigint;
}

/** For each place: the keys that were made below its name before it, or undefined if that entry is no longer there. At most TOGETHER_MAX places. */
export async function entriesBefore(
  link: EtcdLink,
  places: readonly EtcdOwnEntry[],
  signal: StopSignal,
  guard: readonly Compare[] = [],
): Promise<readonly (readonly KeyValue[] | undefined)[]> {
  const { each } = await txnTogether(
    link,
    places.map((place) => beforeRequest(place, COUNT_UP_TO, guard)),
    signal,
  );
  return await Promise.all(
    places.map(async (place, index) => {
      const { succeeded = false, responses = [] } = each[index] ?? {};
      if (!succeeded) return undefined;
      const { kvs = [], more = false } = responses[0] ?? {};
      if (!more || kvs.some((kv) => kindOf(place.line, kv) !== "other election")) return kvs;
      // The first thousand are only keys of longer names, so all keys are read.
      const whole = await link.txn(beforeRequest(place, undefined, guard), signal);
      return whole.succeeded ? whole.responses[0]?.kvs : undefined;
    }),
  );
}

function beforeRequest(
  { line, key, revision }: EtcdOwnEntry,
  limit: number | undefined,
  guard: readonly Compare[],
): TxnRequest {
  const range = { key: line.start, rangeEnd: line.end, keysOnly: true, maxCreateRevision: revision - 1n, limit };
  return { compare: [{ key, createRevision: revision }, ...guard], success: [{ range }], failure: [] };
}

/** The condition is session and bid. With the token, one request serves all. Without a token, or if another entry of that bid stands there, a look comes first. */
export async function leaveAll(
  link: EtcdLink,
  prefix: string,
  session: Session,
  holds: readonly Hold[],
  signal: StopSignal,
): Promise<void> {
  await inTurns(piecesOf(holds, TOGETHER_MAX), async (some) => {
    const entries = some.map(({ name, bid, token }) => {
      const key = keyOf(prefix, name, session.id);
      return { key, bid, createRevision: token?.value };
    });
    const { each } = await txnTogether(link, entries.map(leaveRequest), signal);
    await Promise.all(entries.map((entry, index) => finishLeaving(link, entry, each[index], signal)));
  });
}

interface Leaving {
  readonly key: Buffer;
  readonly bid: Bid;
  /** Undefined if it is not known yet. */
  readonly createRevision: bigint | undefined;
}

function leaveRequest({ key, createRevision }: Leaving): TxnRequest {
  const look: Operation = { range: { key } };
  if (createRevision === undefined) return { compare: [], success: [look], failure: [] };
  return { compare: [{ key, createRevision }], success: [{ delete: { key } }], failure: [look] };
}

async function finishLeaving(
  link: EtcdLink,
  leaving: Leaving,
  answer: TxnBody | undefined,
  signal: StopSignal,
): Promise<void> {
  if (leaving.createRevision !== undefined && answer?.succeeded === true) return;
  const entry = answer?.responses[0]?.kvs[0];
  if (entry === undefined || readRecord(entry.value)?.bid !== leaving.bid) return;
  const found = { ...leaving, createRevision: entry.createRevision };
  await finishLeaving(link, found, await link.txn(leaveRequest(found), signal), signal);
}

// ---- several at once

type TxnBody = Omit<TxnResponse, "header">;

/** Nested transactions, each with its own comparison: one request and one commit for all. */
async function txnTogether(
  link: EtcdLink,
  requests: readonly TxnRequest[],
  signal: StopSignal,
  guard: readonly Compare[] = [],
): Promise<Together> {
  const [only] = requests;
  if (only !== undefined && requests.length === 1 && guard.length === 0) {
    const answer = await link.txn(only, signal);
    return { header: answer.header, each: [answer] };
  }
  const success = requests.map((txn): Operation => ({ txn }));
  const { header, succeeded, responses } = await link.txn({ compare: guard, success, failure: [] }, signal);
  if (!succeeded) throw new Banned();
  return { header, each: responses.map(({ txn }) => txn) };
}

/** Makes chunks of limited size, each with items of one key only. */
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
