// The registry of a group: which ids there are, and what operators have asked for. It is changed under a lock of its own (one election, held for moments), because only the term in a seat can
// write a memo. Its one use is that the controller knows where to look: an id that is not in it gets no partitions, and an id that is gone costs one look.
//
// Ids are forgotten, because otherwise a fleet whose processes have new names at each start would fill the memo, and then nobody could join any more. A member that joins when the memo is half full
// forgets the ids whose seats are empty (`forgettable`), but none of which an operator has asked something. That a look may be old, or that a member is between two sessions, does no harm: who
// forgets looks once more after its write and puts back who is there by then, and each member looks, after it was granted its seat, whether it is still registered (group.ts). Either one sees the other. No
// exclusion rests on it, because the controller also looks at the seat of everybody who owns something.
import { isConclaveError } from "../base/errors.ts";
import { bytesOf } from "../base/text.ts";
import { writeReservedMemo } from "../election/memo.ts";
import type { Candidate, Election, LockOptions } from "../election/face.ts";
import { REGISTRY_KEY, registryName, reserved } from "./names.ts";
import { EMPTY_REGISTRY, formatRegistry, parseRegistry, type Registry } from "./texts.ts";

/** A linearizable read. */
export async function readRegistry(election: Election): Promise<Registry> {
  const memo = await election.memo(reserved(REGISTRY_KEY));
  return memo === undefined ? EMPTY_REGISTRY : parseRegistry(memo.value);
}

const TRIES = 5;

/**
 * Reads, changes and writes under the lock; writes nothing if `change` returns what it was given. If the lock is lost meanwhile, which can happen on a busy machine, it begins anew: every
 * change says what shall be so, and may be made twice.
 */
export async function changeRegistry(
  candidate: Candidate,
  group: string,
  change: (registry: Registry) => Registry | Promise<Registry>,
  options: LockOptions = {},
): Promise<Registry> {
  for (let left = TRIES; ; left--)
    try {
      return await changeOnce(candidate, group, change, options);
    } catch (error) {
      if (left <= 1 || !isConclaveError(error) || error.code !== "TERM_LOST") throw error;
    }
}

async function changeOnce(
  candidate: Candidate,
  group: string,
  change: (registry: Registry) => Registry | Promise<Registry>,
  options: LockOptions,
): Promise<Registry> {
  const election = candidate.election(registryName(group));
  return await candidate.withLock(
    registryName(group),
    async (term) => {
      const before = await readRegistry(election);
      const after = await change(before);
      if (after !== before) await writeReservedMemo(term, REGISTRY_KEY, formatRegistry(after));
      return after;
    },
    options,
  );
}

export function withCount(registry: Registry, count: number): Registry {
  return registry.count === count ? registry : { ...registry, count };
}

export function withIds(registry: Registry, added: Iterable<string>): Registry {
  const ids = new Set([...registry.ids, ...added]);
  return ids.size === registry.ids.size ? registry : { ...registry, ids: new Set([...ids].toSorted()) };
}

export function withoutIds(registry: Registry, gone: ReadonlySet<string>): Registry {
  return gone.size === 0 ? registry : { ...registry, ids: new Set([...registry.ids].filter((id) => !gone.has(id))) };
}

/** The ids that are forgotten if they are not there; none as long as the registry needs less than half of what a memo holds. */
export function forgettable(registry: Registry, bytesMax: number): readonly string[] {
  if (bytesOf(formatRegistry(registry)) <= bytesMax / 2) return [];
  const wished = new Set(registry.transfers.values());
  return [...registry.ids].filter((id) => !registry.draining.has(id) && !wished.has(id));
}

export function withDrain(registry: Registry, id: string, isDraining: boolean): Registry {
  if (registry.draining.has(id) === isDraining) return registry;
  const draining = new Set(registry.draining);
  if (isDraining) draining.add(id);
  else draining.delete(id);
  return { ...registry, draining };
}

/** `to` undefined: the partition may be anywhere again. */
export function withTransfer(registry: Registry, partition: number, to: string | undefined): Registry {
  if (registry.transfers.get(partition) === to) return registry;
  const transfers = new Map(registry.transfers);
  if (to === undefined) transfers.delete(partition);
  else transfers.set(partition, to);
  return { ...registry, transfers };
}
