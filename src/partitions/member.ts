// One member of a group, as a pure machine: which partitions it leads, given the chunks that it has read. It reads no clock and speaks to no store; a host (member-host.ts, or a simulated
// world) carries out its effects.
//
// A member depends on one term of its own seat, its *session*. Everything that it leads depends on that term: the host lets no partition be held when
// the session's term is not.
//
// THE ARGUMENT for what a member says (`Ack`): "of chunk c I have seen revision r; of everything that r does not assign to me, only the listed partitions still run." Once true, this stays true:
//   - the machine reads the revisions of a chunk in their order, and takes no notice of one that is not later than the last;
//   - it begins a partition only when the last revision that it has seen assigns it to this very session and does not revoke it.
// So a partition that was revoked at or before r, and is not listed, does not run here, and will run here again only by a revision later than r. An ack that arrives late, twice, or after
// a later one does no harm. It is written with the session's own term (a memo of its seat), so that nobody else can write it.
//
// A partition whose work still runs when it is assigned to this session again, under a later epoch, begins anew after that work has settled.
import { assert, unreachable } from "../base/assert.ts";
import type { Chunk, SessionRef } from "./chunk.ts";
import { compareRevisions, isSameRevision, type Revision } from "./revision.ts";

export interface Ack {
  readonly chunk: number;
  readonly seen: Revision;
  /** Partitions that `seen` does not assign to this session, and whose work has not settled. */
  readonly stopping: readonly number[];
}

interface Lead {
  readonly epoch: Revision;
  readonly isStopping: boolean;
  /** The assignment that is begun when the present work has settled. */
  readonly next: Revision | undefined;
}

export interface MemberState {
  readonly session: SessionRef;
  readonly chunkSize: number;
  readonly leads: Map<number, Lead>;
  readonly seen: Map<number, Revision>;
  /** Chunks in which something of this session is revoked. */
  readonly revoked: Set<number>;
  /** Nothing is begun any more: the session's term has ended, or is ending. */
  hasLeft: boolean;
  /** The acks that were stated last, as text. */
  stated: string;
}

export type MemberInput =
  | { readonly type: "chunk"; readonly index: number; readonly chunk: Chunk }
  /** The work of this partition has ended after it was told to. */
  | { readonly type: "settled"; readonly partition: number }
  /** The session's term has ended, or is ending: everything stops. */
  | { readonly type: "leave" };

export type MemberEffect =
  /** Call the work, under this epoch. */
  | { readonly type: "begin"; readonly partition: number; readonly epoch: Revision }
  /** Abort its signal; answer with `settled` when the work has ended. Until then it is held. */
  | { readonly type: "stop"; readonly partition: number }
  /** Write these acks over what was stated before. From now on nothing that they speak of is held. */
  | { readonly type: "state"; readonly acks: readonly Ack[] };

export function createMember(session: SessionRef, chunkSize: number): MemberState {
  return {
    session,
    chunkSize,
    leads: new Map(),
    seen: new Map(),
    revoked: new Set(),
    hasLeft: false,
    stated: "[]",
  };
}

export function stepMember(state: MemberState, input: MemberInput): readonly MemberEffect[] {
  const effects: MemberEffect[] = [];
  switch (input.type) {
    case "chunk":
      readChunk(state, input.index, input.chunk, effects);
      break;
    case "settled":
      settle(state, input.partition, effects);
      break;
    case "leave":
      state.hasLeft = true;
      for (const partition of state.leads.keys()) stop(state, partition, undefined, effects);
      break;
    default:
      return unreachable(input);
  }
  if (!state.hasLeft) stateAcks(state, effects);
  return effects;
}

function readChunk(state: MemberState, index: number, { revision, entries }: Chunk, effects: MemberEffect[]): void {
  const last = state.seen.get(index);
  if (state.hasLeft || (last !== undefined && compareRevisions(revision, last) <= 0)) return;
  state.seen.set(index, revision);
  state.revoked.delete(index);
  const first = index * state.chunkSize;
  const leadsAny = leadsIn(state, first, first + entries.length);
  for (const [place, { owner, epoch, revokedAt }] of entries.entries()) {
    const partition = first + place;
    const isMine = owner?.key === state.session.key;
    if (!isMine && !leadsAny) continue;
    if (isMine && revokedAt !== undefined) state.revoked.add(index);
    const mine = isMine && revokedAt === undefined ? epoch : undefined;
    const lead = state.leads.get(partition);
    if (lead === undefined) {
      if (mine !== undefined) begin(state, partition, mine, effects);
    } else if (mine === undefined || !isSameRevision(mine, lead.epoch)) stop(state, partition, mine, effects);
  }
}

function leadsIn({ leads }: MemberState, from: number, to: number): boolean {
  for (const partition of leads.keys()) if (partition >= from && partition < to) return true;
  return false;
}

function begin(state: MemberState, partition: number, epoch: Revision, effects: MemberEffect[]): void {
  state.leads.set(partition, { epoch, isStopping: false, next: undefined });
  effects.push({ type: "begin", partition, epoch });
}

function stop(state: MemberState, partition: number, next: Revision | undefined, effects: MemberEffect[]): void {
  const lead = state.leads.get(partition);
  assert(lead !== undefined, "only what is led is stopped");
  state.leads.set(partition, { epoch: lead.epoch, isStopping: true, next });
  if (!lead.isStopping) effects.push({ type: "stop", partition });
}

function settle(state: MemberState, partition: number, effects: MemberEffect[]): void {
  const lead = state.leads.get(partition);
  // A session that has left has no next assignment: leaving removes it.
  assert(lead?.isStopping === true, "only what was stopped settles");
  state.leads.delete(partition);
  if (lead.next !== undefined) begin(state, partition, lead.next, effects);
}

/** SAFETY: an ack permits others to begin. It speaks only of revisions that were read, and lists everything that still runs. */
function stateAcks(state: MemberState, effects: MemberEffect[]): void {
  const acks = [...state.revoked]
    .toSorted((a, b) => a - b)
    .map((chunk): Ack => ({ chunk, seen: state.seen.get(chunk) as Revision, stopping: stoppingIn(state, chunk) }));
  const text = JSON.stringify(acks, (_key, value: unknown) => (typeof value === "bigint" ? `${value}` : value));
  if (text === state.stated) return;
  state.stated = text;
  effects.push({ type: "state", acks });
}

function stoppingIn({ leads, chunkSize }: MemberState, chunk: number): readonly number[] {
  const stopping: number[] = [];
  for (let partition = chunk * chunkSize; partition < (chunk + 1) * chunkSize; partition++)
    if (leads.get(partition)?.isStopping === true) stopping.push(partition);
  return stopping;
}
