// A hash of everything that happened in a world. It is fed from the events themselves and not from their text, so that a run has the same hash whether or
// not it is recorded. Two runs of one seed with different hashes differ somewhere.

export class Hash {
  #high = 0x9e3779b9 | 0;
  #low = 0x85ebca6b | 0;

  fork(): Hash {
    const fork = new Hash();
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

  text(): string {
    return hex(this.#high) + hex(this.#low);
  }
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, "0");
}
