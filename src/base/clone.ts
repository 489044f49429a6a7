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
