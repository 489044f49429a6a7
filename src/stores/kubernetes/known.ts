// What this handle has last seen of each Lease, by an answer or by its watch. Nothing is decided by this alone. A write that rests on it names its version, so that it is refused
// if the Lease has changed by now; a loss is told only after the server was asked.
//
// One thing is remembered for safety. A Lease that was held when it was last seen, and is gone or is another object now, was deleted by force: its holder learns of
// that by its next renewal. Absence has no version and no ttl in Kubernetes, so only a candidate that saw the Lease can wait for the holder (law 14: a record that vanished is not a free seat).
import { Recent } from "../../base/recent.ts";
import { asVersion, type Name, type Seat } from "../contract.ts";
import { holderOf, type Lease, seatOf, ttlMsOf, versionNumber, versionOf } from "./lease.ts";
import { whyForeign } from "./refusals.ts";

/** More names than one candidate stands for. */
const NAMES = 20_000;

interface Gone {
  readonly uid: string;
  readonly ttlMs: number | undefined;
}

export class KnownLeases {
  readonly #leases = new Recent<Name, Lease | undefined>(NAMES);
  readonly #gone = new Recent<Name, Gone | undefined>(NAMES);

  get(name: Name): Lease | undefined {
    return this.#leases.get(name);
  }

  /** Whether what was last seen at the name is no election of it. Only a watch shows such a Lease: the answer to a request refuses it. Then the server is to be asked, so that its answer does. */
  isForeign(name: Name): boolean {
    const lease = this.#leases.get(name);
    return lease !== undefined && whyForeign(lease, name) !== undefined;
  }

  /** Of which a Lease was seen. */
  names(): Iterable<Name> {
    return this.#leases.keys();
  }

  /** Answers may overtake each other: an older version of the same Lease is ignored. */
  see(name: Name, lease: Lease): void {
    const before = this.#leases.get(name);
    if (before !== undefined && versionNumber(before) >= versionNumber(lease)) return;
    if (before !== undefined && before.metadata.uid !== lease.metadata.uid && holderOf(before) !== "")
      this.#lose(name, before);
    // The new Lease has a holder. It got it by the rules for waiters, or by force, and then its token tells.
    if (holderOf(lease) !== "" && this.#gone.has(name)) this.#gone.set(name, undefined);
    this.#leases.set(name, lease);
  }

  /** The Lease is not there. */
  miss(name: Name): void {
    const before = this.#leases.get(name);
    if (before === undefined) return;
    if (holderOf(before) !== "") this.#lose(name, before);
    this.#leases.set(name, undefined);
  }

  #lose(name: Name, before: Lease): void {
    this.#gone.set(name, { uid: before.metadata.uid, ttlMs: ttlMsOf(before) });
  }

  /** Whether the seat at the name is vacant: the state of `seat`, without its version, which is a digest. */
  isVacant(name: Name, lease: Lease | undefined): boolean {
    return this.#gone.get(name) === undefined && (lease === undefined || holderOf(lease) === "");
  }

  /** The seat at the name; `lease` is the last that was seen of it. */
  seat(name: Name, lease: Lease | undefined): Seat {
    const gone = this.#gone.get(name);
    if (lease !== undefined && (gone === undefined || holderOf(lease) !== "")) return seatOf(name, lease);
    const instead = lease === undefined ? "absent" : versionOf(lease);
    if (gone === undefined) return { name, version: asVersion(instead), state: "vacant" };
    return { name, version: asVersion(`${gone.uid}/gone/${instead}`), state: "missing", ttlMs: gone.ttlMs };
  }
}
