// The kernel's clocks as a Reading. This is the only place in conclave that reads time.
//
//   mono   process.hrtime: CLOCK_MONOTONIC on Linux (stands still in suspend), a clock that counts sleep on macOS
//   boot   Linux: /proc/uptime, which counts suspend, in steps of 10 ms; elsewhere os.uptime on Windows, and mono itself on macOS
//
// Both are clocks of this host, and neither follows the wall clock. A virtual machine that is paused by its host may stop both: then only a token helps.
import { openSync, readSync } from "node:fs";
import { uptime } from "node:os";
import type { Clock, Grain, Reading, Timer } from "../base/clock.ts";
import { LONGEST_TIMER_MS } from "../base/longest-timer.ts";

/** These functions are taken when this module is loaded: a test runner that replaces them by fakes must not turn back the clock of a held term. */
const { hrtime } = process;
const { now: wallMs } = Date;
const { setTimeout, clearTimeout } = globalThis;

/** UTC in milliseconds. It may jump, so no code that mutual exclusion depends on may read it. */
export function wallNow(): number {
  return wallMs();
}

let shared: Clock | undefined;

/** There is one clock per process. It is made at first use, so that importing conclave opens nothing. */
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
    /** A longer wait than a timer can have wakes early, looks at the clock and waits again. */
    timer(afterMs: number, wake: () => void): Timer {
      const timeout = setTimeout(wake, Math.min(LONGEST_TIMER_MS, Math.max(0, Math.ceil(afterMs))));
      return { cancel: () => clearTimeout(timeout) };
    },
  };
}

/** The time since the start of the host, the same for every process and thread of it (performance.now starts anew in each). */
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

/** Reads the open file again each time, which takes 2 µs, a third of the cost of os.uptime. */
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
        return uptimeMs(); // the file was closed by other code, or /proc has gone
      }
    };
  } catch {
    return undefined; // there is no /proc here: os.uptime asks the kernel in another way
  }
}
