// A Lease as an election reads and writes it. The spec is what client-go writes, field by field, so that a Go candidate stands in the same election and kubectl shows the
// leader. What client-go has no room for stands in annotations, which it leaves alone:
//
//   conclave/name     the name of the election
//   conclave/term     JSON: the holder of the spec that this is about, candidate, session, bid, and from the first renewal on the token
//   conclave/value    what the leader announces
//   conclave/asked    JSON: the token whose term was asked to hand over
//   conclave/invited  JSON: the last invitation, and a number that tells it from the one before
//   conclave/memo-…   memos (memos.ts)
//
// and the label conclave/session, by which the Leases of one session are found.
//
// INVARIANT  conclave/term counts only while its holder is the holder of the spec: a Go candidate that takes the Lease leaves the annotation as it was
// INVARIANT  of the writes of one term, each renewal has a later second in `renewTime` than the one before
//   ARGUMENT: client-go compares what it has seen as JSON in which a time has whole seconds. Two renewals within one second look the same to it, so that its silence would
//   begin up to a second before our last renewal, and end before our deadline. A second that only grows makes each renewal a change, whatever the wall clock does.
import { microTime } from "../../clients/kubernetes/micro-time.ts";
import { sha256 } from "../../clients/sha256.ts";
import { Refusal } from "../../base/refusal.ts";
import {
  asBid,
  asVersion,
  type Bid,
  type Hold,
  type Name,
  type Seat,
  type Session,
  type Token,
  type Version,
} from "../contract.ts";

type Texts = Readonly<Record<string, string>>;

export interface Lease {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: Texts | undefined;
    readonly annotations?: Texts | undefined;
    /** Who has written which fields, as the server notes it. */
    readonly managedFields?: readonly Writer[] | undefined;
  };
  readonly spec: LeaseSpec;
}

interface Writer {
  readonly manager?: string | undefined;
  /** "Update" or "Apply" (of `kubectl apply --server-side`). */
  readonly operation?: string | undefined;
}

interface LeaseSpec {
  readonly holderIdentity?: string | undefined;
  readonly leaseDurationSeconds?: number | undefined;
  readonly acquireTime?: string | undefined;
  readonly renewTime?: string | undefined;
  readonly leaseTransitions?: number | undefined;
  readonly strategy?: string | undefined;
}

/** The part of a Lease that is ours. */
export interface TermNote {
  /** The holderIdentity to which it belongs. */
  readonly holder: string;
  readonly candidate: string;
  readonly session: string;
  readonly bid: Bid;
  readonly domain: string;
  /** In decimal. The first renewal writes it, because the write that grants a term cannot know its own version. */
  readonly token?: string | undefined;
}

export const NAME = "conclave/name";
export const TERM = "conclave/term";
export const VALUE = "conclave/value";
export const ASKED = "conclave/asked";
export const INVITED = "conclave/invited";
export const SESSION = "conclave/session";

/** Throws a refusal if it is not a Lease. */
export function readLease(json: unknown): Lease {
  const { metadata, spec } = (json ?? {}) as {
    readonly metadata?: Lease["metadata"];
    readonly spec?: LeaseSpec | null;
  };
  const { name, uid, resourceVersion } = metadata ?? {};
  if (typeof name !== "string" || typeof uid !== "string" || typeof resourceVersion !== "string")
    throw new Refusal(
      "STORE_FOREIGN_DATA",
      "kubernetes: the answer is no Lease. Does a proxy answer in place of the API server?",
    );
  if (!/^\d{1,20}$/.test(resourceVersion))
    throw new Refusal(
      "STORE_UNSUPPORTED",
      `kubernetes: the Lease ${name} has the version ${JSON.stringify(resourceVersion)}, which is no number. Tokens are versions, and must compare. Use an API server of Kubernetes itself, or another store.`,
    );
  return spec === undefined || spec === null ? { ...(json as Lease), spec: {} } : (json as Lease);
}

export function versionNumber({ metadata }: Lease): bigint {
  return BigInt(metadata.resourceVersion);
}

export function holderOf({ spec }: Lease): string {
  return spec.holderIdentity ?? "";
}

/** The ttl that the holder recorded; undefined if the Lease has none. */
export function ttlMsOf({ spec }: Lease): number | undefined {
  return typeof spec.leaseDurationSeconds === "number" ? spec.leaseDurationSeconds * 1000 : undefined;
}

/** The last Lease whose note was asked for: a Lease never changes, and its note is asked for several times in a row. A WeakMap of more of them costs more in garbage collection than reading notes anew. */
let lastLease: Lease | undefined;
let lastNote: TermNote | undefined;

export function noteOf(lease: Lease): TermNote | undefined {
  if (lease === lastLease) return lastNote;
  lastNote = readNote(lease.metadata.annotations?.[TERM]);
  lastLease = lease;
  return lastNote;
}

function readNote(text: string | undefined): TermNote | undefined {
  if (text === undefined) return undefined;
  try {
    const { holder, candidate, session, bid, domain, token } = JSON.parse(text) as Partial<
      Record<keyof TermNote, unknown>
    >;
    const texts = [holder, candidate, session, bid, domain];
    if (!texts.every((each) => typeof each === "string")) return undefined;
    const shown = typeof token === "string" && /^\d{1,20}$/.test(token) ? token : undefined;
    return { holder, candidate, session, bid: asBid(String(bid)), domain, token: shown } as TermNote;
  } catch {
    return undefined;
  }
}

/** The note of the term that holds the Lease now, if that is one of ours. */
export function currentNote(lease: Lease): TermNote | undefined {
  const note = noteOf(lease);
  return note !== undefined && note.holder !== "" && note.holder === holderOf(lease) ? note : undefined;
}

/** The token of a term of ours: the version of the granting write. Until it is recorded no other write of ours has been made, so it is the present version. */
export function tokenOf(lease: Lease, note: TermNote): Token {
  return {
    domain: note.domain,
    value: note.token === undefined ? versionNumber(lease) : BigInt(note.token),
    bid: note.bid,
  };
}

/** Whether the Lease is held by this very hold. A token that is not recorded yet decides nothing. */
export function isHeldBy(lease: Lease, session: Session, hold: Hold): boolean {
  const note = currentNote(lease);
  if (note === undefined || note.session !== session.id || note.bid !== hold.bid) return false;
  return note.token === undefined || hold.token === undefined || BigInt(note.token) === hold.token.value;
}

/**
 * Changes with every grant, renewal and release, by us or by Go, and with nothing else: a memo or a label is no sign of life. The uid tells a Lease that was deleted and made
 * again from the one before.
 */
export function versionOf({ metadata: { uid }, spec }: Lease): Version {
  const { holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions } = spec;
  const parts = [holderIdentity ?? "", leaseDurationSeconds, acquireTime, renewTime, leaseTransitions ?? 0];
  const digest = sha256(JSON.stringify(parts)).digest("base64url").slice(0, 22);
  return asVersion(`${uid}/${leaseTransitions ?? 0}/${digest}`);
}

export function seatOf(name: Name, lease: Lease): Seat {
  const version = versionOf(lease);
  const holder = holderOf(lease);
  if (holder === "") return { name, version, state: "vacant" };
  const note = currentNote(lease);
  const ttlMs = ttlMsOf(lease);
  if (note === undefined) return { name, version, state: "held", holder: { candidate: holder }, ttlMs };
  const { value, domain } = tokenOf(lease, note);
  const announced = lease.metadata.annotations?.[VALUE] ?? "";
  const shown = { candidate: note.candidate, bid: note.bid, token: value, domain, value: announced };
  return { name, version, state: "held", holder: shown, ttlMs };
}

// ---- what is written

interface Granting {
  readonly session: Session;
  readonly domain: string;
  readonly name: Name;
  readonly bid: Bid;
  readonly value: string;
}

/** The Lease as client-go makes one, or takes one over: `leaseTransitions` grows with every change of the holder, also after a release. */
export function granted(
  lease: Lease | undefined,
  leaseName: string,
  grant: Granting,
  label: string,
  now: Date,
): object {
  const { session, domain, name, bid, value } = grant;
  const holder = holderName(session.candidate, bid);
  const at = microTime(now);
  const note: TermNote = { holder, candidate: session.candidate, session: session.id, bid, domain };
  return {
    ...lease,
    metadata: {
      ...(lease?.metadata ?? { name: leaseName }),
      labels: { ...lease?.metadata.labels, [SESSION]: label },
      // What is undefined is not sent. An empty value is none, and nobody has asked this term for anything yet.
      annotations: {
        ...lease?.metadata.annotations,
        [NAME]: name,
        [TERM]: JSON.stringify(note),
        [VALUE]: value || undefined,
        [ASKED]: undefined,
        [INVITED]: undefined,
      },
    },
    spec: {
      ...lease?.spec,
      holderIdentity: holder,
      leaseDurationSeconds: session.ttlMs / 1000,
      acquireTime: at,
      renewTime: at,
      leaseTransitions: lease === undefined ? 0 : (lease.spec.leaseTransitions ?? 0) + 1,
    },
  };
}

/** A name in the form of Go's candidates: the candidate, and what tells this attempt from every other. A bid begins with a nonce, which mostly is in the candidate's id already. */
function holderName(candidate: string, bid: Bid): string {
  const nonce = bid.slice(0, bid.lastIndexOf("."));
  return nonce !== "" && candidate.endsWith(`_${nonce}`)
    ? `${candidate}${bid.slice(nonce.length)}`
    : `${candidate}_${bid}`;
}

/** Also records the token, because from now on the version of the Lease is another. */
export function renewed(lease: Lease, hold: Hold, now: Date): object {
  return { ...recorded(lease, hold.token), spec: { ...lease.spec, renewTime: laterSecond(lease.spec.renewTime, now) } };
}

/** The Lease with other annotations, and no other change. The token is recorded with them. */
export function annotated(
  lease: Lease,
  token: Token | undefined,
  annotations: Readonly<Record<string, string | undefined>>,
): object {
  const with_ = recorded(lease, token);
  return { ...with_, metadata: { ...with_.metadata, annotations: { ...with_.metadata.annotations, ...annotations } } };
}

/** The Lease as client-go gives it back: no holder, one second. The annotations stay, so that the bid that held it last is known. */
export function vacated(lease: Lease, now: Date): object {
  const at = microTime(now);
  return {
    ...lease,
    metadata: { ...lease.metadata, labels: { ...lease.metadata.labels, [SESSION]: undefined } },
    spec: { ...lease.spec, holderIdentity: "", leaseDurationSeconds: 1, acquireTime: at, renewTime: at },
  };
}

function recorded(lease: Lease, token: Token | undefined): Lease {
  const note = currentNote(lease);
  if (note === undefined || note.token !== undefined) return lease;
  const value = token?.value ?? versionNumber(lease);
  const text = JSON.stringify({ ...note, token: `${value}` });
  return { ...lease, metadata: { ...lease.metadata, annotations: { ...lease.metadata.annotations, [TERM]: text } } };
}

/** The wall clock, or the second after the recorded one, whichever is later. */
function laterSecond(before: string | undefined, now: Date): string {
  const beforeMs = before === undefined ? NaN : Date.parse(before);
  const least = Math.floor(beforeMs / 1000) * 1000 + 1000;
  return microTime(now.getTime() >= least || Number.isNaN(least) ? now : new Date(least));
}
