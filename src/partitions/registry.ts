// The registry of a group: which ids there are, and what operators have asked for. It is changed under a lock of its own (one election, held for moments), because only the term in a seat can
// write a memo. Its one use is that the controller knows where to look: an id that is not in it gets no partitions, and an id that is gone costs one look.
import { isConclaveError } from "../base/errors.ts";
import { writeReservedMemo } from "../election/memo.ts";
import type { Candidate, Election } from "../election/face.ts";
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
  waitMs?: number,
): Promise<Registry> {
  for (let left = TRIES; ; left--)
    try {
      return await changeOnce(candidate, group, change, waitMs);
    } catch (error) {
      if (left <= 1 || !isConclaveError(error) || error.code !== "TERM_LOST") throw error;
    }
}

async function changeOnce(
  candidate: Candidate,
  group: string,
  change: (registry: Registry) => Registry | Promise<Registry>,
  waitMs: number | undefined,
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
    { waitMs },
  );
}

export function withId(registry: Registry, id: string): Registry {
  return registry.ids.has(id) ? registry : { ...registry, ids: new Set([...registry.ids, id].toSorted()) };
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
