// Random numbers for drivers. node:crypto takes 3 ms to load, so it is loaded with the first number and not with the driver. It is a part of the Node program that runs already: loading it opens no
// file, so it does not fail where a process has run out of descriptors.
import type * as NodeCrypto from "node:crypto";

let loaded: typeof NodeCrypto | undefined;

function crypto(): typeof NodeCrypto {
  loaded ??= process.getBuiltinModule("node:crypto");
  return loaded;
}

/** A random UUID. */
export function randomId(): string {
  return crypto().randomUUID();
}

/** A random UUID that is drawn now. Those of `randomId` are drawn ahead and kept, and two copies of a machine that was cloned would both have them. */
export function freshId(): string {
  return crypto().randomUUID({ disableEntropyCache: true });
}

/** A random whole number from 0 on, below `bound`. */
export function randomBelow(bound: number): number {
  return crypto().randomInt(bound);
}
