// What is done with the Lease of one name, as steps of the book: pure functions of the present Lease.
import {
  type Claim,
  type Claimed,
  type Hold,
  type Invitation,
  type Name,
  type Session,
  type Token,
  VACANT,
} from "../contract.ts";
import { readInvitation, writeInvitation } from "../invitations.ts";
import type { LeaseStep } from "./book.ts";
import type { KnownLeases } from "./known.ts";
import {
  annotated,
  ASKED,
  currentNote,
  granted,
  holderOf,
  INVITED,
  isHeldBy,
  type Lease,
  noteOf,
  renewed,
  tokenOf,
  ttlMsOf,
  vacated,
  VALUE,
} from "./lease.ts";
import { labelOfSession, leaseNameOf } from "./names.ts";
import { ttlTooLong } from "./refusals.ts";

export interface ClaimParts {
  readonly domain: string;
  readonly known: Pick<KnownLeases, "isVacant" | "seat">;
  readonly now: () => Date;
}

/** Renews the Lease if it is held by this hold. If there is no Lease, the hold is lost, and the Lease is not made anew. */
export function renewing(session: Session, hold: Hold, now: () => Date): LeaseStep<"lost"> {
  return (lease) =>
    lease !== undefined && isHeldBy(lease, session, hold) ? { next: renewed(lease, hold, now()) } : "lost";
}

/** Gives the Lease back if it is held by this session and bid, whatever its version. */
export function releasing(session: Session, hold: Hold, now: () => Date): LeaseStep<"not ours"> {
  const { name, bid } = hold;
  return (lease) =>
    lease !== undefined && isHeldBy(lease, session, { name, bid }) ? { next: vacated(lease, now()) } : "not ours";
}

export function claiming(claim: Claim, { domain, known, now }: ClaimParts): LeaseStep<Claimed> {
  const { session, name, bid, value } = claim;
  return (lease) => {
    if (lease !== undefined && isHeldBy(lease, session, { name, bid })) {
      if ((lease.metadata.annotations?.[VALUE] ?? "") === value) return { kind: "granted", hold: heldIn(lease, name) };
      return { next: annotated(lease, undefined, { [VALUE]: value || undefined }) };
    }
    if (!mayReplace(claim, lease, known)) return { kind: "beaten", seat: known.seat(name, lease) };
    const theirsMs = lease === undefined ? undefined : foreignTtlMs(lease);
    if (lease !== undefined && theirsMs !== undefined && session.ttlMs > theirsMs)
      return ttlTooLong(lease, session.ttlMs, theirsMs);
    const grant = { session, domain, name, bid, value };
    return { next: granted(lease, leaseNameOf(name), grant, labelOfSession(session.id), now()) };
  };
}

/** Over VACANT the last bid that held the Lease is not granted again: that claim was applied before, and comes late. */
function mayReplace({ name, over, bid }: Claim, lease: Lease | undefined, known: ClaimParts["known"]): boolean {
  if (over === VACANT) return known.isVacant(name, lease) && (lease === undefined || noteOf(lease)?.bid !== bid);
  return over !== undefined && over === known.seat(name, lease).version;
}

/** The ttl of a holder that is none of ours. */
function foreignTtlMs(lease: Lease): number | undefined {
  return holderOf(lease) !== "" && currentNote(lease) === undefined ? ttlMsOf(lease) : undefined;
}

/** The Lease is held by a term of ours. */
export function heldIn(lease: Lease, name: Name): Hold {
  const note = currentNote(lease);
  if (note === undefined) throw new Error("the Lease is not held by one of ours");
  return { name, bid: note.bid, token: tokenOf(lease, note) };
}

/** Asks the term of this token to hand over. */
export function asking(token: Token): LeaseStep<"asked" | "not leading"> {
  return (lease) => {
    if (lease === undefined || !isLedBy(lease, token)) return "not leading";
    const text = JSON.stringify({ domain: token.domain, value: `${token.value}`, bid: token.bid });
    return lease.metadata.annotations?.[ASKED] === text
      ? "asked"
      : { next: annotated(lease, undefined, { [ASKED]: text }) };
  };
}

function isLedBy(lease: Lease, { domain, value, bid }: Token): boolean {
  const note = currentNote(lease);
  const stands = note && tokenOf(lease, note);
  return stands?.domain === domain && stands.value === value && stands.bid === bid;
}

/** Tells the candidates that watch the Lease. An invitation after a term that is over concerns nobody: then nothing is written. */
export function inviting(invitation: Invitation): LeaseStep<"not leading"> {
  return (lease) => {
    if (lease === undefined || !isLedBy(lease, invitation.token)) return "not leading";
    const { n = 0 } = invitedOf(lease) ?? {};
    const text = JSON.stringify({ n: n + 1, invitation: writeInvitation(invitation) });
    return { next: annotated(lease, undefined, { [INVITED]: text }) };
  };
}

/** The last invitation at a Lease. */
export function invitedOf(
  lease: Lease,
): { readonly n: number; readonly invitation: Invitation | undefined } | undefined {
  const text = lease.metadata.annotations?.[INVITED];
  if (text === undefined) return undefined;
  try {
    const { n, invitation } = JSON.parse(text) as { readonly [field: string]: unknown };
    return { n: Number(n), invitation: readInvitation(String(invitation)) };
  } catch {
    return undefined;
  }
}

/** The request that stands at a Lease, as a hold of the term that was asked. */
export function askedOf(lease: Lease, name: Name): Hold | undefined {
  const text = lease.metadata.annotations?.[ASKED];
  const note = currentNote(lease);
  if (text === undefined || note === undefined) return undefined;
  try {
    const { domain, value, bid } = JSON.parse(text) as { readonly [field: string]: unknown };
    if (bid !== note.bid || typeof domain !== "string" || typeof value !== "string") return undefined;
    return { name, bid: note.bid, token: { domain, value: BigInt(value), bid: note.bid } };
  } catch {
    return undefined;
  }
}
