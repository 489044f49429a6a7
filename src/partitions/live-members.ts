// Which members of a group without a controller seem to live: a look at the seats of its semaphore. A hint and no proof; two members may see different lists at one instant.
//
// Where the store judges, a seat whose holder is dead is shown as free. Where takers judge, it is shown as held until somebody takes it, which may never happen.
// So there a holder whose record has not changed for a whole ttl counts as gone. A holder that lives renews its record three times in that time.
import type { Clock } from "../base/clock.ts";
import { isTaken, lookAtAll } from "../election/observe.ts";
import { seatName } from "../election/permit.ts";
import type { Seat, Store } from "../stores/contract.ts";

/** The nonce that a candidate adds to its id. */
const NONCE = /_[0-9a-f]{16}-\d+$/;

export interface LiveMembersOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly semaphore: string;
  readonly seats: number;
  readonly ttlMs: number;
  readonly requestTimeoutMs: number;
}

export class LiveMembers {
  readonly #options: LiveMembersOptions;
  readonly names: readonly string[];
  /** For each seat: its record as it was seen first, and when. */
  readonly #seen = new Map<string, { readonly version: string; readonly sinceMs: number }>();

  constructor(options: LiveMembersOptions) {
    this.#options = options;
    this.names = Array.from({ length: options.seats }, (_, seat) => seatName(options.semaphore, seat));
  }

  /** Seat → the id of the member that holds it. */
  async look(): Promise<ReadonlyMap<number, string>> {
    const seats = await lookAtAll(this.#options, this.names);
    const nowMs = this.#options.clock.now().mono;
    return new Map(seats.flatMap((seat, place) => (this.#lives(seat, nowMs) ? [[place, idOf(seat)]] : [])));
  }

  #lives(seat: Seat, nowMs: number): boolean {
    const { store, ttlMs } = this.#options;
    const seen = this.#seen.get(seat.name);
    if (seen?.version !== seat.version) this.#seen.set(seat.name, { version: seat.version, sinceMs: nowMs });
    if (!isTaken(seat, nowMs)) return false;
    if (store.guarantee.judge !== "taker" || seen?.version !== seat.version) return true;
    return nowMs < seen.sinceMs + (seat.ttlMs ?? ttlMs);
  }
}

function idOf(seat: Seat): string {
  return (seat.holder?.candidate ?? "").replace(NONCE, "");
}
