// The arithmetic of master leases. ρ bounds how far a clock's rate is from real time, g how far a reading may lag behind the instant.
//
// BELIEF  A master believes for   D = T·(1−ρ)/(1+ρ) − g   of its clock after it SENT the request that a majority has proven to have received.
// PROMISE  A replica is bound for   T + g   of its clock after the RECEIPT.
//   Argument: the request is sent at true time s and received at c ≥ s. The replica's clock runs at most at 1+ρ, and its reading at c lagged by at most g, so it is bound until c + T/(1+ρ) at least. The
//   master's clock runs at least at 1−ρ, so D + g of it are over by s + T/(1+ρ): the master has stopped by then.
// WAIT  A replica that was bound for r more of its clock when it promised to a new candidate makes the candidate wait   r + g   of the candidate's own clock, from receipt.
//   Argument: T − r had passed on the replica's clock since c, and r passes on the candidate's; both run at most at 1+ρ, so together at least T/(1+ρ) after c.
//   No drift is added for r: nobody relies on the replica's clock being slow.
// These are the same inequalities as for leases of a store: there the store is the judge, here each replica is one.

export interface ReplicaMargins {
  readonly leaseMs: number;
  readonly rho: number;
  readonly grainMs: number;
}

export function beliefMs({ leaseMs, rho, grainMs }: ReplicaMargins): number {
  return (leaseMs * (1 - rho)) / (1 + rho) - grainMs;
}

export function promiseMs({ leaseMs, grainMs }: ReplicaMargins): number {
  return leaseMs + grainMs;
}

export function waitOf(remainingMs: number, { grainMs }: ReplicaMargins): number {
  return remainingMs > 0 ? remainingMs + grainMs : 0;
}

/** Returns the greatest value that at least `count` values reach; −Infinity if fewer are finite. It is meant for a handful of values, and makes no copy. */
export function reachedBy(values: Float64Array, count: number): number {
  let best = -Infinity;
  for (const value of values) {
    let reached = 0;
    for (const other of values) if (other >= value) reached++;
    if (reached >= count && value > best) best = value;
  }
  return best;
}

/** Returns the least value that at least `count` values have passed; Infinity if fewer are finite. */
export function passedBy(values: Float64Array, count: number): number {
  let best = Infinity;
  for (const value of values) {
    let passed = 0;
    for (const other of values) if (other <= value) passed++;
    if (passed >= count && value < best) best = value;
  }
  return best;
}
