// The wall clock, for what servers want as a time: those of a Lease, which are for people, the expiry of a credential, and from when on an item may be removed. No deadline and
// no silence is reckoned by it.

export function wallClock(): Date {
  return new Date();
}
