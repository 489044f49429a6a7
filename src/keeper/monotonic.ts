// The monotonic clock of the host, CLOCK_MONOTONIC, in milliseconds. It stands still while the host sleeps: what is waited for by it is waited for longer then, never
// shorter.
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
