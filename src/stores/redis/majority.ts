// What several independent servers have answered together: the arithmetic of Redlock, without a clock and without I/O.
//
// n servers, a majority of q = ⌊n/2⌋ + 1. Two majorities have a server in common, and that server has given its seat to one bid only: so at most one bid has a majority, for as long as
// no server forgets. Everything here counts what is certain on one side and what is possible on the other; an answer that is still to come, or unknown, is possible.
//
// INVARIANT  granted and kept need q certain answers; lost, beaten and session-lost need that q can no longer be reached; anything between is unknown, or not decided yet
import { type Refused, unknown, type Unknown } from "../../base/outcome.ts";
import { asVersion, type Claimed, type Hold, type Kept, type Seat } from "../contract.ts";

/** One answer for each server: undefined while it has not answered. */
export type Votes<A> = readonly (A | undefined)[];

export function majorityOf(servers: number): number {
  return Math.floor(servers / 2) + 1;
}

type Failed = Refused | Unknown | { readonly kind: "session-lost" };

function count<A>(votes: Votes<A>, is: (vote: A) => boolean): number {
  return votes.filter((vote) => vote !== undefined && is(vote)).length;
}

/** How many servers may still answer so, or have answered so. */
function possible<A extends { readonly kind: string }>(votes: Votes<A>, is: (vote: A) => boolean): number {
  return votes.filter((vote) => vote === undefined || vote.kind === "unknown" || is(vote)).length;
}

// ---- keep

/** undefined: this is not decided before more servers have answered. */
export function decideKept(votes: Votes<Kept>, holds: readonly Hold[]): Kept | undefined {
  const quorum = majorityOf(votes.length);
  const kept = votes.filter((vote): vote is KeptVote => vote?.kind === "kept");
  const knew = (vote: Kept): boolean => vote.kind === "kept" && vote.proves !== false;
  if (count(votes, knew) < quorum) return decideFailure<Kept>(votes.map(asUnknown), knew);
  const standings = holds.map((hold) => standingOf(hold, votes, quorum));
  const mayChange = votes.includes(undefined);
  if (mayChange && standings.some((standing) => standing !== "renewed")) return undefined;
  const [{ session }] = kept as [KeptVote];
  const met = kept.find((vote) => vote.met !== undefined)?.met;
  return {
    kind: "kept",
    session,
    lost: holds.filter((_, index) => standings[index] === "lost"),
    unsure: holds.filter((_, index) => standings[index] === "unsure"),
    strays: straysOf(kept),
    ...(met === undefined ? {} : { met }),
  };
}

/** A server that has made the session anew has forgotten it, or never knew it. A session that a majority does not know is over. */
function asUnknown(vote: Kept | undefined): Kept | undefined {
  return vote?.kind === "kept" && vote.proves === false ? { kind: "session-lost" } : vote;
}

type KeptVote = Extract<Kept, { kind: "kept" }>;

/** A record is renewed if a majority has it and has renewed it. It is lost only if a majority cannot have it any more. */
function standingOf(hold: Hold, votes: Votes<Kept>, quorum: number): "renewed" | "lost" | "unsure" {
  const has = (vote: Kept): boolean => vote.kind === "kept" && !vote.lost.some(({ bid }) => bid === hold.bid);
  if (count(votes, has) >= quorum) return "renewed";
  // A refusal changes nothing at the server: it may still have the record.
  const mayHave = votes.filter(
    (vote) => vote === undefined || vote.kind === "unknown" || vote.kind === "refused" || has(vote),
  );
  return mayHave.length >= quorum ? "unsure" : "lost";
}

function straysOf(kept: readonly KeptVote[]): readonly Hold[] {
  const all = new Map(
    kept.flatMap(({ strays }) => strays.map((stray) => [`${stray.name}\n${stray.bid}`, stray] as const)),
  );
  return [...all.values()];
}

// ---- claim

/** undefined: this is not decided before more servers have answered. `not`: this bid has no majority and cannot get one, and what it got is to be taken back. */
export function decideClaim(votes: Votes<Claimed>): "granted" | "not" | "unsure" | undefined {
  const quorum = majorityOf(votes.length);
  const isGranted = (vote: Claimed): boolean => vote.kind === "granted";
  if (count(votes, isGranted) >= quorum) return "granted";
  if (possible(votes, isGranted) < quorum) return "not";
  return votes.includes(undefined) ? undefined : "unsure";
}

/** The answer to a claim that was not granted. `seat`: what the servers show together. */
export function answerUngranted(votes: Votes<Claimed>, seat: Seat | undefined): Claimed {
  const quorum = majorityOf(votes.length);
  const hasSeat = (vote: Claimed): boolean => vote.kind === "beaten" || vote.kind === "granted";
  if (seat !== undefined && count(votes, hasSeat) >= quorum) return { kind: "beaten", seat };
  const failed = decideFailure<Exclude<Claimed, { kind: "leftover" | "waiting" }>>(
    votes.map((vote) => vote ?? unknown(new Error("a server did not answer"))) as never,
    hasSeat,
  );
  return failed ?? unknown(new Error("a majority of the servers did not answer"));
}

// ---- failures

/** undefined: not decided, because a majority of what is wanted can still come. */
export function decideFailure<A extends { readonly kind: string }>(
  votes: Votes<A | Failed>,
  isWanted: (vote: A) => boolean,
): Failed | undefined {
  const quorum = majorityOf(votes.length);
  const spare = votes.length - quorum;
  if (count(votes, (vote) => vote.kind === "session-lost") > spare) return { kind: "session-lost" };
  const mayCome = votes.filter((vote) => vote === undefined || isWanted(vote as A));
  if (mayCome.length >= quorum) return undefined;
  const refusals = votes.filter((vote): vote is Refused => vote?.kind === "refused");
  if (refusals.length > spare) return joined(refusals, votes.length, spare);
  const first = votes.find((vote): vote is Unknown => vote?.kind === "unknown");
  return (
    first ??
    (refusals.length > 0 ? joined(refusals, votes.length, spare) : unknown(new Error("the servers do not agree")))
  );
}

/** So many servers refused that no majority is left. The refusal is final only if the servers whose refusal is final are so many. */
function joined(refusals: readonly Refused[], servers: number, spare: number): Refused {
  const final = refusals.filter(({ retryable }) => !retryable);
  const isFinal = final.length > spare;
  const [first] = (isFinal ? final : refusals) as [Refused];
  return {
    ...first,
    retryable: !isFinal,
    message: `${first.message} (${refusals.length} of ${servers} servers have refused)`,
  };
}

// ---- seats

const BETWEEN = "|";
const ABSENT = "?";

/** One seat out of what each server shows: held by the bid that has a majority, vacant where a majority could be had, and else by the bid that has most. */
export function seatOf(name: string, seats: Votes<Seat>): Seat {
  const version = asVersion(
    seats.map((seat) => (seat === undefined ? ABSENT : encodeURIComponent(seat.version))).join(BETWEEN),
  );
  const [most] = [...byHolder(seats).values()].toSorted((one, other) => other.length - one.length);
  const quorum = majorityOf(seats.length);
  const isVacant = count(seats, ({ state }) => state === "vacant") >= quorum && (most?.length ?? 0) < quorum;
  if (most === undefined || isVacant) return { name, version, state: "vacant" };
  const [shown] = most.toSorted((one, other) => (other.holder?.value?.length ?? 0) - (one.holder?.value?.length ?? 0));
  return { ...(shown as Seat), version };
}

function byHolder(seats: Votes<Seat>): ReadonlyMap<string, Seat[]> {
  const all = new Map<string, Seat[]>();
  for (const seat of seats) {
    if (seat?.state !== "held") continue;
    const key = seat.holder?.bid ?? seat.holder?.candidate ?? "";
    all.set(key, [...(all.get(key) ?? []), seat]);
  }
  return all;
}

/** The version that one server showed, out of the version of the whole. undefined: it showed none. */
export function versionAt(version: string, server: number): string | undefined {
  const part = version.split(BETWEEN)[server];
  return part === undefined || part === ABSENT ? undefined : decodeURIComponent(part);
}
