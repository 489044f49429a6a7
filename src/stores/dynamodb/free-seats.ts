// Seats that this handle has given back, as they stood then. The next claim of the same session for such a name is one write, without a read before it.
//
// Why that is as safe as reading first. The write demands the stamp that this handle itself has left there, and no stamp comes back. So the seat is what it was: vacant,
// with the same token. A greater token can have been granted only by a write of the seat, which would have drawn another stamp; and the era was that of the name when this
// handle was granted the seat. If anything else stands there, nothing is written, and the claim goes on by reading.
// It is not read whether the session was ended meanwhile. If this handle has ended it, or found it to be over, it claims nothing here (`forget`). A rival ends a session only after a
// ttl of silence: by then the session's deadline has passed, and the machine hands back a grant that comes too late (law 7). And a seat of an ended session is vacant to everybody.
import { Recent } from "../../base/recent.ts";
import { type Claim, type Hold, type Name, VACANT, type Version } from "../contract.ts";
import type { SeatItem } from "./items.ts";

/** More names than one process takes and gives back again and again. */
const NAMES = 10_000;

export type Sitting = Pick<SeatItem, "session" | "candidate" | "bid" | "token" | "domain" | "ttlMs" | "value" | "era">;

/** A seat that was given back: `stamp` is what stands there since. */
export interface FreeSeat extends Sitting {
  readonly stamp: string;
}

export class FreeSeats {
  readonly #held = new Recent<Name, Sitting | undefined>(NAMES);
  readonly #free = new Recent<Name, FreeSeat | undefined>(NAMES);

  /** This handle was granted the seat, in the present era of its name. */
  granted(name: Name, sitting: Sitting): void {
    this.#held.set(name, sitting);
  }

  /** This handle has given it back, by a write with this stamp. */
  vacated(session: string, { name, bid }: Pick<Hold, "name" | "bid">, stamp: string): void {
    const sitting = this.#held.get(name);
    if (sitting?.session !== session || sitting.bid !== bid) return;
    this.#held.set(name, undefined);
    this.#free.set(name, { ...sitting, stamp });
  }

  /** The seat that the claim may write over without having read it. It is returned once. Over VACANT the last bid that held the name is not granted again. */
  take({ name, session, bid, over }: Claim, versionOf: (free: FreeSeat) => Version): FreeSeat | undefined {
    const free = this.#free.get(name);
    if (free === undefined || free.session !== session.id || free.bid === bid) return undefined;
    if (over !== VACANT && over !== versionOf(free)) return undefined;
    this.#free.set(name, undefined);
    return free;
  }

  /** The session is over. */
  forget(session: string): void {
    for (const seats of [this.#held, this.#free]) {
      const names = [...seats.keys()].filter((name) => seats.get(name)?.session === session);
      for (const name of names) seats.set(name, undefined);
    }
  }
}
