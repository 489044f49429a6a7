// Configurations of guarded elections in tests, and a hardware watchdog that is a file.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseStonithConfig, type StonithConfig, type WatchdogPlaces } from "conclave/stonith";

const SWITCHED = { levels: [[{ kind: "command", off: ["/bin/true"], status: ["/bin/true"] }]] };
const SETTINGS = {
  election: "ledger",
  nodes: { a: SWITCHED, b: SWITCHED, c: SWITCHED },
  ttlMs: 1000,
  delayMs: 100,
  spreadMs: 50,
  retryMs: 50,
  retryMaxMs: 200,
  attemptsMax: 100,
};

export const CONFIG: StonithConfig = parseStonithConfig(JSON.stringify(SETTINGS), "the test");

export /** The hardware watchdog of machine a, which no device can power off: a file in place of the device, and a folder in place of /sys. It fires when it was not fed for its timeout. */
class WatchdogOfTest {
  readonly timeoutMs: number = 1000;
  readonly folder: string = mkdtempSync(path.join(tmpdir(), "conclave-guarded-"));
  readonly #device: string = path.join(this.folder, "watchdog0");
  readonly places: WatchdogPlaces = { sys: path.join(this.folder, "sys"), cpuinfo: path.join(this.folder, "cpuinfo") };
  readonly config: StonithConfig = parseStonithConfig(
    JSON.stringify({ ...SETTINGS, nodes: { ...SETTINGS.nodes, a: { watchdog: this.#device } } }),
    "the test",
  );
  #firing: NodeJS.Timeout | undefined;
  #reader: ChildProcess | undefined;

  constructor() {
    const sys = path.join(this.folder, "sys", "watchdog0");
    mkdirSync(sys, { recursive: true });
    const facts = { identity: "iTCO_wdt", timeout: "1", options: "0x8180", nowayout: "0", device: "" };
    for (const [name, text] of Object.entries(facts)) writeFileSync(path.join(sys, name), `${text}\n`);
    writeFileSync(path.join(this.folder, "cpuinfo"), "flags\t: fpu vme\n");
    writeFileSync(this.#device, "");
  }

  /** What was written into it: `1` feeds it, `V` disarms it. */
  get heard(): string {
    return readFileSync(this.#device, "latin1");
  }

  guard(reset: () => void): void {
    if (this.#firing !== undefined) return;
    this.#firing = setInterval(() => {
      const isArmed = this.heard !== "" && !this.heard.includes("V");
      if (isArmed && Date.now() - statSync(this.#device).mtimeMs > this.timeoutMs) reset();
    }, 10);
  }

  /** Whoever opens the device stands still for so long, with its whole process: nobody reads the pipe before that. */
  opensAfter(ms: number): void {
    clearInterval(this.#firing); // it reads the file, and a pipe would not answer
    rmSync(this.#device);
    execFileSync("mkfifo", [this.#device]);
    const read = `sleep ${ms / 1000}; while [ -p "$1" ]; do cat "$1"; done`;
    this.#reader = spawn("sh", ["-c", read, "reader", this.#device], { stdio: "ignore", detached: true });
  }

  end(): void {
    clearInterval(this.#firing);
    rmSync(this.folder, { recursive: true, force: true });
    if (this.#reader?.pid !== undefined) process.kill(-this.#reader.pid, "SIGKILL");
  }
}
