// A hardware watchdog of this machine, as the fence of last resort: while this node acts it feeds the watchdog, and only while its term is held. If
// it cannot (stopped, hung, cut off from the store, banned)
// the watchdog resets the machine. The node records the timeout when its work begins; the shooter waits for it on its own clock (limits.ts: ban committed + ttl + twice the timeout).
//
// WHY the wait is long enough: after the commit of the ban no renewal of the node succeeds, so every term of the node is over at most one ttl later,
// by the node's own clock. It feeds the watchdog for the last time before that. Then the watchdog counts to its timeout.
//
// A watchdog counts only if it goes on when everything else stands still:
//   hardware        the kernel shows a device behind it. softdog is a timer of the kernel that it should reset
//   no guest        a virtual machine that is paused pauses its watchdog with it
//   magic close     the kernel stops a watchdog without it when its file is closed: a killed process would disarm it
//   can be ended    not nowayout: else every clean release would reset the machine
//   slow enough     its timeout is at least the ttl, or a term that is merely renewed late would reset the machine
// Node cannot set its timeout (that is an ioctl): the operator does (wdctl --settimeout, or an option of the kernel module).
import { closeSync, existsSync, openSync, readFileSync, realpathSync, writeSync } from "node:fs";
import path from "node:path";
import type { Clock, Timer } from "../../base/clock.ts";
import { ConclaveError } from "../../base/errors.ts";

/** Where this host tells of its watchdogs, and whether it is a virtual machine. */
export interface WatchdogPlaces {
  /** @default "/sys/class/watchdog" */
  readonly sys?: string | undefined;
  /** @default "/proc/cpuinfo" */
  readonly cpuinfo?: string | undefined;
}

/** A hardware watchdog of this host that can be counted on. */
export interface WatchdogFound {
  readonly device: string;
  readonly identity: string;
  readonly timeoutMs: number;
}

/** WDIOF_MAGICCLOSE of linux/watchdog.h. */
const MAGIC_CLOSE = 0x0100;
/** The text that disarms it, written right before it is closed. */
const MAGIC = "V";
const FED_PER_TIMEOUT = 4;

/** What the kernel says of it, or every reason why it does not count. Does not open the device, because opening it arms it. */
export function inspectWatchdog(
  device: string,
  ttlMs: number,
  { sys = "/sys/class/watchdog", cpuinfo = "/proc/cpuinfo" }: WatchdogPlaces = {},
): WatchdogFound | { readonly problems: readonly string[] } {
  if (!existsSync(device)) return { problems: [`${device}: there is no such device`] };
  const name = path.basename(realpathSync(device));
  const folder = path.join(sys, name === "watchdog" ? "watchdog0" : name);
  const fact = (file: string): string | undefined => textOf(path.join(folder, file));
  const timeoutMs = Number(fact("timeout") ?? 0) * 1000;
  const identity = fact("identity") ?? "";
  const isGuest = /^flags\s*:.*\bhypervisor\b/m.test(textOf(cpuinfo) ?? "");
  const rules: readonly (readonly [boolean, string])[] = [
    [identity !== "", `the kernel says nothing of it in ${folder}`],
    [existsSync(path.join(folder, "device")) && !/software|softdog/i.test(identity), `"${identity}" is no hardware`],
    [!isGuest, "this is a virtual machine: when it is paused, so is its watchdog"],
    [(Number(fact("options")) & MAGIC_CLOSE) !== 0, "it stops when its process is killed (no magic close)"],
    [fact("nowayout") !== "1", "it cannot be disarmed (nowayout): a clean release would reset the machine"],
    [timeoutMs >= ttlMs, `its timeout (${timeoutMs} ms) is shorter than the ttl (${ttlMs} ms): wdctl --settimeout`],
  ];
  const problems = rules.filter(([isKept]) => !isKept).map(([, problem]) => `${device}: ${problem}`);
  return problems.length > 0 ? { problems } : { device, identity, timeoutMs };
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return undefined;
  }
}

/** An armed watchdog. */
export class FedWatchdog {
  readonly #file: number;
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #isHeld: () => boolean;
  #timer: Timer | undefined;
  #isOver = false;

  private constructor(file: number, found: WatchdogFound, clock: Clock, isHeld: () => boolean) {
    this.#file = file;
    this.#clock = clock;
    this.#everyMs = found.timeoutMs / FED_PER_TIMEOUT;
    this.#isHeld = isHeld;
    this.#feed();
  }

  /** Arms it. From now on the machine is reset unless `isHeld` says yes again and again, or `disarm` is called. Throws if it cannot be opened: only one process can have it. */
  static arm(found: WatchdogFound, clock: Clock, isHeld: () => boolean): FedWatchdog {
    try {
      return new FedWatchdog(openSync(found.device, "w"), found, clock, isHeld);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new ConclaveError(
        "CONFIG_INVALID",
        `the watchdog ${found.device} cannot be opened (${code ?? String(error)})${code === "EBUSY" ? ": another process has armed it" : ""}`,
      );
    }
  }

  /** To be called when nothing that the term permitted acts any more: the work has ended, and what it started is gone. */
  disarm(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timer?.cancel();
    writeSync(this.#file, MAGIC);
    closeSync(this.#file);
  }

  /** SAFETY: feeds it only while the term is held, by the clock. It is not fed once more "to gain time", because the shooter's arithmetic relies on that. */
  #feed(): void {
    if (this.#isOver) return;
    if (this.#isHeld()) writeSync(this.#file, "1");
    this.#timer = this.#clock.timer(this.#everyMs, () => this.#feed());
  }
}
