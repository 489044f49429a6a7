// A 64-bit hash of a text, as two 32-bit halves, without dependencies: two lanes multiply and rotate over the UTF-16 units, each with constants of its own, and a final step lets every bit of the input
// reach every bit of the output (the 32-bit finish of MurmurHash3, by Austin Appleby, public domain). It is not for secrets.
// The same text gives the same hash on every machine and in every version: assignments depend on it. A change of the hash is a breaking one; a test holds known values.

export interface TextHash {
  readonly high: number;
  readonly low: number;
}

export function hashText(text: string): TextHash {
  let [high, low] = [0x9e3779b9 ^ text.length, 0x85ebca6b];
  for (let place = 0; place < text.length; place++) {
    const unit = text.charCodeAt(place);
    high = rotate(Math.imul(high ^ unit, 0x2c1b3c6d), 13);
    low = rotate(Math.imul(low ^ unit, 0x297a2d39), 17) + high;
  }
  return finish(high, low);
}

/** Returns the hash of the two together; the order matters. */
export function combine(a: TextHash, b: TextHash): TextHash {
  return finish(Math.imul(a.high, 3) ^ rotate(b.low, 7), Math.imul(a.low, 5) ^ rotate(b.high, 11));
}

/** Returns a number in (0, 1), without the ends, from 53 bits of the hash. */
export function fractionOf({ high, low }: TextHash): number {
  return ((high >>> 0) * 0x20_0000 + (low >>> 11) + 0.5) / 0x20_0000_0000_0000;
}

function finish(high: number, low: number): TextHash {
  const first = mix(high ^ rotate(low, 16));
  const second = mix(low ^ first);
  return { high: mix(first + second) >>> 0, low: second >>> 0 };
}

function mix(word: number): number {
  const first = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  const second = Math.imul(first ^ (first >>> 13), 0xc2b2ae35);
  return second ^ (second >>> 16);
}

function rotate(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by));
}
