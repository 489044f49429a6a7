// Beats: how a store tells two copies of one process apart. A cloned virtual machine has the session, the bids and the tokens of its original, so that nothing
// in a request says which of the two has sent it. But each keep leaves a new beat in the session's record, and names the beats that it may find there.
//
// Why at most one of two copies goes on. Let K be the beats that both knew when they parted. A keep that one of them sends later leaves a beat that was drawn
// after that, so the other does not know it. Once such a keep is applied, the record never holds a beat of K again: a keep that was sent before the
// parting names only beats of K, and finds none. So every later keep of the other is refused, and so is its will to end the session.
// This needs different draws in the two copies; the host provides them (election/fresh-beat.ts).
//
// Why a lone process is never refused. The record holds a beat that this process has sent: the last one that was answered, or one that was sent after it and
// not answered. All of these are named. A keep that arrives after a later one of the same process finds a beat that it does not name, and is refused:
// nothing is lost by that, because the later one has renewed the session, and the machine takes no notice of that refusal (`isOvertaken`).
// A few beats from before the last answer are named as well: a store that has forgotten its last writes in a failover goes back to one of them. This
// weakens nothing, because the record holds one of them only if no later keep stands, of this copy or of another.
//
// A copy whose session is over opens a new one. Its bids must then differ from those of the other copy, or it would take the other's seat for its own: so
// each session has a branch of its own, drawn with its first beat.
import type { Unknown } from "../base/outcome.ts";
import type { Bid, Kept, Session } from "./exchange.ts";
import type { Machine, Open, Opening, Request } from "./state.ts";

/** Beats up to the last one that was answered, this one among them. */
const ANSWERED_KNOWN = 4;
/**
 * More are not named: the oldest is forgotten. If that one stands there after all, a keep is refused and the session is lost, which is safe; pauses between tries grow, so
 * that only who renews by hand in a loop gets here. A keep never leaves a beat for the second time: on some stores the beat is the version that rivals watch.
 */
const KNOWN_MAX = 32;

/** Every bid and session nonce that is made now begins with this. */
export function prefixOf({ nonce, branch }: Machine): string {
  return `${nonce}${branch}`;
}

/** A bid that no attempt of this machine has had, nor will have. */
export function nextBid(machine: Machine): Bid {
  return `${prefixOf(machine)}.${++machine.bidsMade}` as Bid;
}

/**
 * An entry with this bid is about to be given back, so no attempt may have the bid later: a release that was sent twice would end that attempt's term in the midst of its work.
 * This matters where a copy has made the bid. Both copies count from the number that they had when they parted.
 */
export function passBid(machine: Machine, bid: Bid): void {
  const prefix = `${prefixOf(machine)}.`;
  const made = bid.startsWith(prefix) ? Number(bid.slice(prefix.length)) : 0;
  if (made > machine.bidsMade) machine.bidsMade = made;
}

/** The machine's keep as it is to be sent, with `fresh` as its beat. To be called in the same turn in which it is sent. Other requests are given back as they are. */
export function stampKeep(machine: Machine, errandId: number, request: Request, fresh: string): Request {
  const errand = machine.errands.get(errandId);
  const { session } = machine;
  if (request.method !== "keep" || errand?.kind !== "keep" || !machine.settings.guarantee.refusesClones) return request;
  if (session.kind === "none" || session.opened !== errand.opened) return request;
  if (session.kind === "opening") return { ...request, session: stampOpening(machine, session, fresh) };
  errand.beat = fresh;
  return { ...request, session: leave(session, fresh) };
}

/** All tries are one opening, so they leave one beat. */
function stampOpening(machine: Machine, opening: Opening, fresh: string): Opening["spec"] {
  if (opening.spec.beat === undefined) {
    machine.branch = `-${fresh.slice(0, 8)}`;
    opening.spec = { ...opening.spec, nonce: `${prefixOf(machine)}.s${opening.opened}`, beat: fresh };
  }
  return opening.spec;
}

/** A keep that leaves `beat` is about to be sent. Returns the session with the beats that the keep names. From now on the beat may stand in the record. */
export function leave(open: Open, beat: string): Session {
  const { beats } = open.session;
  const session = { ...open.session, beats: [...(beats ?? []), beat].slice(-KNOWN_MAX) };
  // Until the store has answered with a beat, nothing is known of the beat in the record.
  if (beats !== undefined) open.session = session;
  return session;
}

/** Adds beats that another sender knows of the same session and this one may not: they were sent before all that are known here. */
export function learnBeats(open: Open, beats: readonly string[] | undefined): void {
  const known = open.session.beats;
  if (beats === undefined || known === undefined) return;
  open.session = { ...open.session, beats: [...beats.filter((beat) => !known.includes(beat)), ...known] };
}

/** The answer to a keep of `open`: takes note of the beat that it names, and gives back what else it says. */
export function hearBeat(open: Open, { beat }: { readonly beat?: string | undefined }, kept: Kept): Kept {
  if (kept.kind === "session-lost" && isOvertaken(open, beat)) return OVERTAKEN;
  if (kept.kind !== "kept") return kept;
  const beats = stillKnown(open.session, kept.session);
  if (beats !== open.session.beats) open.session = { ...open.session, beats };
  return kept;
}

/** Whether a later keep has been sent, so that the refusal of this one may come from that. The answer to the later keep tells. */
function isOvertaken({ session: { beats } }: Open, beat: string | undefined): boolean {
  return beat !== undefined && beats !== undefined && beats.at(-1) !== beat;
}

const OVERTAKEN: Unknown = { kind: "unknown", cause: "a later renewal of this session may have overtaken it" };

/** If its answer names no beat, the store ignores beats. */
function stillKnown({ beats: known = [] }: Session, { beats: [beat] = [] }: Session): readonly string[] | undefined {
  if (beat === undefined) return undefined;
  const place = known.indexOf(beat);
  return place < 0 ? [...known, beat] : known.slice(Math.max(0, place - ANSWERED_KNOWN + 1));
}
