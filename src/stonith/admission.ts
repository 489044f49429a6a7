// Whether a process may take part in a guarded election at all: what its store promises, and what its node needs. `guardedElection` asks before it begins anything, and the dry run of an
// order asks the same, so that both refuse alike.
import { ConclaveError, invalidConfig } from "../base/errors.ts";
import { cannotKeepBans, keepsBans, type Store } from "../stores/contract.ts";
import type { StonithConfig } from "./config.ts";
import { inspectWatchdog, type WatchdogFound, type WatchdogPlaces } from "./devices/watchdog.ts";

/** How the rule that a store needs a quorum is lifted in tests. */
export interface StoreInTests {
  readonly isForTests: boolean;
  /** How the caller says it: an option of the library, or a flag of the command line. */
  readonly wayAround: string;
}

/** Why no guarded election may use this store; undefined if one may. */
export function refusalOfStore(store: Store, { isForTests, wayAround }: StoreInTests): ConclaveError | undefined {
  if (!keepsBans(store)) return cannotKeepBans(store);
  if (store.guarantee.quorum || isForTests) return undefined;
  return new ConclaveError(
    "STORE_UNSUPPORTED",
    `${store.guarantee.store} is one server, and may forget a ban when that is lost: a shot could hit the next leader. Use a store with a quorum (etcd, ZooKeeper). In tests: ${wayAround}.`,
  );
}

/** The watchdog of this node, if it has one. Throws CONFIG_INVALID if the node is not configured, or its watchdog does not count. */
export function admitNode(config: StonithConfig, node: string, places?: WatchdogPlaces): WatchdogFound | undefined {
  const call = `guardedElection("${config.election}")`;
  const found = Object.hasOwn(config.nodes, node) ? config.nodes[node] : undefined;
  if (found === undefined)
    throw invalidConfig(call, [
      `there is no node "${node}" in its configuration: ${Object.keys(config.nodes).join(", ")}`,
    ]);
  if (found.watchdog === undefined) return undefined;
  const watchdog = inspectWatchdog(found.watchdog, config.ttlMs, places);
  if ("problems" in watchdog) throw invalidConfig(call, watchdog.problems);
  return watchdog;
}
