// The wall clock, for two texts that Kubernetes wants: the times of a Lease, which are for people, and the expiry of a credential. No deadline and no silence is reckoned by it.

export function wallClock(): Date {
  return new Date();
}

/** As Go's MicroTime is written: UTC, six digits behind the point. */
export function microTime(at: Date): string {
  return `${at.toISOString().slice(0, -1)}000Z`;
}
