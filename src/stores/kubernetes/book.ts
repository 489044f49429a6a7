// Reads and writes the Lease of one name. A write is a step: a function that says what to write over the present Lease, or answers. It is tried first on the Lease as last seen, which
// saves a request. After a conflict, or an answer that rests on what was last seen, the Lease is read and the step is taken anew.
//
// INVARIANT  an answer that writes nothing rests on what the server has just said, never on what was last seen
// INVARIANT  what is written replaces exactly the Lease that the step was shown (desk.ts)
import type { StopSignal } from "../../clients/stop-signal.ts";
import type { Name } from "../contract.ts";
import type { LeaseDesk } from "./desk.ts";
import type { KnownLeases } from "./known.ts";
import type { Lease } from "./lease.ts";
import { leaseNameOf } from "./names.ts";
import { contention, mustBeElection } from "./refusals.ts";
import type { KubernetesWatcher } from "./watcher.ts";

/** How often a write that lost against another write of the same Lease is tried anew within one call. */
const TRIES = 5;

export interface Next {
  readonly next: object;
}

export type LeaseStep<A> = (lease: Lease | undefined) => Next | A;

export class LeaseBook {
  readonly #desk: LeaseDesk;
  readonly #known: KnownLeases;
  readonly #watcher: KubernetesWatcher;

  constructor(desk: LeaseDesk, known: KnownLeases, watcher: KubernetesWatcher) {
    this.#desk = desk;
    this.#known = known;
    this.#watcher = watcher;
  }

  /** Asks the server. undefined: there is no such Lease. */
  async read(name: Name, signal: StopSignal): Promise<Lease | undefined> {
    const leaseName = leaseNameOf(name);
    const lease = await this.#desk.get(leaseName, signal);
    this.#watcher.compare(leaseName, name, lease);
    this.see(name, lease);
    return lease;
  }

  /** Throws a refusal for a Lease that is not of this election. */
  see(name: Name, lease: Lease | undefined): void {
    if (lease === undefined) return this.#known.miss(name);
    mustBeElection(lease, name);
    return this.#known.see(name, lease);
  }

  /** Returns the Lease that was written, or the step's answer. */
  async write<A extends object | string>(
    name: Name,
    step: LeaseStep<A>,
    signal: StopSignal,
  ): Promise<{ readonly written: Lease } | A> {
    const last = this.#known.isForeign(name) ? undefined : this.#known.get(name);
    let shown = last;
    let isRead = false;
    for (let tries = 0; tries < TRIES; tries++) {
      if (isRead || last === undefined) shown = await this.read(name, signal);
      const asked = step(shown);
      if (typeof asked === "object" && "next" in asked) {
        const written = await this.#send(name, shown, asked.next, signal);
        if (written !== "conflict") return { written };
      } else if (isRead || last === undefined) return asked;
      isRead = true;
    }
    throw contention(leaseNameOf(name));
  }

  async #send(name: Name, over: Lease | undefined, next: object, signal: StopSignal): Promise<Lease | "conflict"> {
    const leaseName = leaseNameOf(name);
    const written =
      over === undefined ? await this.#desk.create(next, signal) : await this.#desk.update(leaseName, next, signal);
    if (written === "conflict") return written;
    this.#watcher.compare(leaseName, name, written);
    this.#known.see(name, written);
    return written;
  }
}
