// A monitor that only says what it would do, beside one that acts: both on one store in memory, with servers and a device that are played here.
import { memory } from "conclave/stores/memory";
import type { FencedStore } from "conclave/stores/contract";
import {
  Monitor,
  type MonitorEvent,
  parseFailoverConfig,
  type Replication,
  type ServerLink,
  type ServerSpec,
  type FailoverRecord,
  type FailoverStatus,
  type ShotRules,
  type Step,
  switchoverNow,
  type View,
  type Views,
} from "conclave/failover";
import { afterEach, describe, expect, it } from "vitest";
import { ALL_UP, STEADY, up } from "./desk.ts";

const CONFIG = parseFailoverConfig(
  JSON.stringify({
    name: "orders",
    kind: "redis",
    monitors: ["m1", "m2"],
    quorum: 2,
    servers: { a: "redis://127.0.0.1:1111", b: "redis://127.0.0.1:1112" },
    guards: false,
    ttlMs: 3000,
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

/** a is the primary, until it is silent; b follows it. */
class Played implements Pick<Replication, "servers" | "connect"> {
  readonly servers = CONFIG.servers;
  isSilent = false;

  async connect({ name }: ServerSpec): Promise<ServerLink> {
    const view = async (): Promise<View> => {
      if (name === "a" && this.isSilent) return { is: "unknown" };
      const [role, follows] = name === "a" ? (["primary", undefined] as const) : (["replica", "a"] as const);
      return { is: "up", role, history: "h", position: 1, follows, isLinked: name !== "a", isEmpty: false };
    };
    return { isOpen: true, view, promote: async () => "done", close: () => {} } as unknown as ServerLink;
  }
}

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
});

class Group {
  readonly store: FencedStore = memory();
  readonly played = new Played();
  shots = 0;

  monitor(name: string, dryRun: boolean): { readonly monitor: Monitor; readonly told: readonly MonitorEvent[] } {
    const [told, stopping]: [MonitorEvent[], AbortController] = [[], new AbortController()];
    const shooter = { shoot: () => (this.shots++, new Promise<never>(() => {})) };
    const monitor = new Monitor({
      config: CONFIG,
      monitor: name,
      store: this.store,
      replication: this.played as unknown as Replication,
      fence: { shooter, rules: RULES },
      dryRun,
      tell: (event) => void told.push(event),
    });
    const ended = monitor.run(stopping.signal);
    stops.push(async () => {
      stopping.abort();
      await ended;
    });
    return { monitor, told };
  }
}

const news = (told: readonly MonitorEvent[]): readonly string[] =>
  told.flatMap((event) => (event.type === "failover" ? [event.news.is] : []));

it("a dry run stands for no leadership: a monitor that acts leads although the dry run was there first", async () => {
  const group = new Group();
  const { told } = group.monitor("m2", true);
  await expect.poll(() => news(told)).toEqual(["waiting"]);
  const { monitor } = group.monitor("m1", false);
  const led = (): string => `${monitor.record?.primary} ${monitor.record?.step.at}`;
  await expect
    .poll(led, { timeout: 10_000 })
    .toBe("a steady")
    .catch(() => {}); // what it says in the end is what counts
  expect(led()).toBe("a steady");
  // It hears of every step that the other one writes.
  await expect.poll(() => JSON.stringify(told)).toContain('"at":"steady"');
});

it("a dry run says whom it would choose, by the votes of both; its own vote makes nobody act", async () => {
  const group = new Group();
  const { monitor, told: done } = group.monitor("m1", false);
  const { told } = group.monitor("m2", true);
  await expect.poll(() => monitor.record).toMatchObject({ primary: "a", step: { at: "steady" } });
  await expect.poll(() => JSON.stringify(told)).toContain('"at":"steady"');
  const record = JSON.stringify(monitor.record);
  group.played.isSilent = true;
  await expect.poll(() => news(told)).toContain("would-choose");
  expect(JSON.stringify(told)).toContain('"votes":["m1","m2"]');
  expect(JSON.stringify(told)).toContain('"is":"would-choose","server":"b"');
  expect(news(done)).not.toContain("objectively-down");
  expect([group.shots, JSON.stringify(monitor.record)]).toEqual([0, record]);
});

it("dry runs alone say it, too, when the group has been led before", async () => {
  const group = new Group();
  const { monitor } = group.monitor("m1", false);
  await expect.poll(() => monitor.record).toMatchObject({ primary: "a", step: { at: "steady" } });
  await stops.pop()?.();
  const both = ["m1", "m2"].map((name) => group.monitor(name, true).told);
  for (const told of both) await expect.poll(() => JSON.stringify(told)).toContain('"at":"steady"');
  group.played.isSilent = true;
  for (const told of both) await expect.poll(() => news(told)).toContain("would-choose");
  expect(group.shots).toBe(0);
});

describe("the dry run of a switchover", () => {
  const trio = parseFailoverConfig(
    JSON.stringify({
      name: "orders",
      kind: "redis",
      monitors: ["m1"],
      servers: { a: "redis://h:1", b: "redis://h:2", c: { url: "redis://h:3", priority: 200 } },
    }),
    "a test",
  );
  const status = (servers: Views = ALL_UP, record: FailoverRecord = STEADY): FailoverStatus => ({
    name: "orders",
    record,
    leader: undefined,
    seated: undefined,
    monitors: [],
    servers,
    strays: [],
  });
  const dry = (found: FailoverStatus, to?: string, isForced = false): unknown =>
    switchoverNow(trio, found, { to, isForced });

  it("names the server that the order would name, not the one with the greatest position", () => {
    const views: Views = { ...ALL_UP, b: up("replica", 9) };
    expect(dry(status(views))).toMatchObject({ is: "chosen", server: "c", reason: "a hands over to c" });
    expect(dry(status(views), "b")).toMatchObject({ is: "chosen", server: "b", position: 9 });
  });

  it("refuses what the order would be refused, with its reason", () => {
    const views: Views = { ...ALL_UP, b: up("replica", 9, { isLinked: false }) };
    expect(dry(status(views), "b")).toEqual({ is: "refused", reason: "b does not follow a now" });
    expect(dry(status(views), "a")).toEqual({ is: "refused", reason: "a is the primary" });
    expect(dry(status(views), "b", true)).toMatchObject({ is: "chosen", server: "b" });
  });

  it("says who would be chosen while the primary does not answer, and that a change has to end first", () => {
    const silent: Views = { ...ALL_UP, a: { is: "unknown" }, b: up("replica", 9) };
    expect(dry(status(silent))).toMatchObject({ is: "chosen", server: "b" });
    expect(dry(status(silent), "b")).toMatchObject({ is: "chosen", server: "b" });
    const choosing: Step = { at: "choosing", why: "down", from: "a", wish: undefined, fencedBy: "seat" };
    expect(dry(status(silent, { ...STEADY, step: choosing }))).toMatchObject({ is: "wait" });
    expect(dry(status(silent, { ...STEADY, step: choosing }), "b", true)).toMatchObject({ is: "chosen", server: "b" });
  });
});
