// The runner, with devices that lie, hang and fail, on a clock that is moved by hand.
import { ManualClock } from "conclave/testing";
import {
  type Agents,
  type Device,
  type Ordered,
  type Power,
  DeviceRunner,
  type ShotNews,
  type ShotReport,
} from "conclave/stonith";
import { describe, expect, it } from "vitest";

const FAR = { mono: 1e9, boot: 1e9 };
const PATIENCE = { tries: 2, retryMs: 1000, timeoutMs: 5000, verifyWithinMs: 10_000, askEveryMs: 1000 };

/** An outlet: what it is told, and what it says when it is asked. */
class Outlet implements Device {
  readonly name: string;
  readonly log: string[] = [];
  says: () => Power | Promise<Power>;
  obeys: () => Ordered | Promise<Ordered> = () => ({ is: "taken" });

  constructor(name: string, says: () => Power | Promise<Power>) {
    this.name = name;
    this.says = says;
  }

  async status(): Promise<Power> {
    this.log.push("status");
    return await this.says();
  }

  async setPower(_node: string, power: "off"): Promise<Ordered> {
    this.log.push(power);
    return await this.obeys();
  }
}

const on = (): Power => ({ is: "on" });
const off = (): Power => ({ is: "off" });
const silent = (): Power => ({ is: "unknown", why: "no answer" });
const never = <T>(): Promise<T> => new Promise(() => {});

/** Off once it was told so. */
function honest(name: string): Outlet {
  const outlet: Outlet = new Outlet(name, () => (outlet.log.includes("off") ? off() : on()));
  return outlet;
}

class Range {
  readonly clock = new ManualClock(1000);
  readonly news: ShotNews[] = [];
  readonly abort = new AbortController();
  deadline = FAR;
  forbidden: string | undefined;
  isGone = true;
  /** What the runner allowed agents to do. */
  readonly killAts: number[] = [];

  shoot(levels: readonly (readonly Device[])[], { delayMs = 0, patience = {} } = {}): Promise<ShotReport> {
    const agents: Agents = {
      run: async (_command, { killAt, mayBegin }) => {
        const why = await mayBegin();
        this.killAts.push(killAt().mono);
        return why === undefined ? { is: "exited", code: 0, stdout: "", stderr: "" } : { is: "not-started", why };
      },
      isGone: this.isGone,
      whenGone: async () => {},
      close: async () => {},
    };
    const nodes = { "db-1": { levels, delayMs } };
    const tell = (news: ShotNews): void => void this.news.push(news);
    const runner = new DeviceRunner({ clock: this.clock, agents, nodes, patience: { ...PATIENCE, ...patience }, tell });
    return runner.shoot({
      node: "db-1",
      mayShoot: async () => this.forbidden,
      deadline: () => this.deadline,
      signal: this.abort.signal,
    });
  }
}

describe("a shot", () => {
  it("is verified by asking after the order", async () => {
    const outlet = honest("bmc");
    const report = await new Range().shoot([[outlet]]);
    expect(report).toMatchObject({ outcome: "off", isGone: true });
    expect(outlet.log).toEqual(["off", "status"]);
  });

  it("is not believed: a device that takes every order and stays on has failed, after all tries", async () => {
    const range = new Range();
    const liar = new Outlet("liar", on);
    const shot = range.shoot([[liar]]);
    await range.clock.advance(60_000);
    expect(await shot).toMatchObject({ outcome: "failed" });
    expect((await shot).said).toContain("liar says that it is on");
    expect(liar.log.filter((word) => word === "off")).toHaveLength(2);
  });

  it("waits until the machine is off", async () => {
    const range = new Range();
    const slow = new Outlet("slow", () => (range.clock.now().mono < 8000 ? on() : off()));
    const shot = range.shoot([[slow]]);
    await range.clock.advance(20_000);
    expect(await shot).toMatchObject({ outcome: "off" });
    expect(slow.log.filter((word) => word === "off")).toHaveLength(1);
  });

  it("is unknown if nobody can say", async () => {
    const range = new Range();
    const shot = range.shoot([[new Outlet("dead", silent)]]);
    await range.clock.advance(60_000);
    expect(await shot).toMatchObject({ outcome: "unknown" });
    expect((await shot).said).toContain("no answer");
  });

  it("is unknown if the device hangs, and does not hang with it", async () => {
    const range = new Range();
    const hanging = new Outlet("hanging", never);
    hanging.obeys = never;
    const shot = range.shoot([[hanging]]);
    await range.clock.advance(120_000);
    expect(await shot).toMatchObject({ outcome: "unknown" });
    expect((await shot).said).toContain("no answer in time");
  });

  it("is unknown if the device throws", async () => {
    const range = new Range();
    const broken = new Outlet("broken", () => {
      throw new Error("out of order");
    });
    const shot = range.shoot([[broken]]);
    await range.clock.advance(60_000);
    expect((await shot).said).toContain("out of order");
    expect((await shot).outcome).toBe("unknown");
  });

  it("asks once where every order was refused: there is nothing to wait for", async () => {
    const range = new Range();
    const locked = new Outlet("locked", on);
    locked.obeys = () => ({ is: "refused", why: "wrong password" });
    const shot = range.shoot([[locked]], { patience: { tries: 1 } });
    await range.clock.advance(100);
    expect(await shot).toMatchObject({ outcome: "failed" });
    expect(locked.log).toEqual(["off", "status"]);
  });

  it("waits for the delay of the node before its first order", async () => {
    const range = new Range();
    const outlet = honest("bmc");
    const shot = range.shoot([[outlet]], { delayMs: 3000 });
    await range.clock.advance(2999);
    expect(outlet.log).toEqual([]);
    await range.clock.advance(1);
    expect(await shot).toMatchObject({ outcome: "off" });
  });

  it("says that an agent lives on, whatever its outcome", async () => {
    const range = new Range();
    range.isGone = false;
    expect(await range.shoot([[honest("bmc")]])).toMatchObject({ outcome: "off", isGone: false });
  });

  it("at a node without devices is unknown", async () => {
    expect(await new Range().shoot([[]])).toMatchObject({ outcome: "unknown" });
    expect((await new Range().shoot([])).said).toContain("no device");
  });
});

describe("a level", () => {
  it("needs every device: one supply that stays on keeps the machine on", async () => {
    const range = new Range();
    const shot = range.shoot([[honest("left"), new Outlet("right", on)]]);
    await range.clock.advance(60_000);
    expect(await shot).toMatchObject({ outcome: "failed" });
  });

  it("needs every device in one round: an outlet that is on again does not count", async () => {
    const range = new Range();
    // Off in turns: never both at once.
    let round = 0;
    const left = new Outlet("left", () => (round++ % 2 === 0 ? off() : on()));
    const right = new Outlet("right", () => (round % 2 === 0 ? off() : on()));
    const shot = range.shoot([[left, right]]);
    await range.clock.advance(60_000);
    expect((await shot).outcome).not.toBe("off");
  });

  it("that fails leads to the next, and only then", async () => {
    const range = new Range();
    const [bmc, left, right] = [new Outlet("bmc", silent), honest("left"), honest("right")];
    const shot = range.shoot([[bmc], [left, right]]);
    await range.clock.advance(15_000);
    expect(left.log).toEqual([]);
    await range.clock.advance(60_000);
    expect(await shot).toMatchObject({ outcome: "off" });
    expect((await shot).said).toBe("level 2: left and right say that it is off");
  });

  it("that succeeds ends the shot", async () => {
    const [bmc, pdu] = [honest("bmc"), honest("pdu")];
    await new Range().shoot([[bmc], [pdu]]);
    expect(pdu.log).toEqual([]);
  });
});

describe("a shooter", () => {
  /** A device with an agent, which the range lets run or not. */
  function withAgent(): Device & { orders: number } {
    return {
      name: "agent",
      orders: 0,
      async status(_node, call): Promise<Power> {
        const end = await call.run({ argv: ["true"] });
        return end.is === "exited" ? off() : { is: "unknown", why: end.why };
      },
      async setPower(_node, _power, call): Promise<Ordered> {
        const end = await call.run({ argv: ["true"] });
        if (end.is === "exited") this.orders++;
        return end.is === "exited" ? { is: "taken" } : { is: "refused", why: end.why };
      },
    };
  }

  it("that may not act any more starts no agent, tries nothing else, and has verified nothing", async () => {
    const range = new Range();
    range.forbidden = "the term is lost";
    const [first, second] = [withAgent(), withAgent()];
    const report = await range.shoot([[first], [second]]);
    expect(report).toMatchObject({ outcome: "unknown", said: "the shot was stopped: the term is lost" });
    expect([first.orders, second.orders, range.killAts.length]).toEqual([0, 0, 1]);
  });

  it("whose look at its term fails starts no agent", async () => {
    const range = new Range();
    const device = withAgent();
    Object.defineProperty(range, "forbidden", {
      get: () => {
        throw new Error("the store does not answer");
      },
    });
    expect((await range.shoot([[device]])).said).toContain("the store does not answer");
    expect(device.orders).toBe(0);
  });

  it("has its agents killed before its deadline, and by their own timeout", async () => {
    const range = new Range();
    range.deadline = { mono: 4000, boot: 4000 };
    await range.shoot([[withAgent()]]);
    expect(Math.max(...range.killAts)).toBeLessThan(4000);
    const patient = new Range();
    await patient.shoot([[withAgent()]]);
    expect(Math.max(...patient.killAts)).toBe(1000 + PATIENCE.timeoutMs);
  });

  it("whose deadline is near orders nothing more", async () => {
    const range = new Range();
    range.deadline = { mono: 3000, boot: 3000 };
    const liar = new Outlet("liar", on);
    const shot = range.shoot([[liar]]);
    await range.clock.advance(60_000);
    expect((await shot).said).toContain("the term of the shooter is ending");
    expect(liar.log.filter((word) => word === "off")).toHaveLength(1);
  });

  it("that slept past its deadline orders nothing more", async () => {
    const range = new Range();
    range.deadline = { mono: 9000, boot: 9000 };
    const liar = new Outlet("liar", () => {
      range.clock.suspend(20_000);
      return on();
    });
    const shot = range.shoot([[liar]]);
    await range.clock.advance(60_000);
    expect((await shot).said).toContain("the term of the shooter is ending");
  });

  it("that is told to stop stops", async () => {
    const range = new Range();
    const liar = new Outlet("liar", on);
    const shot = range.shoot([[liar], [honest("next")]]);
    await range.clock.advance(1500);
    range.abort.abort();
    await range.clock.advance(0);
    expect((await shot).said).toContain("not wanted any more");
  });
});

describe("a look", () => {
  const looking = (levels: readonly (readonly Device[])[]): Promise<Power> => {
    const agents = {} as Agents;
    const nodes = { "db-1": { levels, delayMs: 0 } };
    const runner = new DeviceRunner({ clock: new ManualClock(), agents, nodes, patience: PATIENCE });
    return runner.look("db-1", new AbortController().signal);
  };

  it("is on if one device says so, off if all do, and gives no order", async () => {
    const [left, right] = [new Outlet("left", off), new Outlet("right", on)];
    expect(await looking([[left, right]])).toEqual({ is: "on" });
    expect(await looking([[left, new Outlet("right", off)]])).toEqual({ is: "off" });
    expect(await looking([[left, new Outlet("right", silent)]])).toMatchObject({ is: "unknown" });
    expect(await looking([])).toMatchObject({ is: "unknown" });
    expect([...left.log, ...right.log]).not.toContain("off");
  });
});

it("tells what each device was told and said", async () => {
  const range = new Range();
  await range.shoot([[honest("bmc")]]);
  expect(range.news).toEqual([
    { node: "db-1", level: 1, device: "bmc", is: "ordered", answer: { is: "taken" } },
    { node: "db-1", level: 1, device: "bmc", is: "asked", answer: { is: "off" } },
  ]);
});
