// Options of a member of a group, resolved once: complete, or one error that lists every problem. And whether a store can do it.
import { hostname } from "node:os";
import { ConclaveError, invalidConfig } from "../base/errors.ts";
import { requireOptions } from "../base/option-keys.ts";
import { show } from "../base/show.ts";
import type { CandidateSettings } from "../election/face.ts";
import {
  cannotFence,
  cannotKeepMemos,
  type FencedStore,
  isFenced,
  keepsMemos,
  type Store,
} from "../stores/contract.ts";
import type { GroupPlan } from "./controller.ts";
import { layoutOf, mostPartitions } from "./layout.ts";
import type { PartitionWork } from "./member-host.ts";
import { problemsOfGroup, problemsOfId } from "./names.ts";

/** How many partitions a group has, and what a controller should know of each. All members of a group are told the same. */
export interface PartitionsOfGroup {
  /** Cannot be changed in the life of a group. */
  readonly count: number;
  /** Above 0; asked once for each partition by a controller. @default 1 for each */
  readonly weightOf?: ((partition: number) => number) | undefined;
  /** The zone in which a partition should be led, if a member there has room. */
  readonly zoneOf?: ((partition: number) => string | undefined) | undefined;
  /** The id of the member that should lead a partition while it is there. */
  readonly preferredOf?: ((partition: number) => string | undefined) | undefined;
}

/** Options of `joinPartitions`: those of a candidate, and these. */
export interface PartitionOptions extends CandidateSettings {
  /** Must give tokens, keep memos and give hints: `etcd:`, `postgres:`, `sqlite:`, `zookeeper:`, `kubernetes:` and, for tests, `memory:` do. */
  readonly store: FencedStore;
  readonly partitions: number | PartitionsOfGroup;
  /**
   * Called for each partition that this member leads from now on. Pass `term.signal` on: it aborts when the partition is taken away, or this member's session ends; another leads it only after
   * this has settled. If it resolves before, the partition stays with this member; if it rejects before, it is reported (`PARTITION_FAILED`) and called again after a pause.
   */
  readonly onAssigned: PartitionWork;
  /** The name of this member, at most one process at a time: a second one of the same id waits. @default the name of the host */
  readonly id?: string | undefined;
  /** The share of partitions that this member takes, relative to the others. @default 1 */
  readonly weight?: number | undefined;
  readonly zone?: string | undefined;
  /** Whether this member may be the controller. @default true */
  readonly mayControl?: boolean | undefined;
  /** So many partitions of living members are on the move at once, at most. @default a tenth of them, at least 10 */
  readonly movesAtOnce?: number | undefined;
  /** A group that was never assigned waits so long for its first members. @default 1000 */
  readonly gatherMs?: number | undefined;
}

export interface ResolvedOptions {
  readonly group: string;
  readonly id: string;
  readonly weight: number;
  readonly zone: string | undefined;
  readonly mayControl: boolean;
  readonly gatherMs: number;
  readonly plan: GroupPlan;
}

const LEAST_MOVES = 10;

export const defaultId = (): string => hostname();

export function resolvePartitions(group: string, options: PartitionOptions): ResolvedOptions {
  const call = `joinPartitions(${show(group)})`;
  const { store, partitions, id = defaultId(), weight = 1, zone, mayControl = true, gatherMs = 1000 } = options ?? {};
  requireOptions(call, options, { store: "store" });
  requirePartitions(store);
  const { count, weightOf, zoneOf, preferredOf } =
    typeof partitions === "number" ? { count: partitions } : (partitions ?? { count: Number.NaN });
  const { movesAtOnce = Math.max(LEAST_MOVES, Math.ceil(count / 10)) } = options ?? {};
  const problems = [...problemsOfGroup(group), ...problemsOfId(id)];
  const room = store?.guarantee.memos ?? { keys: 0, bytes: 0 };
  const most = mostPartitions(room);
  if (!Number.isSafeInteger(count) || count < 1)
    problems.push(`partitions ${show(count)} is not a whole number of at least 1`);
  else if (count > most)
    problems.push(`${count} partitions: ${store.guarantee.store} keeps ${most} of one group at most`);
  if (typeof weight !== "number" || !(weight > 0 && weight < Infinity))
    problems.push(`weight ${show(weight)} is not a number above 0`);
  if (zone !== undefined && typeof zone !== "string") problems.push(`zone ${show(zone)} is not a text`);
  if (typeof gatherMs !== "number" || !(gatherMs >= 0))
    problems.push(`gatherMs ${show(gatherMs)} is not a number of milliseconds`);
  if (!Number.isSafeInteger(movesAtOnce) || movesAtOnce < 1)
    problems.push(`movesAtOnce ${show(movesAtOnce)} is not a whole number of at least 1`);
  if (typeof options?.onAssigned !== "function")
    problems.push(`onAssigned is not a function. Pass async (partition, term) => { … }`);
  if (options?.renewal === "manual") problems.push(`renewal "manual" renews nothing by itself; use "loop" or "thread"`);
  if (problems.length > 0) throw invalidConfig(call, problems);
  const plan: GroupPlan = { layout: layoutOf(count, room), movesAtOnce, weightOf, zoneOf, preferredOf };
  return { group, id, weight, zone, mayControl, gatherMs, plan };
}

/** Throws STORE_UNSUPPORTED for a store on which partitions would not be safe, or would not be led. */
export function requirePartitions(store: Store): asserts store is FencedStore {
  if (!isFenced(store)) throw cannotFence(store);
  if (!keepsMemos(store)) throw cannotKeepMemos(store);
  if (store.guarantee.wakes === "watch") return;
  const message = `${store.guarantee.store} gives no hints of changes, so that every member would have to read all assignments again and again. Use a store that does: etcd, postgres, sqlite, zookeeper or kubernetes.`;
  throw new ConclaveError("STORE_UNSUPPORTED", message);
}
