// A shooting range: agents under a real keeper, from src as it is; and somebody who reads every command line of the host meanwhile.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Agents, DeviceCall } from "conclave/stonith";
import { nodeClock } from "../../../src/election/clock.ts";
import type { KeptAgents } from "../../../src/stonith/agents.ts";
import { later } from "../../../src/supervisor/schedule.ts";
import { bundle } from "../../support/bundle.ts";

const ENTRIES = {
  agents: "src/stonith/agents.ts",
  "supervisor/keeper": "src/supervisor/keeper.ts",
  "supervisor/releaser": "src/supervisor/releaser.ts",
};

export interface AgentsModule {
  readonly KeptAgents: typeof KeptAgents;
}

export class ShootingRange {
  readonly folder: string = mkdtempSync(path.join(tmpdir(), "conclave-range-"));
  readonly #open = new Set<Agents>();
  #built: Promise<string> | undefined;

  file(name: string): string {
    return path.join(this.folder, name);
  }

  /** A program of the test. */
  program(name: string, text: string): string {
    writeFileSync(this.file(name), text, { mode: 0o755 });
    return this.file(name);
  }

  secret(name: string, value: string, mode = 0o600): string {
    writeFileSync(this.file(name), `${value}\n`, { mode });
    return this.file(name);
  }

  /** The folder of the bundle: agents.js, and the keeper beside it. */
  modules(): Promise<string> {
    const dir = this.file("modules");
    this.#built ??= bundle(ENTRIES, { dir, entryFileNames: "[name].js" }).then(() => {
      writeFileSync(path.join(dir, "package.json"), `{"type":"module"}`);
      return dir;
    });
    return this.#built;
  }

  async agents(hidden: readonly string[] = []): Promise<Agents> {
    const file = path.join(await this.modules(), "agents.js");
    const loaded = (await import(/* @vite-ignore */ file)) as AgentsModule;
    const agents = new loaded.KeptAgents({ name: "test", clock: nodeClock(), hidden });
    this.#open.add(agents);
    return agents;
  }

  /** What a device is given by somebody who may always shoot. */
  async call(timeoutMs = 60_000): Promise<DeviceCall> {
    const agents = await this.agents();
    return {
      run: (command) => {
        const at = later(nodeClock().now(), timeoutMs);
        return agents.run(command, { killAt: () => at, mayBegin: async () => undefined });
      },
    };
  }

  async end(): Promise<void> {
    await Promise.all([...this.#open].map((agents) => agents.close()));
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The command lines of the host in which `text` was seen while `act` ran. Looks again and again, without a pause. */
export async function commandLinesWith(text: string, act: () => Promise<unknown>): Promise<readonly string[]> {
  const seen = new Set<string>();
  let isOver = false;
  const ended = act().finally(() => (isOver = true));
  while (!isOver) {
    for (const line of commandLines()) if (line.includes(text)) seen.add(line);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await ended;
  return [...seen];
}

function commandLines(): readonly string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")];
      } catch {
        return []; // it has ended
      }
    });
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

/** The number that a program has written into a file, once it is there. */
export async function pidIn(file: string): Promise<number> {
  for (;;) {
    try {
      const pid = Number(readFileSync(file, "utf8"));
      if (pid > 0) return pid;
    } catch {
      // Not yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
