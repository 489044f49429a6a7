// The candidates of a drill together: who leads, who waits, and what one of them says next. The drill knows what they do only from what they say and from
// what arrives at the resource.
import type { DrillMessage, Write } from "./messages.ts";
import { type HostAndPort, Cable } from "./network.ts";
import { DrillPlayer, type PlayerOptions } from "./player.ts";
import { DrillResource } from "./resource.ts";

export interface CompanyOptions extends Omit<PlayerOptions, "id" | "cable" | "hear" | "write"> {
  readonly size: number;
  /** The addresses of the store; empty: no candidate can be cut off. */
  readonly addresses: readonly HostAndPort[];
}

type Speech = Exclude<DrillMessage, Write>;

/** A candidate did not lead for too long: the drill cannot go on. */
export class NobodyLeads extends Error {}

export class Company {
  readonly resource: DrillResource = new DrillResource();
  readonly #options: CompanyOptions;
  readonly #players: DrillPlayer[] = [];
  readonly #left: DrillPlayer[] = [];
  readonly #cables: (Cable | undefined)[] = [];
  readonly #waits = new Set<() => void>();
  #started = 0;
  /** The first error that no fault of the drill has caused. */
  #failure: Error | undefined;

  constructor(options: CompanyOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { size, addresses } = this.#options;
    for (let place = 0; place < size; place++)
      this.#cables.push(addresses.length === 0 ? undefined : await Cable.lay(place, addresses));
    for (let place = 0; place < size; place++) this.replace(place);
  }

  /** Starts a new process in this place. An id is used once, so that the writes of each process can be told apart. */
  replace(place: number): void {
    const { size: _size, addresses: _addresses, ...options } = this.#options;
    const before = this.#players[place];
    if (before !== undefined) this.#left.push(before);
    const player = new DrillPlayer({
      ...options,
      id: `drill-${++this.#started}`,
      cable: this.#cables[place],
      hear: (who, said) => this.#hear(who, said),
      write: (who, write) => void this.resource.arrive(who.id, write).then(() => this.#wake()),
    });
    this.#players[place] = player;
    void player.gone.then(() => this.#wake());
  }

  placeOf(player: DrillPlayer): number {
    return this.#players.indexOf(player);
  }

  get players(): readonly DrillPlayer[] {
    return this.#players;
  }

  get leader(): DrillPlayer | undefined {
    return this.#players.find(({ isLeading }) => isLeading);
  }

  readonly heard: { readonly player: DrillPlayer; readonly said: Speech }[] = [];

  #hear(player: DrillPlayer, said: Speech): void {
    this.heard.push({ player, said });
    if (this.heard.length > 1000) this.heard.splice(0, 500);
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waits) wake();
  }

  /** Waits until `find` returns something. Rejects with NobodyLeads after `withinMs`, and with the error of a candidate that ended although the drill did not end it. */
  async until<T>(find: () => T | undefined, what: string, withinMs: number, signal: AbortSignal): Promise<T> {
    const end = performance.now() + withinMs;
    for (;;) {
      signal.throwIfAborted();
      this.#checkAlive();
      const found = find();
      if (found !== undefined) return found;
      const leftMs = end - performance.now();
      if (leftMs <= 0) throw new NobodyLeads(`${what}: not within ${Math.round(withinMs)} ms`);
      await this.#news(leftMs, signal);
    }
  }

  #news(withinMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#waits.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      const timer = setTimeout(wake, withinMs);
      this.#waits.add(wake);
      signal.addEventListener("abort", wake);
    });
  }

  readonly #expected = new Set<DrillPlayer>();

  expectEndOf(player: DrillPlayer): void {
    this.#expected.add(player);
  }

  #checkAlive(): void {
    const dead = this.#players.find((player) => player.isDead && !this.#expected.has(player));
    if (dead !== undefined) this.#failure ??= new Error(`${dead.id} has ended by itself: ${dead.complaint}`);
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Compares counts as an operator would who suspects a split brain: does each living candidate count as many writes as the resource does? */
  async compareCounters(withinMs: number, signal: AbortSignal): Promise<readonly string[]> {
    for (const player of this.#players) player.tell("report");
    const all = (): true | undefined => (this.#players.every(({ isCounted }) => isCounted) ? true : undefined);
    await this.until(all, "everybody's count", withinMs, signal);
    return this.#players.flatMap(({ miscount }) => miscount ?? []);
  }

  /**
   * All candidates leave in good order, and nothing stays behind. If the last leader was killed, this waits until another candidate has its seat: where only silence ends
   * a session, nobody else would ever free it.
   */
  async end(withinMs: number, heirWithinMs: number): Promise<void> {
    if (this.#players.some((player) => this.#expected.has(player))) await this.#heir(heirWithinMs);
    for (const player of this.#players) this.expectEndOf(player);
    await Promise.all([...this.#players, ...this.#left].map((player) => player.leave(withinMs)));
    for (const cable of this.#cables) cable?.remove();
  }

  async #heir(withinMs: number): Promise<void> {
    const heir = (): DrillPlayer | undefined =>
      this.#players.find((player) => player.isLeading && !this.#expected.has(player));
    try {
      await this.until(heir, "an heir", withinMs, new AbortController().signal);
    } catch {
      // The store is gone, or the candidates are: what is left there has to wait for the next drill.
    }
  }
}
