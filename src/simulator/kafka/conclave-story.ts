// The controller of conclave/partitions, on a store with a queue: the machine that decides is the real one (src/partitions/controller.ts), its host is played. A new controller reads the assignments
// as a few chunks, stands at the seats of all members, is granted that of the dead one, and writes the chunks that change. Members are told that something has changed, and read it.
//
// Assumed: each broker is a member, and may be the controller; requests that do not depend on each other are sent at once. Counted until every live member has read what changed. A member that
// comes back is given partitions again later, which is not counted, as it is not in the other stories.
import type { Bid, Name } from "../../lease/exchange.ts";
import { type Chunk, sessionRef } from "../../partitions/chunk.ts";
import {
  type ControllerEffect,
  type ControllerInput,
  type ControllerState,
  createController,
  type SeatedMember,
  stepController,
} from "../../partitions/controller.ts";
import { chunksOf, type PartitionLayout, layoutOf } from "../../partitions/layout.ts";
import type { KafkaPlan } from "./plan.ts";
import { STORE } from "./post.ts";
import { ControllerStory } from "./story.ts";

const CONTROLLER = "controller";
const ROOM = { keys: 128, bytes: 65_536 };
const seatOf = (broker: number): Name => `member/${broker}`;

export class ConclaveStory extends ControllerStory {
  readonly #layout: PartitionLayout;
  /** Broker → the token of its present session. */
  readonly #tokens = new Map<number, bigint>();
  readonly #chunks: (Chunk | undefined)[];
  #term = 0;
  #machine: ControllerState | undefined;
  #writing = 0;
  #changed = new Set<number>();
  #awaited = 0;

  constructor(plan: KafkaPlan) {
    super(plan, "line");
    this.#layout = layoutOf(plan.partitions, ROOM);
    this.#chunks = Array.from({ length: chunksOf(this.#layout) });
    for (let broker = 1; broker <= plan.brokers; broker++) this.#join(broker);
    this.controller = 1;
    this.#begin();
    this.#settleAtOnce({ type: "seen", members: this.#members() });
  }

  // ---- sessions and seats

  /** At the store: a session, the own seat, a place in the queue of controllers. */
  #join(broker: number): void {
    this.seats.open(broker);
    const own = this.seats.claim(broker, seatOf(broker), this.seats.newBid());
    this.#tokens.set(broker, ("hold" in own ? own.hold.token?.value : undefined) ?? 0n);
    const bid = this.seats.newBid();
    this.bids.set(broker, bid);
    this.seats.claim(broker, CONTROLLER, bid);
    this.queue.push(broker);
  }

  protected override mend(broker: number): void {
    const apply = (): void => this.#join(broker);
    for (const kind of ["open a session", "stand at its seat", "join the queue"])
      this.post.ask(
        { kind, from: broker, does: "write", apply: kind === "join the queue" ? apply : () => {} },
        () => {},
      );
  }

  protected override expired(brokers: readonly number[]): void {
    for (const broker of brokers) {
      const next = this.leaveQueue(broker);
      if (next !== undefined) this.post.send("hint", STORE, next, 0, () => this.#claim(next));
    }
  }

  #claim(broker: number): void {
    const bid = this.bids.get(broker)!;
    const apply = (): string => this.seats.claim(broker, CONTROLLER, bid).kind;
    this.post.ask({ kind: "claim the seat of the controller", from: broker, does: "write", apply }, (answer) => {
      if (answer === "granted") this.#rule(broker);
    });
  }

  // ---- the work of a controller

  #rule(broker: number): void {
    this.elected(broker);
    const ask = { kind: "read the assignments", from: broker, does: "read", states: this.plan.partitions } as const;
    this.post.ask({ ...ask, apply: () => this.#begin() }, () => this.#look(broker, this.#term));
  }

  #begin(): void {
    this.#term++;
    this.#writing = 0;
    this.#awaited = 0;
    this.#changed = new Set();
    const term = { token: BigInt(this.#term), bid: `bid-${this.#term}` };
    const plan = { layout: this.#layout, movesAtOnce: Math.ceil(this.plan.partitions / 10) };
    this.#machine = createController(plan, term, this.#chunks);
  }

  /** Who is there, what each has said, and who is gone: a look at all seats, a read for each member, a claim of each seat. */
  #look(broker: number, term: number): void {
    const { brokers } = this.plan;
    const then = (next: () => void) => (): void => void (term === this.#term && next());
    const look = { kind: "look at the seats", from: broker, does: "read", apply: () => this.#members() } as const;
    this.post.ask(look, (members) => {
      for (const { session } of members)
        this.post.ask(
          { kind: `read what a member says`, from: broker, does: "read", apply: () => session.id },
          () => {},
        );
      then(() => this.#input(broker, { type: "seen", members }))();
    });
    for (let id = 1; id <= brokers; id++) {
      if (id === broker) continue;
      const bid = this.seats.newBid();
      const apply = (): bigint | undefined => {
        const claimed = this.seats.claim(broker, seatOf(id), bid);
        return claimed.kind === "granted" ? claimed.hold.token?.value : undefined;
      };
      this.post.ask({ kind: "stand at the seat of a member", from: broker, does: "write", apply }, (below) =>
        then(() => below !== undefined && this.#prove(broker, id, bid, below))(),
      );
    }
  }

  /** The seat was granted: its member is over. */
  #prove(broker: number, id: number, bid: Bid, below: bigint): void {
    this.#input(broker, { type: "over", id: `${id}`, below });
    const apply = (): void => this.seats.release(broker, seatOf(id), bid);
    this.post.ask({ kind: "give the seat back", from: broker, does: "write", apply }, () => {});
  }

  #members(): readonly SeatedMember[] {
    return [...this.#tokens].flatMap(([broker, token]) =>
      this.seats.isOpen(broker) ? [{ session: sessionRef(`${broker}`, token, "m"), weight: 1, acks: [] }] : [],
    );
  }

  #input(broker: number, input: ControllerInput): void {
    if (this.#machine === undefined) return;
    for (const effect of stepController(this.#machine, input)) this.#write(broker, this.#term, effect);
  }

  #write(broker: number, term: number, { index, chunk }: ControllerEffect): void {
    this.#writing++;
    const apply = (): void => void (this.#chunks[index] = chunk);
    const ask = { kind: "write a chunk", from: broker, does: "write", states: chunk.entries.length, apply } as const;
    this.post.ask(ask, () => {
      if (term !== this.#term) return;
      this.#changed.add(index);
      this.#writing--;
      this.#input(broker, { type: "written", index });
      if (this.#writing === 0) this.#ring(broker, term);
    });
  }

  /** The index says which chunks have changed; the store tells every member of that, and each reads them. */
  #ring(broker: number, term: number): void {
    const changed = [...this.#changed];
    this.#changed = new Set();
    this.post.ask({ kind: "write the index", from: broker, does: "write", apply: () => {} }, () => {});
    for (const member of this.queue) {
      this.#awaited++;
      this.post.send("hint", STORE, member, 0, () => this.#read(member, changed, term));
    }
  }

  #read(member: number, changed: readonly number[], term: number): void {
    let left = changed.length;
    this.post.ask({ kind: "read the index", from: member, does: "read", apply: () => {} }, () => {
      for (const index of changed) {
        const states = this.#chunks[index]?.entries.length ?? 0;
        this.post.ask({ kind: "read a chunk", from: member, does: "read", states, apply: () => {} }, () => {
          left--;
          if (left === 0 && term === this.#term && --this.#awaited === 0) this.#finish();
        });
      }
    });
  }

  #finish(): void {
    const isLed = this.#chunks.every((chunk) =>
      chunk?.entries.every(({ owner }) => this.#members().some(({ session }) => session.key === owner?.key)),
    );
    this.finished(isLed && !this.post.cut.has(this.controller));
  }

  /** Before the story begins: what the first controller wrote long ago. */
  #settleAtOnce(first: ControllerInput): void {
    let inputs: readonly ControllerInput[] = [first];
    while (inputs.length > 0) {
      const effects = inputs.flatMap((input) => stepController(this.#machine!, input));
      for (const { index, chunk } of effects) this.#chunks[index] = chunk;
      inputs = effects.map(({ index }): ControllerInput => ({ type: "written", index }));
    }
  }
}
