// A trio of Redis on machines that a switch powers off. A machine is a set of processes, found by a variable of their environment; the switch is a command of the operator that kills them all, and says of each machine
// whether something of it runs. It can be told to lie, and to be mute.
import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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

export class MachineTrio extends RedisTrio {
  readonly #tag = `${process.pid}-${Math.random().toString(36).slice(2)}`;
  readonly #hasGuards: boolean;
  readonly servers = new Map<string, ChildProcess>();

  constructor(hasGuards: boolean) {
    super();
    this.#hasGuards = hasGuards;
  }

  /** The machine of server a is node-a; no monitor runs on one of them. */
  async begin(store: string, stonith: Readonly<Record<string, unknown>> = {}): Promise<void> {
    this.mood("honest");
    const power = this.cli.file("power.sh");
    writeFileSync(power, SWITCH.replace("FOLDER", this.cli.folder));
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
    writeFileSync(this.cli.file("stonith.json"), JSON.stringify(devices), { mode: 0o600 });
    await this.start(store, {
      guards: this.#hasGuards,
      stonith: {
        config: "stonith.json",
        servers: Object.fromEntries(SERVERS.map((name) => [name, `node-${name}`])),
        monitors: Object.fromEntries(MONITORS.map((name) => [name, null])),
        ...stonith,
      },
    });
  }

  mood(mood: Mood): void {
    writeFileSync(this.cli.file("mood"), mood);
  }

  protected override environmentOf(name: string): Readonly<Record<string, string>> {
    return { MACHINE: `node-${name}-${this.#tag}` };
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
    rmSync(this.cli.file(`node-${name}`), { force: true });
    this.servers.set(name, spawn(program, [...args, ...replica], { stdio: "ignore" }));
  }

  /** Stops everything that runs on the machine, as a hypervisor does. Redis writes over its environment: it is found by its own word. */
  async freeze(name: string): Promise<readonly number[]> {
    const pids = [...new Set([...this.#marked(name), await this.pidOf(name)])];
    writeFileSync(this.cli.file(`node-${name}`), pids.join(" "));
    for (const pid of pids) signalTo(pid, "SIGSTOP");
    return pids;
  }

  #marked(name: string): readonly number[] {
    const wanted = `MACHINE=${this.environmentOf(name)["MACHINE"]}`;
    return readdirSync("/proc")
      .filter((entry) => /^\d+$/.test(entry) && has(entry, wanted))
      .map(Number);
  }

  override async end(): Promise<void> {
    await super.end();
    for (const name of SERVERS) for (const pid of this.#marked(name)) signalTo(pid, "SIGKILL");
    for (const server of this.servers.values()) server.kill("SIGKILL");
  }
}

/** Nothing of them runs. */
export function areGone(pids: readonly number[]): boolean {
  return pids.every((pid) => !isAlive(`${pid}`));
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
