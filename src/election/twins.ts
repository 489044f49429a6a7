// Mistakes that one process can notice by itself: two candidates that stand for one name at different stores, and a store inside the process where there are
// many processes. Each is said once per process and name; nothing is prevented, because there are good reasons for both.
import type { ConclaveEvent } from "../lease/events.ts";
import type { Reopenable, Store } from "../stores/contract.ts";
import { labelOf } from "./store-label.ts";

type Warning = Extract<ConclaveEvent, { type: "warning" }>;

/** Elections of this process that are open: name → their stores. */
const open = new Map<string, Set<Store>>();
const warned = new Set<string>();

/** An election of `name` is open at `store` until the returned function is called. */
export function noteElection(name: string, store: Store): { readonly warning?: Warning; readonly close: () => void } {
  const stores = open.get(name) ?? new Set<Store>();
  const other = [...stores].find((each) => !isSame(each, store));
  open.set(name, stores.add(store));
  const close = (): void => {
    stores.delete(store);
    if (stores.size === 0 && open.get(name) === stores) open.delete(name);
  };
  if (other === undefined || warned.has(name)) return { close };
  warned.add(name);
  const message = `"${name}" is an election at two stores in this process, ${labelOf(other)} and ${labelOf(store)}. Each store has a leader of its own, so that two may lead at once. If that is not what you want, open the store once and share it, or give both the same URL.`;
  return { close, warning: { type: "warning", code: "TWO_STORES", election: name, message } };
}

function isSame(one: Store, other: Store): boolean {
  if (one === other) return true;
  const a = (one as Partial<Reopenable>).url;
  const b = (other as Partial<Reopenable>).url;
  // Around clients of the user's: nothing is known but what kind they are.
  if (a === undefined || b === undefined) return one.guarantee.store === other.guarantee.store;
  return a === b && one.guarantee.token.domain === other.guarantee.token.domain;
}

/** A store that no other process sees, in production. */
export function noteMemory(store: Store): Warning | undefined {
  if (store.guarantee.scope !== "process" || process.env["NODE_ENV"] !== "production" || warned.has(""))
    return undefined;
  warned.add("");
  const message = `NODE_ENV is "production" and the store is ${labelOf(store)}, which lives inside this process: every process elects a leader of its own. Use a store that all of them reach, such as postgres or etcd.`;
  return { type: "warning", code: "MEMORY_IN_PRODUCTION", message };
}
