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
import { keptBootTime } from "./kept-boot-time.ts";

/** These functions are taken when this module is loaded: a test runner that replaces them by fakes must not turn back the clock of a held term. */
const { hrtime } = process;
const { now: wallMs } = Date;
const { setTimeout, clearTimeout } = globalThis;

/** UTC in milliseconds. It may jump, so no deadline and no silence is measured by it. (Its jumps are of use: by them a sleep of the host is noticed, see kept-boot-time.ts.) */
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
  const grain: Grain = { monoMs: 5, bootMs: platform === "darwin" ? 5 : 20 };
  return {
    grain,
    now: readingOf(platform),
    wall: wallMs,
    /** A longer wait than a timer can have wakes early, looks at the clock and waits again. */
    timer(afterMs: number, wake: () => void): Timer {
      const timeout = setTimeout(wake, Math.min(LONGEST_TIMER_MS, Math.max(0, Math.ceil(afterMs))));
      return { cancel: () => clearTimeout(timeout) };
    },
  };
}

function readingOf(platform: string): () => Reading {
  if (platform === "darwin") return monoAlone;
  const bootMs = platform === "linux" ? procUptime() : undefined;
  if (bootMs !== undefined) return keptBootTime({ monoMs, wallMs, bootMs });
  return () => ({ mono: monoMs(), boot: uptimeMs() });
}

function monoAlone(): Reading {
  const mono = monoMs();
  return { mono, boot: mono };
}

/** The time since the start of the host, the same for every process and thread of it (performance.now starts anew in each). */
function monoMs(): number {
  const [seconds, nanoseconds] = hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

function uptimeMs(): number {
  return uptime() * 1000;
}

/** Reads the open file again each time, which takes a third of the time of os.uptime. */
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
        const ms = read();
        return Number.isFinite(ms) ? ms : uptimeMs();
      } catch {
        return uptimeMs(); // other code has closed the file, or /proc has gone
      }
    };
  } catch {
    return undefined; // there is no /proc here: os.uptime asks the kernel in another way
  }
}
