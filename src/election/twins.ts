// Finds mistakes that one process can notice by itself: two candidates that stand for one name at different stores, and a store inside the process where there are
// many processes. Each mistake is reported once per process and name. Nothing is prevented, because there are good reasons for both.
import type { ConclaveEvent } from "../lease/events.ts";
import type { Reopenable, Store } from "../stores/contract.ts";
import { labelOf } from "./store-label.ts";

type Warning = Extract<ConclaveEvent, { type: "warning" }>;

/** The elections of this process in which somebody stands: for each name its stores, each as often as it is used. */
const busy = new Map<string, Store[]>();
const warned = new Set<string>();
/** The domain of a store's tokens, once an answer has shown one. Two URLs may lead to one database, and then the domains are equal. */
const domains = new WeakMap<Store, string>();

/** Something is asked of the election `name` at `store`, until the returned function is called. */
export function noteElection(name: string, store: Store, warn: (warning: Warning) => void): () => void {
  const stores = busy.get(name) ?? [];
  busy.set(name, stores);
  stores.push(store);
  // This is not checked now, because an election that has just resolved is still ending.
  if (stores.length > 1 && !warned.has(name)) setImmediate(() => warnOfTwo(name, warn));
  let isBusy = true;
  return () => {
    if (!isBusy) return;
    isBusy = false;
    stores.splice(stores.indexOf(store), 1);
    if (stores.length === 0) busy.delete(name);
  };
}

/** An event of the election `name` at `store` may show the domain of the store's tokens. */
export function noteDomain(event: ConclaveEvent, store: Store, warn: (warning: Warning) => void): void {
  if (event.type !== "elected" && event.type !== "leader") return;
  const domain = event.type === "elected" ? event.token?.domain : event.leader?.domain;
  if (domain === undefined || domains.get(store) === domain) return;
  domains.set(store, domain);
  warnOfTwo(event.election, warn);
}

function warnOfTwo(name: string, warn: (warning: Warning) => void): void {
  const [one, ...others] = busy.get(name) ?? [];
  const other = one && others.find((each) => areTwo(one, each));
  if (one === undefined || other === undefined || warned.has(name)) return;
  warned.add(name);
  const message = `"${name}" is an election at two stores in this process, ${labelOf(one)} and ${labelOf(other)}. Each store has a leader of its own, so that two may lead at once. If that is not what you want, open the store once and share it, or give both the same URL.`;
  warn({ type: "warning", code: "TWO_STORES", election: name, message });
}

/** The names of the elections in which somebody stands. */
export function busyElections(): readonly string[] {
  return [...busy.keys()];
}

/** True if they are certainly two stores. Different URLs of one kind of store may lead to one place, which the domain of their tokens shows. */
function areTwo(one: Store, other: Store): boolean {
  if (one === other) return false;
  if (one.guarantee.store !== other.guarantee.store) return true;
  const [a, b] = [one, other].map((store) => (store as Partial<Reopenable>).url);
  if (a !== undefined && a === b) return one.guarantee.token.domain !== other.guarantee.token.domain;
  if (one.guarantee.fencing === "unfenced") return a !== undefined && b !== undefined;
  const domain = domains.get(one);
  return domain !== undefined && domains.has(other) && domains.get(other) !== domain;
}

/** Warns of a store that no other process sees, in production. */
export function noteMemory(store: Store): Warning | undefined {
  if (store.guarantee.scope !== "process" || process.env["NODE_ENV"] !== "production" || warned.has(""))
    return undefined;
  warned.add("");
  const message = `NODE_ENV is "production" and the store is ${labelOf(store)}, which lives inside this process: every process elects a leader of its own. Use a store that all of them reach, such as postgres or etcd.`;
  return { type: "warning", code: "MEMORY_IN_PRODUCTION", message };
}
