// The wall clock, for the times of day that servers want: the times in a Lease, which are for people, the expiry of a credential, and the time from which an item may be removed. No deadline and no
// silence is measured by it.

export function wallClock(): Date {
  return new Date();
}
