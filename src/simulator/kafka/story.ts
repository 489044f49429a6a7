// What stories of a controller at a store share: brokers with sessions, a queue of them, a controller that dies or is cut off again and again, and what its replacement costs.
import type { Bid } from "../../lease/exchange.ts";
import type { Cost, KafkaPlan } from "./plan.ts";
import { KafkaPost } from "./post.ts";
import { Seats, type SeatShape } from "./seats.ts";

/** After the faults there is time enough for any plan. */
const LONGEST_MS = 3_600_000;
const MEND_AFTER_MS = 1000;

export abstract class ControllerStory {
  protected readonly plan: KafkaPlan;
  protected readonly post: KafkaPost;
  protected readonly seats: Seats;
  /** Broker → its bid for the seat of the controller. */
  protected readonly bids: Map<number, Bid> = new Map();
  /** In a line: the brokers in the order of the queue. */
  protected readonly queue: number[] = [];
  protected controller = 0;
  #elected = 0;
  #finished = 0;
  #electedAtMs = 0;
  #finishedAtMs = 0;
  #faultsLeft = 0;
  #isInOrder = true;

  constructor(plan: KafkaPlan, shape: SeatShape) {
    this.plan = plan;
    this.post = new KafkaPost(plan);
    this.seats = new Seats(this.post, shape, (_, brokers) => this.expired(brokers));
  }

  /** Runs at the store: the sessions of these brokers have run out. */
  protected abstract expired(brokers: readonly number[]): void;
  /** A broker whose session has run out reaches the store again. */
  protected abstract mend(broker: number): void;

  /** The controller dies, for good. */
  crash(): Cost {
    return this.#play(1, (victim) => this.post.cut.add(victim));
  }

  /** The controller of the moment is cut off from the store, again and again. */
  storm(): Cost {
    return this.#play(this.plan.cuts, (victim) => {
      this.post.cut.add(victim);
      this.post.at(this.post.nowMs + this.plan.sessionMs + MEND_AFTER_MS, () => {
        this.post.cut.delete(victim);
        this.mend(victim);
      });
    });
  }

  #play(faults: number, strike: (victim: number) => void): Cost {
    const { sessionMs, cutEveryMs } = this.plan;
    this.post.run(sessionMs, () => false);
    const startMs = this.post.nowMs;
    this.post.count();
    this.#elected = 0;
    this.#finished = 0;
    this.#faultsLeft = faults;
    for (let fault = 0; fault < faults; fault++)
      this.post.at(startMs + fault * cutEveryMs, () => {
        this.#faultsLeft--;
        this.#isInOrder = false;
        strike(this.controller);
      });
    this.post.run(startMs + LONGEST_MS, () => this.#faultsLeft === 0 && this.#isInOrder);
    const { byKind, messages, states } = this.post;
    const [electedMs, ledMs] = [this.#electedAtMs - startMs, this.#finishedAtMs - startMs];
    return { electedMs, ledMs, messages, byKind, states, elected: this.#elected, finished: this.#finished };
  }

  /** Returns the broker that was behind it, which is the next one to be told. */
  protected leaveQueue(broker: number): number | undefined {
    const place = this.queue.indexOf(broker);
    if (place >= 0) this.queue.splice(place, 1);
    return this.queue[place];
  }

  /** This broker is the controller from now on. */
  protected elected(broker: number): void {
    this.controller = broker;
    this.#elected++;
    this.#electedAtMs = this.post.nowMs;
  }

  /** The controller has done what it had to. `isInOrder`: nothing is left for another one to do. */
  protected finished(isInOrder: boolean): void {
    this.#finished++;
    this.#finishedAtMs = this.post.nowMs;
    this.#isInOrder = isInOrder;
  }
}
