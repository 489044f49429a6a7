// One replicated service of a world of failovers: its writes, its history, and the primary that it follows. It decides nothing: it obeys its guard, or a leader without guards.
//
// With timelines it is like PostgreSQL: all begin as copies of one, and a history is a number. Numbers and positions alone decide which writes a replica takes for its primary's, never the content of the
// writes. The judge checks that a replica is then really a copy.
import type { View } from "../../failover/choice.ts";

export class SimService {
  readonly name: string;
  isAlive = false;
  role: "primary" | "replica" = "replica";
  log: number[] = [];
  #had = new Set<number>();
  /** The name of its history, without timelines. */
  #name: string;
  timeline = 1;
  /** Earlier timeline → the position at which this service, or the one that it has copied, left it. */
  #left = new Map<number, number>();
  readonly hasTimelines: boolean;
  follows: string | undefined;
  isLinked = false;
  /** The service takes no writes: it hands over. */
  isRefusing = false;
  /** The service answers only its clients. */
  mutes = 0;
  /** The service copies nothing. */
  lags = 0;
  /** Its machine is on. */
  isPowered = true;
  incarnation = 0;
  /** How often its guard, or a leader without guards, has promoted it. Connections from before a promotion are closed. */
  promotions = 0;
  /** It takes writes because somebody has promoted it beside its guard. */
  isStray = false;
  /** The service was the primary once, and has not followed another since. */
  wasPrimary = false;
  /** The standbys that may confirm its commits, as it was told when it was promoted. */
  standbys: readonly string[] = [];
  /** The incarnation that a leader has surveyed last: a connection to an earlier one is broken. */
  surveyed = -1;

  constructor(name: string, hasTimelines: boolean) {
    this.name = name;
    this.hasTimelines = hasTimelines;
    this.#name = `empty-${name}`;
  }

  get history(): string {
    return this.hasTimelines ? `t${this.timeline}` : this.#name;
  }

  /** What a connection that is opened now leads to. */
  get connection(): { readonly incarnation: number; readonly promotions: number } {
    return { incarnation: this.incarnation, promotions: this.promotions };
  }

  get isWritable(): boolean {
    return this.isAlive && this.role === "primary";
  }

  /** It takes writes by the word of its guard, or of a leader without guards. */
  get isRightful(): boolean {
    return this.isWritable && !this.isStray;
  }

  /** As by a human at a prompt, behind the back of its guard. */
  strayFrom(name: string): void {
    this.role = "primary";
    this.isStray = true;
    this.follows = undefined;
    this.#name = name;
  }

  /** It was told to follow `primary`, and takes no more writes. */
  obey(primary: string): void {
    this.role = "replica";
    this.isStray = false;
    this.follows = primary;
  }

  has(write: number): boolean {
    return this.#had.has(write);
  }

  start(follows: string | undefined): void {
    this.isAlive = true;
    this.incarnation++;
    this.role = "replica";
    this.isStray = false;
    this.follows = follows;
    this.isLinked = false;
    this.isRefusing = false;
  }

  kill(forgets: boolean): void {
    this.isAlive = false;
    this.isLinked = false;
    this.incarnation++;
    if (forgets) this.#forget();
  }

  #forget(): void {
    this.log = [];
    this.#had = new Set();
    this.#name = `empty-${this.name}-${this.incarnation}`;
  }

  promote(generation: number, name: string): void {
    this.role = "primary";
    this.isStray = false;
    this.promotions++;
    this.wasPrimary = true;
    this.isRefusing = false;
    this.follows = undefined;
    this.#left.set(this.timeline, this.log.length);
    this.timeline = generation;
    this.#name = name;
  }

  write(write: number): void {
    this.log.push(write);
    this.#had.add(write);
  }

  /** By the numbers, the service has writes that `primary` does not have. */
  hasParted(primary: SimService): boolean {
    if (!this.hasTimelines || primary.timeline === this.timeline) return false;
    const left = primary.#left.get(this.timeline);
    return left === undefined || this.log.length > left;
  }

  /** Works like pg_rewind: it goes back to the last position that both have, by the numbers. */
  mend(primary: SimService): void {
    const path = [...this.#left, [this.timeline, this.log.length] as const];
    for (const [timeline, length] of path.toReversed()) {
      const isOn = primary.timeline === timeline;
      const left = isOn ? primary.log.length : primary.#left.get(timeline);
      if (left === undefined) continue;
      this.log = this.log.slice(0, Math.min(left, length));
      this.#had = new Set(this.log);
      this.timeline = timeline;
      this.#left = new Map([...this.#left].filter(([earlier]) => earlier < timeline));
      return;
    }
  }

  /** The service takes all writes after its own position, by the numbers alone. */
  stream(primary: SimService, most: number): void {
    if (this.hasParted(primary)) {
      this.isLinked = false;
      return;
    }
    this.isLinked = true;
    this.timeline = primary.timeline;
    this.#left = new Map(primary.#left);
    for (const write of primary.log.slice(this.log.length, this.log.length + most)) this.write(write);
  }

  isCopyOf(primary: SimService): boolean {
    return this.log.length <= primary.log.length && this.log.at(-1) === primary.log[this.log.length - 1];
  }

  /** As a replica of `primary`, the service copies some more of its writes, or all of them if the two have parted. */
  copy(primary: SimService, most: number): void {
    this.isLinked = true;
    const hasParted = this.log.length > primary.log.length || this.log.at(-1) !== primary.log[this.log.length - 1];
    if (hasParted) {
      this.log = [...primary.log];
      this.#had = new Set(this.log);
    } else for (const write of primary.log.slice(this.log.length, this.log.length + most)) this.write(write);
    this.#name = primary.#name;
  }

  view(): View {
    if (!this.isAlive || this.mutes > 0) return { is: "unknown" };
    const { role, history, follows, isLinked, log, hasTimelines } = this;
    const isEmpty = log.length === 0 && !hasTimelines;
    const view = { is: "up", role, history, position: log.length, follows, isLinked, isEmpty } as const;
    if (!hasTimelines) return view;
    const ancestors = [...this.#left.keys()].toReversed().map((timeline) => `t${timeline}`);
    return { ...view, generation: this.timeline, ancestors };
  }
}
