// Three processes of examples/nestjs-fleet on one SQLite file, killed with SIGKILL and stopped with SIGSTOP every few seconds, and judged from outside (judge.ts). `npm run fleet` runs it.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Chance } from "../soak/chance.ts";
import { judgeFleet, type Line, lineOf, type Lists } from "./judge.ts";

export interface FleetOptions {
  readonly mark: "before" | "after";
  readonly seconds: number;
  readonly seed: number;
  /** @default 1000 */
  readonly everyMs?: number;
  readonly signal?: AbortSignal;
  readonly progress?: (line: string) => void;
}

export interface FleetReport extends Lists {
  readonly mark: "before" | "after";
  readonly seed: number;
  readonly seconds: number;
  readonly kills: number;
  readonly stops: number;
}

const SIZE = 3;
const TTL_MS = 2000;
/** How long the fleet may take to begin a slot, or to end, when nothing is done to it: a busy machine is slow, too. */
const WITHIN_MS = 60_000;
const program = fileURLToPath(new URL("../../examples/nestjs-fleet/main.mjs", import.meta.url));

export async function torment({ everyMs = 1000, signal, ...options }: FleetOptions): Promise<FleetReport> {
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-fleet-"));
  const env = {
    CONCLAVE_STORE: `sqlite:${path.join(folder, "fleet.db")}`,
    TTL_MS: `${TTL_MS}`,
    EVERY_MS: `${everyMs}`,
    MARK: options.mark,
  };
  const fleet = new Fleet(env, new Chance(options.seed), options.progress ?? (() => {}));
  const startedAt = performance.now();
  try {
    const troubles = await fleet.live(options.seconds * 1000, signal);
    const lists = judgeFleet(fleet.lines, { mark: options.mark, everyMs, killed: fleet.killed });
    const { mark, seed } = options;
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    const { kills, stops } = fleet;
    return { mark, seed, seconds, kills, stops, ...lists, findings: [...lists.findings, ...troubles] };
  } finally {
    fleet.end();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

class Fleet {
  readonly lines: Line[] = [];
  readonly killed = new Set<number>();
  stops = 0;
  readonly #env: Readonly<Record<string, string>>;
  readonly #chance: Chance;
  readonly #progress: (line: string) => void;
  readonly #running = new Map<number, ChildProcess>();
  #started = 0;

  constructor(env: Readonly<Record<string, string>>, chance: Chance, progress: (line: string) => void) {
    this.#env = env;
    this.#chance = chance;
    this.#progress = progress;
  }

  get kills(): number {
    return this.killed.size;
  }

  /** Resolves with what went wrong beside the slots. */
  async live(ms: number, signal: AbortSignal | undefined): Promise<readonly string[]> {
    for (let index = 0; index < SIZE; index++) this.#start();
    const troubles = (await this.#beginsAnother()) ? [] : ["no slot began in time"];
    const until = performance.now() + ms;
    while (performance.now() < until && signal?.aborted !== true && troubles.length === 0) await this.#fault();
    if (troubles.length === 0 && !(await this.#beginsAnother())) troubles.push("no slot began after the last fault");
    const ends = Array.from(this.#running.values(), (child) => this.#close(child));
    return [...troubles, ...(await Promise.all(ends)).flatMap((trouble) => trouble ?? [])];
  }

  /** Whatever still runs. */
  end(): void {
    for (const child of this.#running.values()) child.kill("SIGKILL");
  }

  #start(): void {
    const id = ++this.#started;
    const env = { ...process.env, ...this.#env };
    const child = spawn(process.execPath, [program], { env, stdio: ["ignore", "pipe", "inherit"] });
    this.#running.set(id, child);
    child.once("close", () => this.#running.delete(id));
    // Node writes to a pipe at once, so that what a process said before it was killed is read here all the same.
    createInterface({ input: child.stdout }).on("line", (text) => {
      const line = lineOf(id, text);
      if (line !== undefined) this.lines.push(line);
      this.#progress(`process ${id}: ${text}`);
    });
  }

  /** A few seconds of peace, then something happens to one of them: three times of four to the one that leads. */
  async #fault(): Promise<void> {
    await sleep(this.#chance.between(1000, 3000));
    const ids = [...this.#running.keys()];
    const leader = this.lines.findLast(({ what }) => what === "term")?.process ?? 0;
    const other = this.#chance.of(ids);
    const id = this.#chance.next() < 0.75 && ids.includes(leader) ? leader : other;
    const child = this.#running.get(id);
    // At any instant of a slot's run.
    await sleep(this.#chance.between(0, Number(this.#env["EVERY_MS"])));
    if (child === undefined) return;
    if (this.#chance.next() < 0.5) await this.#kill(id, child);
    else await this.#stop(id, child);
  }

  async #kill(id: number, child: ChildProcess): Promise<void> {
    this.#progress(`process ${id} is killed`);
    this.killed.add(id);
    child.kill("SIGKILL");
    await closed(child);
    this.#start();
  }

  /** Sometimes for less than the ttl, mostly for longer. */
  async #stop(id: number, child: ChildProcess): Promise<void> {
    const ms = this.#chance.between(TTL_MS / 2, TTL_MS * 2);
    this.#progress(`process ${id} is stopped for ${Math.round(ms)} ms`);
    this.stops++;
    child.kill("SIGSTOP");
    await sleep(ms);
    child.kill("SIGCONT");
  }

  async #beginsAnother(): Promise<boolean> {
    const count = (): number => this.lines.filter(({ what }) => what === "begun").length;
    const before = count();
    for (const until = performance.now() + WITHIN_MS; performance.now() < until; await sleep(50))
      if (count() > before) return true;
    return false;
  }

  /** By SIGTERM: the application closes, and Nest ends the process with the same signal. */
  async #close(child: ChildProcess): Promise<string | undefined> {
    child.kill("SIGTERM");
    const patience = setTimeout(() => child.kill("SIGKILL"), WITHIN_MS);
    await closed(child);
    clearTimeout(patience);
    const isClean = child.exitCode === 0 || child.signalCode === "SIGTERM";
    return isClean ? undefined : `a process ended with ${child.exitCode ?? child.signalCode} after SIGTERM`;
  }
}

/** It has ended, and everything that it said is read. */
const closed = (child: ChildProcess): Promise<void> => new Promise((resolve) => child.once("close", () => resolve()));
