// Signals of tests, scripts and benchmarks. The number of a process is often read from a file or an answer, and Number("") is 0.

/**
 * Sends a signal to one process. Throws for a number that names none: 0 is the whole group of the caller, which is the test run; a negative number is another group, and 1 is the whole container.
 *
 * @param {number} pid
 * @param {NodeJS.Signals} signal
 */
export function signalTo(pid, signal) {
  if (!Number.isSafeInteger(pid) || pid <= 1) throw new RangeError(`${signal} to process ${pid}: it is not known`);
  process.kill(pid, signal);
}
