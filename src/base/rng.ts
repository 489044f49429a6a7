// Seeded randomness as plain data, so that a machine can be copied with its luck. sfc32 (Chris Doty-Humphrey's small fast counter):
// four 32-bit words, passes PractRand, no multiplication. Not for secrets.

/** The state of a generator of random numbers, as plain data: a copy of it draws the same numbers. */
export interface Rng {
  a: number;
  b: number;
  c: number;
  counter: number;
}

/** One seed, many independent streams: a label or number given as `stream` selects which. */
export function createRng(seed: number, stream = 0): Rng {
  const rng: Rng = { a: seed | 0, b: Math.floor(seed / 0x1_0000_0000) | 0, c: stream | 0, counter: 1 };
  for (let round = 0; round < 15; round++) nextUint32(rng);
  return rng;
}

export function nextUint32(rng: Rng): number {
  const sum = (((rng.a + rng.b) | 0) + rng.counter) | 0;
  rng.counter = (rng.counter + 1) | 0;
  rng.a = rng.b ^ (rng.b >>> 9);
  rng.b = (rng.c + (rng.c << 3)) | 0;
  rng.c = (((rng.c << 21) | (rng.c >>> 11)) + sum) | 0;
  return sum >>> 0;
}

/** In [0, 1). */
export function nextFraction(rng: Rng): number {
  return nextUint32(rng) / 0x1_0000_0000;
}

/** In [low, high). */
export function nextBetween(rng: Rng, low: number, high: number): number {
  return low + nextFraction(rng) * (high - low);
}

/** A whole number in [low, high], both ends included. */
export function nextInteger(rng: Rng, low: number, high: number): number {
  return low + Math.floor(nextFraction(rng) * (high - low + 1));
}

export function nextChance(rng: Rng, probability: number): boolean {
  return nextFraction(rng) < probability;
}

export function nextOf<T>(rng: Rng, items: readonly T[]): T {
  const item = items[nextInteger(rng, 0, items.length - 1)];
  if (item === undefined) throw new RangeError("nextOf: nothing to choose from");
  return item;
}
