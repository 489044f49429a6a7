// The directions between numbered nodes, for both worlds. A message that is sent in a cut direction is lost; in a held direction it waits until the
// direction is released. A message that is in flight when its direction is cut still arrives. The network of leases (network.ts) and the links of protocols
// (protocols/links.ts) say how long a message takes, whether it is lost or doubled, and how it is handed over.

export interface Held {
  readonly from: number;
  readonly to: number;
}

export class Routes<Message extends Held> {
  readonly #size: number;
  /** Direction → how many cuts lie on it. */
  readonly #cuts: Int32Array;
  /** Direction → 1 if it is held. */
  readonly #holds: Uint8Array;
  readonly #held: Message[] = [];

  /** Nodes are 0…`nodes`. */
  constructor(nodes: number) {
    this.#size = nodes + 1;
    this.#cuts = new Int32Array(this.#size ** 2);
    this.#holds = new Uint8Array(this.#size ** 2);
  }

  /** Copies this into `fork`, which is new and of the same size. Messages are never changed, so they are shared. */
  protected copyTo(fork: Routes<Message>): void {
    fork.#cuts.set(this.#cuts);
    fork.#holds.set(this.#holds);
    fork.#held.push(...this.#held);
  }

  cut(from: number, to: number): void {
    const direction = this.#direction(from, to);
    this.#cuts[direction] = (this.#cuts[direction] as number) + 1;
  }

  /** Takes one cut away. A direction that was cut twice stays cut. */
  mend(from: number, to: number): void {
    const direction = this.#direction(from, to);
    this.#cuts[direction] = Math.max(0, (this.#cuts[direction] as number) - 1);
  }

  mendAll(): void {
    this.#cuts.fill(0);
  }

  isCut(from: number, to: number): boolean {
    return (this.#cuts[from * this.#size + to] as number) > 0;
  }

  hold(from: number, to: number): void {
    this.#holds[this.#direction(from, to)] = 1;
  }

  isHeld(from: number, to: number): boolean {
    return this.#holds[from * this.#size + to] === 1;
  }

  /** A message that waits on a held direction. */
  keep(message: Message): void {
    this.#held.push(message);
  }

  get held(): readonly Message[] {
    return this.#held;
  }

  /** The messages that waited there, in the order in which they were sent. */
  release(from: number, to: number): readonly Message[] {
    this.#holds[this.#direction(from, to)] = 0;
    const released = this.#held.filter((held) => held.from === from && held.to === to);
    const kept = this.#held.filter((held) => !released.includes(held));
    this.#held.splice(0, this.#held.length, ...kept);
    return released;
  }

  releaseAll(): readonly Message[] {
    this.#holds.fill(0);
    return this.#held.splice(0);
  }

  /** Both nodes must exist: another number would be another direction. */
  #direction(from: number, to: number): number {
    for (const id of [from, to])
      if (id >= this.#size) throw new RangeError(`there is no member ${id}; members are 1…${this.#size - 1}`);
    return from * this.#size + to;
  }
}
