// What operators see of a group, and what they can ask for. Everything that is read here is a hint, and no proof.
import type { Candidate } from "../election/face.ts";
import type { Call, StoredMemo, Seat, Store } from "../stores/contract.ts";
import { readAllMemos } from "../stores/memos.ts";
import { ConclaveError } from "../base/errors.ts";
import { askedOnce, noAnswerToRead } from "../base/outcome.ts";
import { parseChunk, type SessionRef } from "./chunk.ts";
import {
  checkGroup,
  chunkOfKey,
  controllerName,
  INDEX_KEY,
  MEMBER_KEY,
  memberName,
  REGISTRY_KEY,
  registryName,
  reserved,
} from "./names.ts";
import { changeRegistry, withDrain, withTransfer } from "./registry.ts";
import { epochDomain, epochToken } from "./revision.ts";
import { EMPTY_REGISTRY, type Index, parseIndex, parseRegistry, parseStatement, type Registry } from "./texts.ts";

export interface LeadStatus {
  readonly partition: number;
  /** Undefined: the partition was never assigned. */
  readonly member: string | undefined;
  readonly epoch: bigint | undefined;
  /** assigned: it belongs to a session that still holds its seat. revoked: its member was asked to stop. unled: it belongs to nobody, or to a session that has lost its seat. */
  readonly state: "assigned" | "revoked" | "unled";
}

export interface MemberStatus {
  readonly id: string;
  /** A session of the member holds a seat, and has written there that it is this member. */
  readonly isThere: boolean;
  readonly leads: number;
  readonly revoked: number;
  readonly weight: number | undefined;
  readonly zone: string | undefined;
  readonly isDraining: boolean;
}

export interface GroupStatus {
  readonly group: string;
  readonly partitions: number;
  readonly controller: { readonly id: string; readonly token: bigint | undefined } | undefined;
  readonly members: readonly MemberStatus[];
  readonly leads: readonly LeadStatus[];
  readonly transfers: ReadonlyMap<number, string>;
}

/** Undefined: the store knows no such group. */
export async function groupStatus(store: Store, group: string, call: Call): Promise<GroupStatus | undefined> {
  checkGroup(group, "conclave partitions");
  const memos = await readAllMemos(store, controllerName(group), call);
  const index = memos.find(({ key }) => key === reserved(INDEX_KEY));
  const registry = await registryOf(store, group, call);
  if (index === undefined && registry.ids.size === 0) return undefined;
  const layout = index && parseIndex(index.value);
  const count = layout?.count ?? registry.count ?? 0;
  const ids = [...registry.ids];
  const [controller, ...seats] = await lookAt(
    store,
    [controllerName(group), ...ids.map((id) => memberName(group, id))],
    call,
  );
  const there = new Map(ids.flatMap((id, place) => tokenOf(id, seats[place])));
  const leads = leadsOf(memos, group, count, layout, there);
  const members = await Promise.all(ids.map((id) => memberOf(store, group, id, registry, leads, there, call)));
  const holder = controller?.holder;
  return {
    group,
    partitions: count,
    controller: holder && { id: holder.candidate, token: holder.token },
    members,
    leads,
    transfers: registry.transfers,
  };
}

async function registryOf(store: Store, group: string, call: Call): Promise<Registry> {
  const memos = await readAllMemos(store, registryName(group), call);
  const memo = memos.find(({ key }) => key === reserved(REGISTRY_KEY));
  return memo === undefined ? EMPTY_REGISTRY : parseRegistry(memo.value);
}

async function lookAt(store: Store, names: readonly string[], call: Call): Promise<readonly Seat[]> {
  const answer = await store.look(
    names.map((name) => ({ name })),
    call,
  );
  if (answer.kind === "seen") return answer.seats;
  if (answer.kind === "refused")
    throw new ConclaveError(answer.code, askedOnce(answer.message), { retryable: answer.retryable });
  const { cause } = answer;
  const message = noAnswerToRead(store.guarantee.store, "the question who leads which partition", cause);
  throw new ConclaveError("STORE_TIMEOUT", message, { cause });
}

function tokenOf(id: string, seat: Seat | undefined): readonly (readonly [string, bigint])[] {
  const token = seat?.state === "abandoned" ? undefined : seat?.holder?.token;
  return token === undefined ? [] : [[id, token]];
}

function leadsOf(
  memos: readonly StoredMemo[],
  group: string,
  count: number,
  layout: Index | undefined,
  there: ReadonlyMap<string, bigint>,
): readonly LeadStatus[] {
  const leads = Array.from({ length: count }, (_, partition): LeadStatus => {
    return { partition, member: undefined, epoch: undefined, state: "unled" };
  });
  if (layout === undefined) return leads;
  const { chunkSize, domain } = layout;
  const isThere = ({ id, token }: SessionRef): boolean => there.get(id) === token;
  for (const { key, value } of memos) {
    const chunk = chunkOfKey(key);
    if (chunk === undefined) continue;
    for (const [place, { owner, epoch, revokedAt }] of parseChunk(value).entries.entries()) {
      if (owner === undefined || epoch === undefined) continue;
      const partition = chunk * chunkSize + place;
      const state = !isThere(owner) ? "unled" : revokedAt === undefined ? "assigned" : "revoked";
      leads[partition] = {
        partition,
        member: owner.id,
        epoch: epochToken(epochDomain(domain, group), epoch).value,
        state,
      };
    }
  }
  return leads;
}

async function memberOf(
  store: Store,
  group: string,
  id: string,
  { draining }: Registry,
  leads: readonly LeadStatus[],
  there: ReadonlyMap<string, bigint>,
  call: Call,
): Promise<MemberStatus> {
  const memos = await readAllMemos(store, memberName(group, id), call);
  const memo = memos.find(({ key }) => key === reserved(MEMBER_KEY));
  const isThere = memo !== undefined && there.get(id) === memo.token.value;
  const said = isThere ? parseStatement(memo.value) : undefined;
  const own = leads.filter(({ member }) => member === id);
  return {
    id,
    isThere,
    leads: own.filter(({ state }) => state === "assigned").length,
    revoked: own.filter(({ state }) => state === "revoked").length,
    weight: said?.weight,
    zone: said?.zone,
    isDraining: draining.has(id),
  };
}

/** False: there never was a member of that id. */
export async function drainMember(
  candidate: Candidate,
  group: string,
  id: string,
  isDraining: boolean,
): Promise<boolean> {
  let isKnown = true;
  await changeRegistry(candidate, group, (registry) => {
    isKnown = registry.ids.has(id);
    return isKnown ? withDrain(registry, id, isDraining) : registry;
  });
  return isKnown;
}

/** False: there never was a member of that id. `to` undefined: any member may lead it again. */
export async function transferPartition(
  candidate: Candidate,
  group: string,
  partition: number,
  to: string | undefined,
): Promise<boolean> {
  let isKnown = true;
  await changeRegistry(candidate, group, (registry) => {
    isKnown = to === undefined || registry.ids.has(to);
    return isKnown ? withTransfer(registry, partition, to) : registry;
  });
  return isKnown;
}
