// The kernel's clocks as a Reading. The only place in conclave that reads time.
//
//   mono   process.hrtime: CLOCK_MONOTONIC on Linux (stands still in suspend), a clock that counts sleep on macOS
//   boot   Linux: /proc/uptime, which counts suspend, in steps of 10 ms; elsewhere os.uptime on Windows, and mono itself on macOS
//
// Both are of this host; neither follows the wall clock. A virtual machine that is paused by its host may stop both: then only a token helps.
import { openSync, readSync } from "node:fs";
import { uptime } from "node:os";
import type { Clock, Grain, Reading, Timer } from "../base/clock.ts";

/** setTimeout takes no more; a longer wait wakes early, looks at the clock and waits again. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Taken when this module is loaded: a test runner that puts fakes in their place must not turn a held term's clock back. */
const { hrtime } = process;
const { now: wallMs } = Date;
const { setTimeout, clearTimeout } = globalThis;

/** UTC in milliseconds. It may jump: nothing on which exclusion rests may read it. */
export function wallNow(): number {
  return wallMs();
}

let shared: Clock | undefined;

/** One per process; made at first use, so that importing conclave opens nothing. */
export function nodeClock(): Clock {
  shared ??= createNodeClock(process.platform);
  return shared;
}

function createNodeClock(platform: string): Clock {
  const bootMs = bootHand(platform);
  const grain: Grain = { monoMs: 5, bootMs: platform === "darwin" ? 5 : 20 };
  return {
    grain,
    now(): Reading {
      const mono = monoMs();
      return { mono, boot: bootMs === undefined ? mono : bootMs() };
    },
    mono: monoMs,
    wall: wallMs,
    timer(afterMs: number, wake: () => void): Timer {
      const timeout = setTimeout(wake, Math.min(LONGEST_TIMER_MS, Math.max(0, Math.ceil(afterMs))));
      return { cancel: () => clearTimeout(timeout) };
    },
  };
}

/** Since the host's start, the same for every process and thread of it (performance.now starts anew in each). */
function monoMs(): number {
  const [seconds, nanoseconds] = hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

function bootHand(platform: string): (() => number) | undefined {
  if (platform === "darwin") return undefined;
  if (platform === "linux") return procUptime() ?? uptimeMs;
  return uptimeMs;
}

function uptimeMs(): number {
  return uptime() * 1000;
}

/** Reads the open file again each time: 2 µs, a third of what os.uptime costs. */
function procUptime(): (() => number) | undefined {
  const text = Buffer.alloc(64);
  try {
    const file = openSync("/proc/uptime", "r");
    const read = (): number => {
      const length = readSync(file, text, 0, text.length, 0);
      return Number.parseFloat(text.toString("latin1", 0, length)) * 1000;
    };
    if (!Number.isFinite(read())) return undefined;
    return () => {
      try {
        return read();
      } catch {
        return uptimeMs(); // the file was closed under us, or what serves it has gone
      }
    };
  } catch {
    return undefined; // no /proc here: os.uptime asks the kernel in another way
  }
}
