// What a monitor asks right before an agent is started that powers a machine off: a monitor as it is, on a store in memory, with servers and a device that are played here.
import { memory } from "conclave/stores/memory";
import {
  Monitor,
  type MonitorEvent,
  parseFailoverConfig,
  type Replication,
  type ServerLink,
  type ServerSpec,
  type ShotRules,
  type View,
} from "conclave/failover";
import type { ShotReport, ShotRequest } from "conclave/stonith";
import { expect, it } from "vitest";
import { nowMs } from "../support/processes.ts";

const TTL_MS = 3000;
const CONFIG = parseFailoverConfig(
  JSON.stringify({
    name: "orders",
    kind: "redis",
    monitors: ["m1"],
    servers: { a: "redis://127.0.0.1:1111", b: "redis://127.0.0.1:1112" },
    guards: false,
    ttlMs: TTL_MS,
    downAfterMs: 200,
    lookEveryMs: 20,
    settleMs: 50,
  }),
  "a test",
);
const RULES: ShotRules = {
  nodes: { a: "db-1", b: "db-2" },
  isRequired: false,
  limits: {
    node: "",
    life: "",
    members: ["db-1", "db-2"],
    storeMembers: [],
    devices: ["db-1", "db-2"],
    maxOff: 1,
    shotsMax: 3,
    windowMs: 60_000,
    delayMs: 0,
    spreadMs: 0,
    retryMs: 100,
    retryMaxMs: 100,
    attemptsMax: 100,
    watchdog: undefined,
    isOnlyForOrders: false,
  },
};

/** Two servers: a is the primary until it is silent. */
class Played implements Pick<Replication, "servers" | "connect"> {
  readonly servers = CONFIG.servers;
  readonly silent = new Set<string>();
  /** They follow nobody. */
  readonly parted = new Set<string>();
  primary = "a";

  async connect({ name }: ServerSpec): Promise<ServerLink> {
    const view = async (): Promise<View> => {
      if (this.silent.has(name)) return { is: "unknown" };
      const isPrimary = name === this.primary;
      const follows = isPrimary || this.parted.has(name) ? undefined : this.primary;
      const role = isPrimary ? "primary" : "replica";
      return { is: "up", role, history: "h", position: 1, follows, isLinked: !isPrimary, isEmpty: false };
    };
    const promote = async (): Promise<"done"> => ((this.primary = name), "done");
    const follow = async (): Promise<"done" | "parted"> => (this.parted.has(name) ? "parted" : "done");
    const link = { isOpen: true, view, promote, follow, close: () => {} };
    return link as unknown as ServerLink;
  }
}

/** A device that answers when it is told to. */
class Device {
  readonly requests: ShotRequest[] = [];
  answer: (report: ShotReport) => void = () => {};

  shoot(request: ShotRequest): Promise<ShotReport> {
    this.requests.push(request);
    return new Promise((resolve) => (this.answer = resolve));
  }
}

function start(): {
  readonly played: Played;
  readonly device: Device;
  readonly monitor: Monitor;
  readonly told: readonly MonitorEvent[];
  readonly stop: () => Promise<void>;
} {
  const [played, device, stopping] = [new Played(), new Device(), new AbortController()];
  const told: MonitorEvent[] = [];
  const monitor = new Monitor({
    config: CONFIG,
    monitor: "m1",
    store: memory(),
    replication: played as unknown as Replication,
    fence: { shooter: device, rules: RULES },
    tell: (event) => void told.push(event),
  });
  const ended = monitor.run(stopping.signal);
  return {
    played,
    device,
    monitor,
    told,
    stop: async () => {
      stopping.abort();
      await ended;
    },
  };
}

/** Until the machine of a is being shot at. */
async function fencing({ played, device, monitor }: ReturnType<typeof start>): Promise<ShotRequest> {
  await expect.poll(() => monitor.record?.primary).toBe("a");
  await expect.poll(() => monitor.record?.step.at).toBe("steady");
  played.silent.add("a");
  await expect.poll(() => device.requests.length).toBe(1);
  const [request] = device.requests;
  if (request === undefined) throw new Error("there is none");
  return request;
}

const REFUSED = "the term is not held, or a is not being fenced any more";

it("an agent may be started while the machine is being fenced and the term is held, and must be gone before its deadline", async () => {
  const group = start();
  const request = await fencing(group);
  expect(request.node).toBe("db-1");
  expect(await request.mayShoot()).toBeUndefined();
  expect(request.deadline().mono - nowMs()).toBeLessThanOrEqual(TTL_MS);
  await group.stop();
});

it("no agent may be started when the fence is over, although the term is held", async () => {
  const group = start();
  const request = await fencing(group);
  group.device.answer({ outcome: "off", said: "", isGone: true });
  await expect.poll(() => group.monitor.record?.primary).toBe("b");
  expect(request.signal.aborted).toBe(true);
  expect(await request.mayShoot()).toBe(REFUSED);
  await group.stop();
});

it("no agent may be started when the term is over, although the record says that the machine is being fenced", async () => {
  const group = start();
  const request = await fencing(group);
  const stopped = group.stop();
  await expect.poll(() => request.signal.aborted).toBe(true);
  expect(await request.mayShoot().catch(() => REFUSED)).toBe(REFUSED);
  group.device.answer({ outcome: "off", said: "", isGone: true });
  await stopped;
  expect(group.played.primary).toBe("a");
});

it("a server that has parted from its primary is told of once, and not at every look", async () => {
  const group = start();
  await expect.poll(() => group.monitor.record?.step.at).toBe("steady");
  group.played.parted.add("b");
  const troubles = (): readonly string[] =>
    group.told
      .flatMap((event) => (event.type === "trouble" ? [event.what] : []))
      .filter((what) => what.startsWith("b has"));
  await expect.poll(troubles).toHaveLength(1);
  const from = nowMs();
  while (nowMs() < from + 10 * CONFIG.lookEveryMs) await new Promise((resolve) => void setTimeout(resolve, 5));
  expect(troubles()).toHaveLength(1);
  group.played.parted.delete("b");
  await group.stop();
});
