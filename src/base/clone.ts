// A deep copy of plain data: objects, arrays, maps, sets and typed numbers, nothing with a class of its own. Machines keep their state in such data,
// so that a world can be copied at any event and both copies go on as if the other did not exist.
// The language has structuredClone only where a host provides it; pure code has no host.
import { AssertionFailed } from "./assert.ts";

export function clonePlain<T>(value: T): T {
  return copy(value) as T;
}

function copy(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return checked(value);
  if (Array.isArray(value)) return value.map(copy);
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [copy(key), copy(item)]));
  if (value instanceof Set) return new Set([...value].map(copy));
  if (value instanceof Float64Array || value instanceof Int32Array || value instanceof Uint8Array) return value.slice();
  return copyObject(value);
}

function copyObject(value: object): object {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null)
    throw new AssertionFailed(`this is a bug in conclave: a ${value.constructor.name} in a state that is copied`);
  const result: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) result[key] = copy(item);
  return result;
}

function checked(value: unknown): unknown {
  if (typeof value === "function")
    throw new AssertionFailed("this is a bug in conclave: a function in a state that is copied");
  return value;
}

/**
 * A deep copy of plain data in which one object may be reached by several ways: it is one object in the copy too. What has a class of its own (an error) is
 * shared, so it must not be changed afterwards.
 */
export function cloneGraph<T>(value: T): T {
  return copyOnce(value, new Map()) as T;
}

function copyOnce(value: unknown, copies: Map<object, object>): unknown {
  if (typeof value !== "object" || value === null) return checked(value);
  const before = copies.get(value);
  if (before !== undefined) return before;
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    copies.set(value, list);
    for (const item of value) list.push(copyOnce(item, copies));
    return list;
  }
  if (value instanceof Map) {
    const map = new Map<unknown, unknown>();
    copies.set(value, map);
    for (const [key, item] of value) map.set(copyOnce(key, copies), copyOnce(item, copies));
    return map;
  }
  if (value instanceof Set) {
    const set = new Set<unknown>();
    copies.set(value, set);
    for (const item of value) set.add(copyOnce(item, copies));
    return set;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const result: Record<string, unknown> = { ...value };
  copies.set(value, result);
  for (const key in result) {
    const item = result[key];
    if (typeof item === "object" || typeof item === "function") result[key] = copyOnce(item, copies);
  }
  return result;
}
