// The monotonic clock of the host, CLOCK_MONOTONIC, in milliseconds. It stands still while the host sleeps, so a wait by this clock gets longer then, never shorter.
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
