// Three machines, each with a BMC of OpenIPMI's simulator. A machine is a pid namespace: its first process is `conclave stonith run`, and when the BMC powers it off, the kernel ends everything in it. A whole machine can
// be paused. Its command writes a line into one log again and again, by which it is judged from outside who acts.
import { chmodSync, existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import * as ipmi from "../../scripts/servers/ipmi.mjs";
import { CommandLine } from "../cli/command.ts";
import { signalTo } from "../../scripts/servers/signal.mjs";

export const NODES = ["db-0", "db-1", "db-2"] as const;
export const PASSWORD = "a-bmc-pa55word";

/** A line that a command has written. */
export interface Act {
  readonly atMs: number;
  readonly node: string;
  readonly token: bigint;
}

export class Machines {
  readonly cli: CommandLine = new CommandLine();
  readonly config: string = this.cli.file("stonith.json");
  readonly acts: string = this.cli.file("acts.log");
  #bmcs: Awaited<ReturnType<typeof ipmi.start>> | undefined;

  /** `deviceOf`: how a node is powered off; by its BMC, if not said. */
  async start(
    election: string,
    store: string,
    deviceOf: (index: number) => object = (index) => this.bmc(index),
  ): Promise<void> {
    await this.cli.run(["--version"]); // builds it
    writeFileSync(this.cli.file("bmc-password"), `${PASSWORD}\n`, { mode: 0o600 });
    writeFileSync(this.acts, "");
    this.#write("actor.mjs", ACTOR);
    const machine = this.#write("machine.sh", this.#machine());
    this.#bmcs = await ipmi.start({
      nodes: NODES.length,
      password: PASSWORD,
      machine: [machine, "{index}"],
      folder: this.cli.folder,
    });
    const settings = {
      election,
      store,
      ttlMs: 10_000,
      delayMs: 0,
      spreadMs: 300,
      retryMs: 300,
      retryMaxMs: 1000,
      attemptsMax: 1000,
      tries: 1,
      timeoutMs: 20_000,
      verifyWithinMs: 3000,
      askEveryMs: 200,
      nodes: Object.fromEntries(NODES.map((node, index) => [node, { levels: [[deviceOf(index)]] }])),
    };
    // The machines wait for it.
    this.#write("stonith.json", JSON.stringify(settings), 0o600);
  }

  /** By IPMI. */
  bmc(index: number): object {
    const password = { file: this.cli.file("bmc-password") };
    const port = this.#bmcs?.ports[index];
    return { kind: "ipmi", host: "127.0.0.1", port, user: ipmi.USER, password, cipher: ipmi.CIPHER };
  }

  #machine(): string {
    const words = ["stonith", "run", "--config", this.config, "--json", "--node"].join(" ");
    const main = this.cli.file("modules/cli/main.js");
    const actor = `${process.execPath} ${this.cli.file("actor.mjs")} ${this.acts}`;
    const run = `exec ${process.execPath} ${main} ${words} db-$1 -- ${actor}`;
    return [
      "#!/bin/sh",
      `while [ ! -s ${this.config} ]; do sleep 0.1; done`,
      `exec unshare --pid --fork --mount-proc --kill-child=KILL /bin/sh -c '${run}' sh "$1" >> ${this.cli.file("events-")}$1.log 2>&1`,
      "",
    ].join("\n");
  }

  #write(name: string, text: string, mode = 0o755): string {
    const file = this.cli.file(name);
    writeFileSync(file, text, { mode });
    chmodSync(file, mode);
    return file;
  }

  /** Everything that runs in the machine, and what keeps it: a pause stops them all, as a hypervisor does. */
  processesOf(index: number): readonly number[] {
    const marker = `db-${index}\0--\0`;
    const first = everyProcess().find((pid) => commandOf(pid).includes(marker));
    const space = first === undefined ? undefined : namespaceOf(first);
    const inside = space === undefined ? [] : everyProcess().filter((pid) => namespaceOf(pid) === space);
    const keeping = everyProcess().filter(
      (pid) => commandOf(pid).startsWith("unshare\0") && commandOf(pid).endsWith(`\0sh\0${index}\0`),
    );
    return [...keeping, ...inside];
  }

  pause(index: number): readonly number[] {
    const pids = this.processesOf(index);
    for (const pid of pids) signalTo(pid, "SIGSTOP");
    return pids;
  }

  resume(index: number): void {
    for (const pid of this.processesOf(index)) signalTo(pid, "SIGCONT");
  }

  /** A human pulls the plug, or presses the button. */
  press(index: number, button: "off" | "on"): void {
    ipmi.ask(this.#bmcs?.ports[index] ?? 0, PASSWORD, button);
  }

  status(index: number): string {
    return ipmi.ask(this.#bmcs?.ports[index] ?? 0, PASSWORD, "status");
  }

  acted(): readonly Act[] {
    return readFileSync(this.acts, "utf8")
      .split("\n")
      .slice(0, -1)
      .map((line) => line.split(" "))
      .map(([atMs = "", node = "", token = ""]) => ({ atMs: Number(atMs), node, token: BigInt(token) }));
  }

  events(index: number): string {
    const file = `${this.cli.file("events-")}${index}.log`;
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  }

  run(...args: readonly string[]): ReturnType<CommandLine["run"]> {
    return this.cli.run(["stonith", ...args, "--config", this.config]);
  }

  async end(): Promise<void> {
    const pids = NODES.flatMap((_, index) => this.processesOf(index));
    await this.#bmcs?.stop();
    while (pids.some((pid) => commandOf(pid) !== "")) await new Promise((resolve) => setTimeout(resolve, 20));
    await this.cli.end();
  }
}

const ACTOR = `
import { appendFileSync } from "node:fs";
const [, , log] = process.argv;
const act = () => {
  const [seconds, nanoseconds] = process.hrtime();
  appendFileSync(log, \`\${seconds * 1000 + nanoseconds / 1e6} \${process.env.CONCLAVE_NODE} \${process.env.CONCLAVE_TOKEN}\\n\`);
};
act();
setInterval(act, 20);
`;

function everyProcess(): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

function namespaceOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return undefined;
  }
}
