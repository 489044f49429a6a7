// A trio of Redis or PostgreSQL on machines that a switch powers off. A machine is a set of processes, found by a variable of their environment; the switch is a command of the operator that kills them all, and says of each machine
// whether something of it runs. It can be told to lie, and to be mute.
import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { statOf } from "../../scripts/servers/process.mjs";
import type { CommandLine } from "../cli/command.ts";
import { PostgresTrio } from "./postgres-trio.ts";
import { RedisTrio } from "./redis-trio.ts";
import { MONITORS, SERVERS } from "./trio.ts";
import { signalTo } from "../../scripts/servers/signal.mjs";

/** What the switch does: what it is told; nothing, although it says that it was done; nothing, and it answers nothing. */
export type Mood = "honest" | "lying" | "mute";

/** $1: status or off. $2: the machine. What runs there was written down when it was stopped. */
const SWITCH = `#!/bin/sh
cd FOLDER || exit 9
mood=$(cat mood)
[ "$mood" = mute ] && exit 1
[ -e "$2" ] || exit 0
alive=""
for pid in $(cat "$2"); do
  read -r line 2>/dev/null < /proc/$pid/stat || continue
  case "\${line##*) }" in Z*|X*) ;; *) alive="$alive $pid" ;; esac
done
if [ "$1" = status ]; then
  [ -z "$alive" ] && { echo off; exit 2; }
  exit 0
fi
[ "$mood" = honest ] && [ -n "$alive" ] && kill -9 $alive
exit 0
`;

/** The machines of one trio, and the switch that powers them off. The machine of server a is node-a; no monitor runs on one of them. */
export class Switchboard {
  readonly #cli: CommandLine;
  readonly #tag = `${process.pid}-${Math.random().toString(36).slice(2)}`;

  constructor(cli: CommandLine) {
    this.#cli = cli;
  }

  /** Writes the program of the switch and the file of the devices. The result is what the configuration of the failover says of them. */
  set(more: Readonly<Record<string, unknown>>): { readonly stonith: object } {
    this.mood("honest");
    const power = this.#cli.file("power.sh");
    writeFileSync(power, SWITCH.replace("FOLDER", this.#cli.folder));
    chmodSync(power, 0o755);
    const device = {
      kind: "command",
      name: "switch",
      status: [power, "status", "{node}"],
      off: [power, "off", "{node}"],
    };
    const nodes = Object.fromEntries(SERVERS.map((name) => [`node-${name}`, { levels: [[device]] }]));
    const settings = {
      tries: 1,
      retryMs: 100,
      retryMaxMs: 300,
      attemptsMax: 1000,
      verifyWithinMs: 300,
      askEveryMs: 50,
    };
    const devices = { election: "machines", maxOff: 2, shotsMax: 1000, ...settings, nodes };
    writeFileSync(this.#cli.file("stonith.json"), JSON.stringify(devices), { mode: 0o600 });
    return {
      stonith: {
        config: "stonith.json",
        servers: Object.fromEntries(SERVERS.map((name) => [name, `node-${name}`])),
        monitors: Object.fromEntries(MONITORS.map((name) => [name, null])),
        ...more,
      },
    };
  }

  mood(mood: Mood): void {
    writeFileSync(this.#cli.file("mood"), mood);
  }

  environmentOf(name: string): Readonly<Record<string, string>> {
    return { MACHINE: `node-${name}-${this.#tag}` };
  }

  /** The machine runs again, with nothing on it. */
  boot(name: string): void {
    rmSync(this.#cli.file(`node-${name}`), { force: true });
  }

  /** Stops everything that runs on the machine, as a hypervisor does. A server writes over its environment: it is found by its own word, and what it has started after it stands still. */
  freeze(name: string, server: number): readonly number[] {
    const first = [...new Set([...this.marked(name), server])];
    for (const pid of first) signalTo(pid, "SIGSTOP");
    const started = childrenOf(server).filter((pid) => !first.includes(pid));
    for (const pid of started) signalTo(pid, "SIGSTOP");
    writeFileSync(this.#cli.file(`node-${name}`), [...first, ...started].join(" "));
    return [...first, ...started];
  }

  marked(name: string): readonly number[] {
    const wanted = `MACHINE=${this.environmentOf(name)["MACHINE"]}`;
    return processes().filter((pid) => has(`${pid}`, wanted));
  }

  end(): void {
    for (const name of SERVERS) for (const pid of this.marked(name)) signalTo(pid, "SIGKILL");
  }
}

export class MachineTrio extends RedisTrio {
  readonly #switchboard = new Switchboard(this.cli);
  readonly #hasGuards: boolean;
  readonly servers = new Map<string, ChildProcess>();

  constructor(hasGuards: boolean) {
    super();
    this.#hasGuards = hasGuards;
  }

  async begin(store: string, stonith: Readonly<Record<string, unknown>> = {}): Promise<void> {
    await this.start(store, { guards: this.#hasGuards, ...this.#switchboard.set(stonith) });
  }

  mood(mood: Mood): void {
    this.#switchboard.mood(mood);
  }

  protected override environmentOf(name: string): Readonly<Record<string, string>> {
    return this.#switchboard.environmentOf(name);
  }

  /** Without guards: by hand, all as replicas of the first. */
  protected override async serve(): Promise<void> {
    if (this.#hasGuards) return await super.serve();
    const [first] = SERVERS;
    for (const name of SERVERS) this.boot(name, name === first ? undefined : first);
  }

  /** Starts the server of a machine. */
  boot(name: string, follows: string | undefined): void {
    const [program = "", ...args] = this.command(name);
    const replica = follows === undefined ? [] : ["--replicaof", "127.0.0.1", `${this.ports.get(follows)}`];
    this.#switchboard.boot(name);
    this.servers.set(name, spawn(program, [...args, ...replica], { stdio: "ignore" }));
  }

  async freeze(name: string): Promise<readonly number[]> {
    return this.#switchboard.freeze(name, await this.pidOf(name));
  }

  override async end(): Promise<void> {
    await super.end();
    this.#switchboard.end();
    for (const server of this.servers.values()) server.kill("SIGKILL");
  }
}

/** With guards: a server of PostgreSQL is never promoted without one. */
export class PostgresMachineTrio extends PostgresTrio {
  readonly #switchboard = new Switchboard(this.cli);

  async begin(store: string, stonith: Readonly<Record<string, unknown>>): Promise<void> {
    await this.start(store, { confirmations: 1, ...this.#switchboard.set(stonith) });
  }

  mood(mood: Mood): void {
    this.#switchboard.mood(mood);
  }

  protected override environmentOf(name: string): Readonly<Record<string, string>> {
    return this.#switchboard.environmentOf(name);
  }

  async freeze(name: string): Promise<readonly number[]> {
    return this.#switchboard.freeze(name, await this.pidOf(name));
  }

  /** The machine of a server is started again, and its guard with it. */
  async boot(name: string): Promise<void> {
    this.#switchboard.boot(name);
    await this.guard(name);
  }

  override async end(): Promise<void> {
    await super.end();
    this.#switchboard.end();
  }
}

/** Nothing of them runs. */
export function areGone(pids: readonly number[]): boolean {
  return pids.every((pid) => !isAlive(`${pid}`));
}

function processes(): readonly number[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number);
}

function childrenOf(parent: number): readonly number[] {
  return processes().filter((pid) => statOf(`${pid}`)[1] === `${parent}`);
}

function has(pid: string, variable: string): boolean {
  try {
    return isAlive(pid) && readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(variable);
  } catch {
    return false;
  }
}

function isAlive(pid: string): boolean {
  try {
    return !/^ [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\)/s, ""));
  } catch {
    return false;
  }
}
