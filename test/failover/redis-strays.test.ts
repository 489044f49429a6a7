// A Redis that is started beside its guard, as an enabled unit does after a boot: it takes writes beside the new primary until the monitors see it. A real trio under guards, and two servers alone.
import { type ChildProcess, spawn } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { redisReplication, type ServerLink, type ServerSpec } from "conclave/failover";
import { start } from "../../scripts/servers/redis.mjs";
import { RedisLink } from "../../src/clients/redis/link.ts";
import { sleep } from "../support/processes.ts";
import { Wire } from "../support/wire.ts";
import { RedisTrio } from "./redis-trio.ts";
import { MONITORS, SERVERS } from "./trio.ts";

/** A trio whose servers can also be started as a unit starts them: without a guard, as a primary. */
class UnitTrio extends RedisTrio {
  readonly #started: ChildProcess[] = [];

  startUnit(name: string): ChildProcess {
    const [program = "", ...args] = this.command(name);
    const child = spawn(program, args, { stdio: "ignore" });
    this.#started.push(child);
    return child;
  }

  async say(name: string, ...words: readonly string[]): Promise<unknown> {
    const link = await RedisLink.open({ host: "127.0.0.1", port: this.ports.get(name) ?? 0, database: 0 }, 2000);
    try {
      return await link.ask(words, 2000);
    } finally {
      link.close();
    }
  }

  /** How often monitors have told of two writable servers. */
  get timesTold(): number {
    return this.lines.filter((line) => line.includes('"is":"two-writable"')).length;
  }

  get lines(): readonly string[] {
    return MONITORS.flatMap((name) => this.monitors.get(name)?.stderr.split("\n") ?? []);
  }

  override async end(): Promise<void> {
    await super.end();
    for (const child of this.#started) child.kill("SIGKILL");
  }
}

/** Writes to one server, one write after the other, and counts those that were acknowledged. */
class OneServerWriter {
  readonly acknowledged: string[] = [];
  #isOn = true;
  readonly #done: Promise<void>;

  constructor(trio: UnitTrio, server: string) {
    this.#done = this.#write(trio, server);
  }

  async #write(trio: UnitTrio, server: string): Promise<void> {
    while (this.#isOn) {
      const key = `kept:${this.acknowledged.length}`;
      if ((await trio.say(server, "SET", key, "1")) === "OK") this.acknowledged.push(key);
    }
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    await this.#done;
  }
}

describe("the return of an old primary by an enabled unit", () => {
  const trio = new UnitTrio();
  let [old, next] = ["", ""];
  let unit: ChildProcess;
  let writer: OneServerWriter;

  beforeAll(async () => {
    await trio.start(`sqlite:${trio.cli.file("store.db")}`, { repointWithinMs: 2000 });
    old = await trio.whole();
    await trio.steady();
    // Its machine has lost power: the guard is gone, and its keeper ends the service.
    await trio.guards.get(old)?.kill();
    next = await trio.settled(old);
    await trio.steady();
    writer = new OneServerWriter(trio, next);
  }, 120_000);
  afterAll(() => trio.end(), 60_000);

  it("it is told of once, and is a replica of the new primary soon, and takes no more writes", async () => {
    expect(trio.timesTold).toBe(0);
    const startedAtMs = performance.now();
    // No monitor looks until the write is made: otherwise a monitor could be faster than this test.
    for (const monitor of trio.monitors.values()) monitor.signal("SIGSTOP");
    unit = trio.startUnit(old);
    await expect.poll(() => trio.say(old, "SET", "only-here", "1").catch(() => undefined), { interval: 2 }).toBe("OK");
    for (const monitor of trio.monitors.values()) monitor.signal("SIGCONT");
    await expect.poll(() => trio.role(old), { interval: 5, timeout: 10_000 }).toBe("replica");
    // Monitors look every 80 ms, and a command may take 400 ms.
    expect(performance.now() - startedAtMs).toBeLessThan(5000);
    await expect(trio.say(old, "SET", "only-here", "2")).rejects.toThrow("READONLY");
    await expect.poll(() => trio.say(old, "EXISTS", "only-here"), { timeout: 20_000 }).toBe(0);
    await expect.poll(() => trio.timesTold).toBe(1);
    expect(trio.lines.find((line) => line.includes("two-writable"))).toContain(`"servers":["${next}","${old}"]`);
    expect(await trio.role(next)).toBe("primary");
  }, 60_000);

  it("its guard says that it has not started this process, whether it takes writes, and how to end it, and starts nothing beside it", async () => {
    const guard = await trio.guard(old);
    await expect.poll(() => guard.stderr).toContain(`process ${unit.pid} answers at 127.0.0.1:${trio.ports.get(old)}`);
    expect(guard.stderr).toContain("It is a replica, and takes no writes. End it: kill");
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect(guard.stderr).not.toContain('"state":"started","pids"');
    expect(guard.stderr.match(/was not started by this guard/g)).toHaveLength(1);
  }, 60_000);

  it("while failover is paused it is told of, and left to the operator: status exclaims it, and the guard says that it takes writes", async () => {
    expect(await trio.order("pause")).toMatchObject({ isDone: true });
    expect(await trio.say(old, "REPLICAOF", "NO", "ONE")).toBe("OK");
    const guard = trio.guards.get(old);
    await expect.poll(() => guard?.stderr).toContain("It takes writes NOW");
    await expect.poll(() => trio.timesTold).toBe(2);
    expect(await trio.order("status")).toMatchObject({ strays: [old] });
    const { stdout } = await trio.cli.run(["failover", "status", "--config", trio.config]);
    expect(stdout).toContain(`DANGER    ${old} TAKES WRITES beside ${next}`);
    expect(await trio.role(old)).toBe("primary");
    expect(await trio.order("resume")).toMatchObject({ isDone: true });
    await expect.poll(() => trio.role(old)).toBe("replica");
    expect(await trio.order("status")).toMatchObject({ strays: [] });
  }, 60_000);

  it("a replica that was told to follow another server than the primary, as by an order that came late, is told again by its guard", async () => {
    const other = SERVERS.find((name) => name !== old && name !== next) ?? "";
    expect(await trio.say(other, "REPLICAOF", "127.0.0.1", `${trio.ports.get(old)}`)).toBe("OK");
    const follows = async (): Promise<string> =>
      /master_port:\d+/.exec(String(await trio.say(other, "INFO")))?.[0] ?? "";
    const wanted = `master_port:${trio.ports.get(next)}`;
    for (const untilMs = performance.now() + 10_000; performance.now() < untilMs; await sleep(50))
      if ((await follows()) === wanted) break;
    expect(await follows()).toBe(wanted);
  }, 60_000);

  it("when it has ended, its guard starts it as a replica; the new primary has every write that it acknowledged", async () => {
    unit.kill("SIGTERM");
    await expect.poll(() => trio.guards.get(old)?.stderr, { timeout: 20_000 }).toContain('"state":"started","pids"');
    expect(await trio.whole()).toBe(next);
    await writer.stop();
    expect(writer.acknowledged.length).toBeGreaterThan(100);
    for (const server of SERVERS)
      await expect
        .poll(() => trio.say(server, "EXISTS", ...writer.acknowledged), { timeout: 20_000 })
        .toBe(writer.acknowledged.length);
  }, 60_000);
});

function specOf(name: string, url: string): ServerSpec {
  const { hostname: host, port } = new URL(url);
  return { name, url: `redis://${host}:${port}`, host, port: Number(port), priority: 100 };
}

it("a server that is configured to take writes as a replica takes none when it was told to follow another", async () => {
  const redis = await start({ nodes: 2, args: ["--replica-read-only", "no"] });
  try {
    const [a, b] = [specOf("a", redis.urls[0] ?? ""), specOf("b", redis.urls[1] ?? "")];
    const link = await redisReplication({ a, b }, { timeoutMs: 1000 }).connect(a);
    expect(await link.follow(b)).toBe("done");
    link.close();
    const client = await RedisLink.open({ host: a.host, port: a.port, database: 0 }, 2000);
    await expect(client.ask(["SET", "k", "v"], 2000)).rejects.toThrow("READONLY");
    client.close();
  } finally {
    await redis.stop();
  }
}, 60_000);

it("an order to follow another server that was sent before a server is promoted never arrives", async () => {
  const redis = await start({ nodes: 2 });
  const wire = await Wire.to(redis.urls[0] ?? "");
  const [slow, a, b] = [specOf("a", wire.url), specOf("a", redis.urls[0] ?? ""), specOf("b", redis.urls[1] ?? "")];
  const linkTo = (server: ServerSpec): Promise<ServerLink> =>
    redisReplication({ a, b }, { timeoutMs: 1000 }).connect(server);
  try {
    // The leader sees that it takes writes, and its order is late.
    const leader = await linkTo(slow);
    expect(await leader.view()).toMatchObject({ role: "primary" });
    wire.keepBack("REPLICAOF");
    const ordered = leader.follow(b);
    await expect.poll(() => wire.hasKept).toBe(true);
    // Meanwhile the server was a replica, and is the rightful primary.
    const guard = await linkTo(a);
    expect(await guard.follow(b)).toBe("done");
    expect(await guard.promote({ generation: 0, standbys: undefined })).toBe("done");
    wire.deliver();
    expect(await ordered).toBe("unknown");
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await guard.view()).toMatchObject({ role: "primary" });
    guard.close();
  } finally {
    wire.end();
    await redis.stop();
  }
}, 60_000);
