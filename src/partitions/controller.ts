// The controller of a group, as a pure machine: what to write into the chunks, given what stands there, which sessions live, what they have said, and which are proven to be over. It reads no
// clock and speaks to no store; a host (controller-host.ts, or a simulated world) carries out its effects. It lives for one term of the controller's seat; the next term begins with what stands.
//
// THE ARGUMENT  why no partition is led by two sessions at one instant.
//   1. The writes of a chunk are in one order: each is a memo that the store accepts only from the term in the seat, over exactly what stood when it was made.
//   2. A session begins a partition only by a revision that assigns it to that session (member.ts). So two can lead it only if a write has replaced one owner by another.
//   3. Such a write is made here only if the old owner is FREE of the partition (`isFree`):
//      - it has said so: an ack of that very session, written with its own term, that has seen the revocation and does not list the partition as still running; or
//      - it is over: its seat was granted to somebody later. A grant needs the end of the term before it, by the judge's clock or by the taker's, and the holder's own deadline
//        comes before that (laws 1 and 2: a deadline counts from the send, and a rival waits for a full ttl of silence). That a look does not show a
//        session is no proof: a look may be old.
//   4. Acks and ends stay true for ever, so it does not matter how old the knowledge is on which a write rests.
// A session that is neither seen alive nor proven to be over keeps what it has. So does every session while there is no controller: the death of a controller changes nothing that is assigned.
//
// A partition of a dead session is assigned by one write. A partition of a living one moves by two: revoked, then, after the ack, assigned.
import { unreachable } from "../base/assert.ts";
import { assign, type AssignMember, FIXED, NOBODY } from "./assign.ts";
import { type Chunk, type ChunkEntry, type SessionRef, UNASSIGNED } from "./chunk.ts";
import { chunkOf, chunksOf, type PartitionLayout, sizeOfChunk } from "./layout.ts";
import type { Ack } from "./member.ts";
import { type ControllerTerm, covers, type Revision } from "./revision.ts";

/** What every controller of a group is told by its user. */
export interface GroupPlan {
  readonly layout: PartitionLayout;
  /** So many partitions of living members are on the move at once, at most. */
  readonly movesAtOnce: number;
  readonly weightOf?: ((partition: number) => number) | undefined;
  readonly zoneOf?: ((partition: number) => string | undefined) | undefined;
  /** The id of the member that should lead it while it is there. */
  readonly preferredOf?: ((partition: number) => string | undefined) | undefined;
}

/** A session that was seen in its seat, with what it has said there. */
export interface SeatedMember {
  readonly session: SessionRef;
  readonly weight: number;
  readonly zone?: string | undefined;
  readonly acks: readonly Ack[];
}

/** What operators have asked for. */
export interface OperatorWishes {
  /** Ids of members that give everything away. */
  readonly draining: ReadonlySet<string>;
  /** Partition → the id of the member that shall lead it while it is there. */
  readonly transfers: ReadonlyMap<number, string>;
}

interface ChunkState {
  n: number;
  entries: readonly ChunkEntry[];
  isWriting: boolean;
}

export interface ControllerState {
  readonly plan: GroupPlan;
  readonly term: ControllerTerm;
  readonly books: readonly ChunkState[];
  readonly weights: Float64Array | undefined;
  /** The members in the order of their ids. */
  members: readonly SeatedMember[];
  /** Id → every session of it with a lesser token is over. */
  readonly over: Map<string, bigint>;
  wishes: OperatorWishes;
  /** Something was decided while a chunk was being written, so that it has to be decided again when it is. Otherwise a write that is acknowledged changes nothing. */
  isBehind: boolean;
}

export type ControllerInput =
  /** All sessions that are in their seats. Each of them is a grant, so earlier sessions of the same id are over. */
  | { readonly type: "seen"; readonly members: readonly SeatedMember[] }
  /** A grant of this token was seen at the seat of `id`, whichever session got it: every session with a lesser token is over. */
  | { readonly type: "over"; readonly id: string; readonly below: bigint }
  | { readonly type: "wishes"; readonly wishes: OperatorWishes }
  /** The store has acknowledged the write of this chunk. A write whose outcome is unknown ends the term. */
  | { readonly type: "written"; readonly index: number };

/** Write this chunk over what stands; answer with `written`. */
export interface ControllerEffect {
  readonly type: "write";
  readonly index: number;
  readonly chunk: Chunk;
}

export const NO_WISHES: OperatorWishes = { draining: new Set(), transfers: new Map() };

/** `chunks`: what stands, read after the grant of `term`; undefined where nothing was ever written. */
export function createController(
  plan: GroupPlan,
  term: ControllerTerm,
  chunks: readonly (Chunk | undefined)[],
): ControllerState {
  const { layout, weightOf } = plan;
  const books = Array.from({ length: chunksOf(layout) }, (_, index): ChunkState => {
    const entries =
      chunks[index]?.entries ?? Array.from({ length: sizeOfChunk(layout, index) }, (): ChunkEntry => UNASSIGNED);
    return { n: 0, entries, isWriting: false };
  });
  const weights = weightOf && Float64Array.from({ length: layout.count }, (_, partition) => weightOf(partition));
  return { plan, term, books, weights, members: [], over: new Map(), wishes: NO_WISHES, isBehind: false };
}

export function stepController(state: ControllerState, input: ControllerInput): readonly ControllerEffect[] {
  switch (input.type) {
    case "seen":
      for (const { session } of input.members) noteOver(state, session.id, session.token);
      state.members = input.members
        .filter(({ session }) => !isOver(state, session))
        .toSorted((a, b) => (a.session.id < b.session.id ? -1 : 1));
      break;
    case "over":
      noteOver(state, input.id, input.below);
      state.members = state.members.filter(({ session }) => !isOver(state, session));
      break;
    case "wishes":
      state.wishes = input.wishes;
      break;
    case "written": {
      const book = state.books[input.index];
      if (book !== undefined) book.isWriting = false;
      if (!state.isBehind) return [];
      break;
    }
    default:
      return unreachable(input);
  }
  return rule(state);
}

/** The ids at whose seats the host stands, so that their ends are proven: those that were seen, and those that own something. */
export function idsToWatch(state: ControllerState): ReadonlySet<string> {
  const ids = new Set(state.members.map(({ session }) => session.id));
  for (const { entries } of state.books)
    for (const { owner } of entries) if (owner !== undefined && !isOver(state, owner)) ids.add(owner.id);
  return ids;
}

function noteOver(state: ControllerState, id: string, below: bigint): void {
  const known = state.over.get(id);
  if (known === undefined || below > known) state.over.set(id, below);
}

function isOver({ over }: ControllerState, { id, token }: SessionRef): boolean {
  const below = over.get(id);
  return below !== undefined && token < below;
}

/** SAFETY: only if this is true may another session be written in place of the owner. */
function isFree(state: ControllerState, partition: number, { owner, revokedAt }: ChunkEntry, acks: Acks): boolean {
  if (owner === undefined || isOver(state, owner)) return true;
  if (revokedAt === undefined) return false;
  const ack = acks.get(owner.key)?.get(chunkOf(state.plan.layout, partition));
  return ack !== undefined && covers(ack.seen, revokedAt) && !ack.stopping.includes(partition);
}

type Acks = ReadonlyMap<string, ReadonlyMap<number, Ack>>;

function rule(state: ControllerState): readonly ControllerEffect[] {
  state.isBehind = state.books.some(({ isWriting }) => isWriting);
  if (state.members.length === 0) return [];
  const acks: Acks = new Map(
    state.members.map(({ session, acks: said }) => [session.key, new Map(said.map((ack) => [ack.chunk, ack]))]),
  );
  const { owners, free, moving } = survey(state, acks);
  const wanted = assign({
    members: state.members.map((member) => asAssignable(member, state.wishes)),
    owners,
    weights: state.weights,
    zoneOf: state.plan.zoneOf,
    preferred: preferredOf(state),
    pinned: pinsOf(state),
    movesMax: Math.max(0, state.plan.movesAtOnce - moving),
  });
  return state.books.flatMap((book, index) => writeBook(state, book, index, free, wanted) ?? []);
}

interface Survey {
  /** In the form that `assign` takes: a partition that is on the move belongs to nobody. */
  readonly owners: Int32Array;
  readonly free: Uint8Array;
  /** How many partitions are revoked, and not free yet. */
  readonly moving: number;
}

function survey(state: ControllerState, acks: Acks): Survey {
  const { count } = state.plan.layout;
  const places = new Map(state.members.map(({ session }, place) => [session.key, place]));
  const owners = new Int32Array(count).fill(NOBODY);
  const free = new Uint8Array(count);
  let moving = 0;
  let partition = 0;
  for (const { entries } of state.books)
    for (const entry of entries) {
      if (isFree(state, partition, entry, acks)) free[partition] = 1;
      else {
        const place = places.get(entry.owner?.key ?? "");
        if (place === undefined) owners[partition] = FIXED;
        else if (entry.revokedAt === undefined) owners[partition] = place;
        else moving++;
      }
      partition++;
    }
  return { owners, free, moving };
}

function asAssignable({ session, weight, zone }: SeatedMember, { draining }: OperatorWishes): AssignMember {
  return { weight, zone, isDraining: draining.has(session.id) };
}

function placeOf(state: ControllerState): ReadonlyMap<string, number> {
  const { draining } = state.wishes;
  return new Map(
    state.members.flatMap(({ session }, place) => (draining.has(session.id) ? [] : [[session.id, place]])),
  );
}

function preferredOf(state: ControllerState): Int32Array | undefined {
  const { preferredOf: of, layout } = state.plan;
  if (of === undefined) return undefined;
  const places = placeOf(state);
  return Int32Array.from({ length: layout.count }, (_, partition) => places.get(of(partition) ?? "") ?? NOBODY);
}

function pinsOf({ wishes, ...state }: ControllerState): ReadonlyMap<number, number> {
  const places = placeOf({ wishes, ...state });
  return new Map(
    [...wishes.transfers].flatMap(([partition, id]) => {
      const place = places.get(id);
      return place === undefined || partition >= state.plan.layout.count ? [] : [[partition, place]];
    }),
  );
}

/** One write of a chunk at a time: the next is made over what the last one left. */
function writeBook(
  state: ControllerState,
  book: ChunkState,
  index: number,
  free: Uint8Array,
  wanted: Int32Array,
): ControllerEffect | undefined {
  if (book.isWriting) return undefined;
  const revision: Revision = { term: state.term, n: book.n + 1 };
  const first = index * state.plan.layout.chunkSize;
  let isChanged = false;
  const entries = book.entries.map((entry, place) => {
    const partition = first + place;
    const next = state.members[wanted[partition] as number]?.session;
    const after = free[partition] === 1 ? handOver(entry, next, revision) : revoke(entry, next, revision);
    if (after !== entry) isChanged = true;
    return after;
  });
  if (!isChanged) return undefined;
  book.n = revision.n;
  book.entries = entries;
  book.isWriting = true;
  return { type: "write", index, chunk: { revision, entries } };
}

/** The entry gets a new epoch, even if the partition comes back to its last owner. */
function handOver(entry: ChunkEntry, next: SessionRef | undefined, revision: Revision): ChunkEntry {
  return next === undefined ? entry : { owner: next, epoch: revision, revokedAt: undefined };
}

function revoke(entry: ChunkEntry, next: SessionRef | undefined, revision: Revision): ChunkEntry {
  if (entry.revokedAt !== undefined || next === undefined || next.key === entry.owner?.key) return entry;
  return { ...entry, revokedAt: revision };
}
