// Writes to the stderr of a process that shares it with the command, and with others of the same pipeline. Uses built-ins only.
//
// Node's own `process.stderr` makes a pipe non-blocking for every process that has it open; programs that expect a write to wait then lose what they write. Node does so
// when `process.stderr` is first read, and reads it itself whenever a socket is closed. A plain write, on the other hand, waits for a reader that has
// stopped, which would cost the term.
// So a pipe or a terminal is opened a second time, non-blocking for this process alone; what cannot be written soon is left out.
// A file is written as it is, because its position is shared. A socket cannot be opened twice, so a write to it waits.
import { closeSync, constants, fstatSync, openSync, writeSync } from "node:fs";
import { Writable } from "node:stream";

/** How long a write waits for a slow reader. A reader that has stopped is not waited for again before it has read something. */
const PATIENCE_MS = 100;
const NAP_MS = 2;
const STDERR = 2;

let descriptor: number | undefined;
let isStuck = false;

/** Replaces `process.stderr` by a harmless stream. Must be called before anybody reads `process.stderr`. */
export function shareStderr(): void {
  const stderr = new Writable({
    write(chunk: Buffer, _encoding, done) {
      write(chunk);
      done();
    },
  });
  Object.defineProperty(process, "stderr", { value: stderr, configurable: true, enumerable: true });
}

/** For a process that lives on for a while although nobody expects it: a reader of the pipe, such as `tee` or a parent, waits until the last process has closed it. */
export function leaveStderr(): void {
  if (descriptor !== undefined && descriptor !== STDERR) closeSync(descriptor);
  closeSync(STDERR);
  descriptor = openSync("/dev/null", constants.O_WRONLY); // gets the number that has just become free, so that nothing else is written to as stderr
}

function write(text: Buffer): void {
  descriptor ??= openAgain();
  const until = performance.now() + (isStuck ? 0 : PATIENCE_MS);
  let rest = text;
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
      isStuck = false;
    } catch (error) {
      // Any other error: the program that read it is gone, or its disk is full. The command must not suffer from that.
      isStuck = (error as NodeJS.ErrnoException).code === "EAGAIN";
      if (!isStuck || performance.now() >= until) return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, NAP_MS);
    }
  }
}

function openAgain(): number {
  try {
    const found = fstatSync(STDERR);
    if (!found.isFIFO() && !found.isCharacterDevice()) return STDERR;
    return openSync("/dev/fd/2", constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return STDERR; // this process may not open it
  }
}
