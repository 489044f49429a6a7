// A real trio of servers under guards, three monitors, all as processes of the command line; a client that counts what it was told is written; and an onlooker that asks every server, again and again, whether it takes writes.
// What is different between Redis and PostgreSQL is in redis-trio.ts and postgres-trio.ts.
import { writeFileSync } from "node:fs";
import { freePorts } from "../../scripts/servers/process.mjs";
import type { Host } from "../../scripts/servers/network.mjs";
import { CommandLine, type Running } from "../cli/command.ts";
import { nowMs, sleep } from "../support/processes.ts";

export const SERVERS = ["a", "b", "c"] as const;
export const MONITORS = ["m1", "m2", "m3"] as const;

/** What one server says of itself. */
export interface Look {
  readonly isPrimary: boolean;
  /** The port of whom it follows, if it is connected. */
  readonly linkedTo: number | undefined;
  readonly pid: number;
}

export abstract class Trio {
  abstract readonly kind: "redis" | "postgres";
  readonly cli: CommandLine = new CommandLine();
  readonly guards = new Map<string, Running>();
  readonly monitors = new Map<string, Running>();
  readonly ports = new Map<string, number>();
  readonly sentinels = new Map<string, number>();
  readonly config: string = this.cli.file("failover.json");
  /** Where servers, guards and monitors run; this host, if nothing is said. */
  readonly hosts = new Map<string, Host>();

  async start(store: string, settings: Readonly<Record<string, unknown>> = {}): Promise<void> {
    const ports = await freePorts(SERVERS.length + MONITORS.length);
    for (const [index, name] of SERVERS.entries()) this.ports.set(name, ports[index] ?? 0);
    for (const [index, name] of MONITORS.entries()) this.sentinels.set(name, ports[SERVERS.length + index] ?? 0);
    const config = {
      name: "orders",
      kind: this.kind,
      store,
      monitors: Object.fromEntries(
        [...this.sentinels].map(([name, port]) => [name, `${this.addressOf(name)}:${port}`]),
      ),
      servers: Object.fromEntries([...this.ports.keys()].map((name) => [name, this.urlOf(name)])),
      downAfterMs: 600,
      lookEveryMs: 80,
      ttlMs: 2000,
      timeoutMs: 400,
      settleMs: 200,
      promoteWithinMs: 6000,
      yieldAfterMs: 1500,
      failoversMax: 1000,
      ...settings,
    };
    // The URL of a store may hold a password.
    writeFileSync(this.config, JSON.stringify(config), { mode: 0o600 });
    await this.serve();
    await Promise.all(MONITORS.map((name) => this.monitor(name)));
  }

  /** Starts the servers. */
  protected async serve(): Promise<void> {
    await Promise.all(SERVERS.map((name) => this.guard(name)));
  }

  /** By which everything that runs on the machine of this server can be found. */
  protected environmentOf(_name: string): Readonly<Record<string, string>> {
    return {};
  }

  /** More flags of each monitor. */
  protected readonly monitorFlags: readonly string[] = [];
  abstract urlOf(name: string): string;
  /** The command that starts it. */
  protected abstract command(name: string): readonly string[];
  /** Units that Debian enables for servers of its own. */
  protected abstract readonly units: readonly string[];
  abstract look(name: string): Promise<Look>;

  async guard(name: string, isAlone = true): Promise<Running> {
    const others = isAlone ? this.units.flatMap((unit) => ["--ignore-unit", unit]) : [];
    const args = ["failover", "guard", "--config", this.config, "--server", name, "--json", ...others, "--"];
    const environment = this.environmentOf(name);
    const running = await this.cli.start([...args, ...this.command(name)], environment, undefined, this.#under(name));
    this.guards.set(name, running);
    return running;
  }

  addressOf(name: string): string {
    return this.hosts.get(name)?.address ?? "127.0.0.1";
  }

  /** Not through `ip netns exec`, which hides the cgroups behind another /sys. */
  #under(name: string): readonly string[] {
    const host = this.hosts.get(name);
    return host === undefined ? [] : ["nsenter", `--net=/run/netns/${host.prefix.at(-1)}`];
  }

  async monitor(name: string): Promise<Running> {
    const sentinel = ["--sentinel", `${this.sentinels.get(name)}`, "--sentinel-host", this.addressOf(name)];
    const port = this.kind === "redis" ? sentinel : [];
    const args = [
      "failover",
      "monitor",
      "--config",
      this.config,
      "--as",
      name,
      "--json",
      ...port,
      ...this.monitorFlags,
    ];
    const running = await this.cli.start(args, {}, undefined, this.#under(name));
    this.monitors.set(name, running);
    return running;
  }

  async order(...words: readonly string[]): Promise<Record<string, unknown>> {
    const { stdout, stderr } = await this.cli.run(["failover", ...words, "--config", this.config, "--json"]);
    if (stdout === "") throw new Error(stderr);
    return JSON.parse(stdout) as Record<string, unknown>;
  }

  /** Undefined if it does not answer. */
  async role(name: string): Promise<"primary" | "replica" | undefined> {
    const look = await this.look(name).catch(() => undefined);
    return look && (look.isPrimary ? "primary" : "replica");
  }

  async pidOf(name: string): Promise<number> {
    return (await this.look(name)).pid;
  }

  /** The one server that takes writes, once all others follow it: a server may be away next. One that is still being taken back would leave too few to choose from. */
  async whole(withinMs = 120_000): Promise<string> {
    return await this.settled(undefined, withinMs, SERVERS.length - 1);
  }

  /** The one server that takes writes, once all others that answer follow it, and at least so many. */
  async settled(otherThan?: string, withinMs = 25_000, followersMin = 1): Promise<string> {
    const untilMs = nowMs() + withinMs;
    for (;;) {
      const found = await Promise.all(
        SERVERS.map(async (name) => ({ name, look: await this.look(name).catch(() => undefined) })),
      );
      const primaries = found.filter(({ look }) => look?.isPrimary === true).map(({ name }) => name);
      const [primary] = primaries;
      const port = this.ports.get(primary ?? "");
      const others = found.filter(({ name, look }) => name !== primary && look !== undefined);
      const isFollowed = others.length >= followersMin && others.every(({ look }) => look?.linkedTo === port);
      if (primaries.length === 1 && primary !== undefined && primary !== otherThan && isFollowed) return primary;
      if (nowMs() > untilMs)
        throw new Error(`not settled: ${primaries.join(", ") || "nobody"} is primary\n${await this.story()}`);
      await sleep(50);
    }
  }

  /** The monitor that leads now, by what it has told last. */
  leader(): string | undefined {
    const last = MONITORS.map((name) => ({ name, at: this.lastStep(name) })).toSorted((x, y) => (x.at < y.at ? 1 : -1));
    return last[0]?.at === "" ? undefined : last[0]?.name;
  }

  lastStep(name: string): string {
    const lines = (this.monitors.get(name)?.stderr ?? "").split("\n").filter((line) => line.includes('"is":"step"'));
    return /"at":"([^"]*)"/.exec(lines.at(-1) ?? "")?.[1] ?? "";
  }

  /** Waits until a monitor has told of this step after `sinceAt`, and says which. */
  async atStep(step: string, sinceAt: string): Promise<string> {
    const untilMs = nowMs() + 20_000;
    while (nowMs() < untilMs) {
      for (const name of MONITORS) {
        const lines = (this.monitors.get(name)?.stderr ?? "").split("\n");
        const found = lines.some(
          (line) => line.includes(`"step":{"at":"${step}"`) && (/"at":"([^"]*)"/.exec(line)?.[1] ?? "") > sinceAt,
        );
        if (found) return name;
      }
      await sleep(2);
    }
    throw new Error(`nobody came to ${step}\n${this.told()}`);
  }

  /** When nothing is under way: steps that are told of after that are those of the next change. */
  async steady(): Promise<string> {
    for (const untilMs = nowMs() + 60_000; nowMs() < untilMs; await sleep(50)) {
      const { record } = (await this.order("status")) as { record?: { step: { at: string } } };
      if (record?.step.at === "steady") return new Date().toISOString();
    }
    throw new Error(`a change of the primary does not end\n${this.told()}`);
  }

  /** The steps that a monitor has told of after `sinceAt`. */
  stepsOf(name: string, sinceAt: string): readonly string[] {
    const lines = (this.monitors.get(name)?.stderr ?? "").split("\n");
    return lines.flatMap((line) => {
      const isLater = (/"at":"([^"]*)"/.exec(line)?.[1] ?? "") > sinceAt;
      const step = /"step":\{"at":"([^"]*)"/.exec(line)?.[1];
      return isLater && step !== undefined ? [step] : [];
    });
  }

  /** What everybody says, for a test that fails. */
  async story(): Promise<string> {
    const status = await this.order("status").catch(String);
    return `${JSON.stringify(status)}\n${this.told()}\n${this.written()}`;
  }

  /** What servers have written to logs of their own. */
  protected written(): string {
    return "";
  }

  told(): string {
    const all = [...this.guards, ...this.monitors].map(
      ([name, { stderr }]) => `== ${name}\n${stderr.split("\n").slice(-14).join("\n")}`,
    );
    return all.join("\n");
  }

  async end(): Promise<void> {
    for (const { signal } of [...this.monitors.values()].map((running) => ({
      signal: () => running.signal("SIGTERM"),
    })))
      signal();
    for (const running of this.guards.values()) {
      running.signal("SIGCONT");
      running.signal("SIGTERM");
    }
    await Promise.race([
      Promise.all([...this.guards.values(), ...this.monitors.values()].map(({ ended }) => ended)),
      sleep(8000),
    ]);
    await this.cli.end();
  }
}

/** Asks every server, again and again, whether it takes writes. */
export class Onlooker {
  readonly #trio: Trio;
  /** Sweeps in which two servers said that they are primary, asked again to be sure. */
  readonly doubles: string[] = [];
  sweeps = 0;
  #isOn = true;
  readonly #done: Promise<void>;

  constructor(trio: Trio) {
    this.#trio = trio;
    this.#done = this.#look();
  }

  /** One after the other and back: two that are primary at one instant both say so before and after the other is asked. */
  async #look(): Promise<void> {
    while (this.#isOn) {
      const first = await this.#primaries();
      if (first.length > 1) {
        const still = (await this.#primaries()).filter((name) => first.includes(name));
        if (still.length > 1) this.doubles.push(still.join(" and "));
      }
      this.sweeps++;
      await sleep(10);
    }
  }

  async #primaries(): Promise<readonly string[]> {
    const roles = await Promise.all(SERVERS.map(async (name) => [name, await this.#trio.role(name)] as const));
    return roles.filter(([, role]) => role === "primary").map(([name]) => name);
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    await this.#done;
  }
}
