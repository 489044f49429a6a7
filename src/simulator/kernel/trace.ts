// What happened, as a hash of all of it and, when asked for, as lines to read. The hash is fed from the events themselves and not from the
// lines, so that a run without a transcript has the same hash as one with it.

export interface TraceLine {
  readonly atMs: number;
  readonly who: string;
  readonly what: string;
}

export class Trace {
  /** Undefined: nobody will read, so nothing is written down. */
  readonly lines: TraceLine[] | undefined;
  #high = 0x9e3779b9 | 0;
  #low = 0x85ebca6b | 0;

  constructor(isRecorded: boolean) {
    this.lines = isRecorded ? [] : undefined;
  }

  fork(): Trace {
    const fork = new Trace(false);
    fork.#high = this.#high;
    fork.#low = this.#low;
    return fork;
  }

  mix(value: number): void {
    this.#high = Math.imul(this.#high ^ value, 0x01000193);
    this.#low = Math.imul((this.#low + value) | 0, 0x2c1b3c6d) ^ (this.#high >>> 15);
  }

  mixTime(atMs: number): void {
    this.mix((atMs * 4096) | 0);
  }

  mixText(text: string): void {
    for (let index = 0; index < text.length; index++) this.mix(text.charCodeAt(index));
  }

  say(atMs: number, who: string, what: string): void {
    this.lines?.push({ atMs, who, what });
  }

  hash(): string {
    return hex(this.#high) + hex(this.#low);
  }
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, "0");
}

export function formatLine({ atMs, who, what }: TraceLine): string {
  return `${atMs.toFixed(3).padStart(12)}  ${who.padEnd(8)}  ${what}`;
}
