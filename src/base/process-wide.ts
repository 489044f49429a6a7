// State that a process has once, however many copies of the package it has loaded: the ES modules beside the CommonJS build, two versions, or a bundle.
// Kept on the global object under a registered symbol. What is kept there is used by other copies, perhaps of another version: its key carries a
// number, which changes with the shape of the value.

/** The value of that key, made by the first who asks. */
export function processWide<T>(key: `${string}.${number}`, make: () => T): T {
  const symbol = Symbol.for(`conclave.${key}`);
  const kept = globalThis as unknown as Record<symbol, T | undefined>;
  kept[symbol] ??= make();
  return kept[symbol];
}
