// Kafka's controller in ZooKeeper, as it was until KRaft. Every broker keeps a session. One of them holds /controller, an ephemeral node; it reads the state of every partition, one by one, writes a
// new leader for those that have lost theirs, one by one, and then tells the brokers.
//
//   race   every broker watches /controller. When it vanishes all are told, all try to create it, and one of them succeeds; the others read it and watch again. This is what Kafka does.
//   line   every broker has a place in a queue and watches the one before it, which is ZooKeeper's own recipe. When the first vanishes one broker is told.
//
// Assumed: partitions are spread evenly; a partition has one leader and needs nothing but to be told who; state that stands in ZooKeeper is read and written by one request for each partition, until
// Kafka 1.0 the next one after the answer, since 1.1 several at a time, which divides the seconds and not the messages; what brokers are told is one message for each broker and an answer.
import type { KafkaPlan } from "./plan.ts";
import { type Ask, STORE } from "./post.ts";
import type { SeatShape } from "./seats.ts";
import { ControllerStory } from "./story.ts";

const CONTROLLER = "/controller";

export class ZooKeeperStory extends ControllerStory {
  readonly #shape: SeatShape;
  readonly #inFlight: number;
  readonly #watchers = new Set<number>();
  /** Partition → the broker that leads it, as ZooKeeper has it. */
  readonly #leaders: Int32Array;
  #term = 0;

  /** `inFlight`: so many requests of a controller are under way at once. */
  constructor(plan: KafkaPlan, shape: SeatShape, inFlight: number) {
    super(plan, shape);
    this.#shape = shape;
    this.#inFlight = inFlight;
    this.#leaders = Int32Array.from(
      { length: plan.partitions },
      (_unused, partition) => 1 + (partition % plan.brokers),
    );
    for (let broker = 1; broker <= plan.brokers; broker++) {
      this.seats.open(broker);
      this.#stand(broker);
    }
  }

  // ---- elections

  /** Runs at the store, before the story begins. */
  #stand(broker: number): void {
    const bid = this.seats.newBid();
    this.bids.set(broker, bid);
    if (this.seats.claim(broker, CONTROLLER, bid).kind === "granted") this.controller = broker;
    this.#wait(broker);
  }

  #wait(broker: number): void {
    if (this.#shape === "line") this.queue.push(broker);
    else this.#watchers.add(broker);
  }

  /** Runs at the store. The session of a broker has run out: its ephemeral nodes are gone, and the brokers that watch them are told. */
  protected override expired(brokers: readonly number[]): void {
    for (const broker of brokers) {
      const next = this.#shape === "line" ? this.#behind(broker) : this.#whenGone(broker);
      for (const other of next) this.post.send("watch event", STORE, other, 0, () => this.#race(other));
    }
  }

  #whenGone(broker: number): readonly number[] {
    this.#watchers.delete(broker);
    if (broker !== this.controller) return [];
    const told = [...this.#watchers];
    this.#watchers.clear();
    return told;
  }

  #behind(broker: number): readonly number[] {
    const next = this.leaveQueue(broker);
    return next === undefined ? [] : [next];
  }

  #race(broker: number): void {
    const isLine = this.#shape === "line";
    const bid = isLine ? this.bids.get(broker)! : this.seats.newBid();
    const apply = (): string => this.seats.claim(broker, CONTROLLER, bid).kind;
    const kind = isLine ? "read the queue" : "create /controller";
    this.post.ask({ kind, from: broker, does: isLine ? "read" : "write", apply }, (answer) => {
      if (answer === "granted") return this.#rule(broker);
      const watch = (): void => void (isLine || this.#watchers.add(broker));
      this.post.ask({ kind: "read and watch", from: broker, does: "read", apply: watch }, () => {});
    });
  }

  /** A broker whose session has run out comes back: it resigns, if it was the controller, and stands again. */
  protected override mend(broker: number): void {
    const apply = (): void => {
      this.seats.open(broker);
      this.bids.set(broker, this.seats.newBid());
    };
    this.post.ask({ kind: "open a session", from: broker, does: "write", apply }, () => {
      if (this.#shape === "race") return this.#race(broker);
      const join = (): void => {
        this.seats.claim(broker, CONTROLLER, this.bids.get(broker)!);
        this.queue.push(broker);
      };
      this.post.ask({ kind: "join the queue", from: broker, does: "write", apply: join }, () => {});
    });
  }

  // ---- the work of a controller

  #rule(broker: number): void {
    const term = ++this.#term;
    this.elected(broker);
    const { brokers, partitions } = this.plan;
    const lost: number[] = [];
    const reads = (
      kind: string,
      count: number,
      states: number,
      seen: (place: number) => void,
      done: () => void,
    ): void =>
      this.#each(
        term,
        count,
        (place) => ({ kind, from: broker, does: "read", states, apply: () => seen(place) }),
        done,
      );
    const write = (place: number): Ask<void> => ({
      kind: "write the state of a partition",
      from: broker,
      does: "write",
      states: 1,
      apply: () => void (this.#leaders[lost[place]!] = this.#newLeader(lost[place]!)),
    });
    const noteLost = (partition: number): void => {
      if (!this.seats.isOpen(this.#leaders[partition] ?? 0)) lost.push(partition);
    };
    const readPartitions = (): void =>
      reads("read the state of a partition", partitions, 1, noteLost, () =>
        this.#each(term, lost.length, write, () => this.#tell(broker, term, lost)),
      );
    const epoch: Ask<void> = { kind: "raise the epoch", from: broker, does: "write", apply: () => {} };
    this.post.ask(epoch, () => reads("read a broker", brokers, 0, () => {}, readPartitions));
  }

  /** `count` requests, so many at once as this story has; then `done`, unless another leads by then. */
  #each(term: number, count: number, request: (place: number) => Ask<void>, done: () => void): void {
    let next = 0;
    let open = 0;
    const go = (): void => {
      if (term !== this.#term) return;
      if (next === count && open === 0) return done();
      while (next < count && open < this.#inFlight) {
        open++;
        this.post.ask(request(next++), () => {
          open--;
          go();
        });
      }
    };
    go();
  }

  #newLeader(partition: number): number {
    const { brokers } = this.plan;
    for (let step = 0; step < brokers; step++) {
      const broker = 1 + ((Math.floor(partition / brokers) + step) % brokers);
      if (this.seats.isOpen(broker)) return broker;
    }
    return 0;
  }

  /** Each broker is told what it leads, and everything about everybody. */
  #tell(broker: number, term: number, moved: readonly number[]): void {
    const { brokers, partitions } = this.plan;
    let awaited = 0;
    const send = (kind: string, to: number, states: number): void => {
      awaited++;
      this.post.send(kind, broker, to, states, () =>
        this.post.send(`${kind}: answer`, to, broker, 0, () => {
          if (--awaited === 0 && term === this.#term) this.#finish(broker);
        }),
      );
    };
    for (let to = 1; to <= brokers; to++) {
      if (!this.seats.isOpen(to)) continue;
      const led = moved.filter((partition) => this.#leaders[partition] === to).length;
      if (led > 0) send("tell a leader", to, led);
      send("tell a broker about all partitions", to, partitions);
    }
  }

  #finish(broker: number): void {
    this.finished(this.seats.isOpen(broker) && !this.post.cut.has(broker));
  }
}
