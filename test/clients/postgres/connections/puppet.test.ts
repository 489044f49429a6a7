// The connections that a store makes for its URL, with a client that does as it is told and a clock that is turned by hand: what becomes of one that does not answer.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Connections } from "../../../../src/clients/postgres/connections.ts";
import { Puppet } from "../puppet.ts";

describe("with a client that does as it is told", () => {
  let puppets: Puppet[];
  let connections: Connections<Puppet>;
  const puppet = (index: number): Puppet => puppets[index] as Puppet;
  const ask = (text = "SELECT 1", patienceMs = 5_000): Promise<unknown> => connections.ask({ text }, patienceMs);

  beforeEach(() => {
    vi.useFakeTimers();
    puppets = [];
    connections = new Connections(() => {
      const made = new Puppet();
      puppets.push(made);
      return made;
    });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  async function connected(): Promise<Puppet> {
    const first = ask();
    puppet(0).connected();
    puppet(0).answer("1");
    expect(await first).toBe("1");
    return puppet(0);
  }

  it("asks on one that is idle, and lets the process go meanwhile", async () => {
    const only = await connected();
    expect(only.isRef).toBe(false);
    const second = ask("SELECT 2");
    expect(only.isRef).toBe(true);
    only.answer("2");
    expect(await second).toBe("2");
    expect(puppets).toHaveLength(1);
  });

  it("cuts off one that owes an answer for longer than it was given", async () => {
    const only = await connected();
    const second = ask("SELECT 2", 5_000);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(only.isCutOff).toBe(false);
    const failed = expect(second).rejects.toThrow(/terminated/);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(only.isCutOff).toBe(true);
    await failed;
    void ask("SELECT 3");
    expect(puppets).toHaveLength(2);
  });

  it("cuts off all that are idle when somebody doubts them, and asks the next on a new one", async () => {
    const both = [ask(), ask()];
    for (const each of puppets) each.connected();
    for (const each of puppets) each.answer("1");
    await Promise.all(both);
    connections.doubt();
    expect(puppets.map(({ isCutOff }) => isCutOff)).toEqual([true, true]);
    const next = ask("SELECT 2");
    expect(puppets).toHaveLength(3);
    puppet(2).connected();
    puppet(2).answer("2");
    expect(await next).toBe("2");
  });

  it("tells a caller that waited in vain that nothing was sent", async () => {
    const all = Array.from({ length: 4 }, () => ask("SELECT 1", 60_000));
    for (const each of puppets) each.connected();
    const fifth = ask("SELECT 5", 3_000).then(String, ({ message }: Error) => message);
    expect(puppets).toHaveLength(4);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await Promise.race([fifth, Promise.resolve("it waits")])).toMatch(/trying to connect/);
    expect(puppets.flatMap(({ said }) => said)).toEqual(Array.from({ length: 4 }, () => "SELECT 1"));
    for (const each of puppets) each.answer("1");
    expect(await Promise.all(all)).toHaveLength(4);
  });

  it("asks nothing more on one that has answered with an error", async () => {
    const only = await connected();
    const second = expect(ask()).rejects.toThrow("no");
    only.request?.handleError(new Error("no"));
    await second;
    expect(only.hasLeft).toBe(true);
    void ask();
    expect(puppets).toHaveLength(2);
  });

  it("forgets one that breaks while it is idle", async () => {
    const only = await connected();
    only.emit("error");
    void ask();
    expect(only.said).toHaveLength(1);
    expect(puppets).toHaveLength(2);
  });

  it("closes one that has idled for half a minute", async () => {
    const only = await connected();
    await vi.advanceTimersByTimeAsync(29_000);
    expect(only.hasLeft).toBe(false);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(only.hasLeft).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("fails the caller that waited longest when it cannot connect, and tries again for the others", async () => {
    const [first, second] = [ask("SELECT 1"), ask("SELECT 2")];
    const failed = expect(first).rejects.toThrow("refused");
    puppet(0).connected(new Error("refused"));
    await failed;
    expect(puppet(0).hasLeft).toBe(true);
    puppet(1).connected();
    expect(puppet(1).said).toEqual(["SELECT 2"]);
    puppet(1).answer("2");
    expect(await second).toBe("2");
    expect(puppets).toHaveLength(2);
  });

  it("makes another for those who wait when one breaks", async () => {
    const four = Array.from({ length: 4 }, () => ask("SELECT 1", 60_000));
    for (const each of puppets) each.connected();
    const fifth = ask("SELECT 5");
    const failed = expect(four[0]).rejects.toThrow(/terminated/);
    puppet(0).cutOff();
    await failed;
    puppet(4).connected();
    puppet(4).answer("5");
    expect(await fifth).toBe("5");
  });

  it("prepares a call only where the process that answers is the one that signed us in", async () => {
    const call = (): Promise<unknown> => connections.ask({ call: "conclave.f", args: ["1", "E'x'"] }, 5_000);
    const round = async (each: Puppet, processId: string): Promise<void> => {
      const asked = call();
      each.answer("ok", processId);
      await asked;
    };
    void call();
    puppet(0).connected();
    puppet(0).answer("ok", "8");
    await round(puppet(0), "8");
    await round(puppet(0), "7");
    await round(puppet(0), "7");
    await round(puppet(0), "7");
    const plain = "SELECT conclave.f(1, E'x')::text AS answer, pg_backend_pid()";
    expect(puppet(0).said).toEqual([
      plain,
      plain,
      plain,
      `PREPARE "conclave.f" AS SELECT conclave.f($1, $2)::text AS answer; EXECUTE "conclave.f"(1, E'x')`,
      `EXECUTE "conclave.f"(1, E'x')`,
    ]);
  });

  it("prepares nothing more once a server does not know what was prepared on its connection", async () => {
    const call = (): Promise<unknown> => connections.ask({ call: "conclave.f", args: ["1"] }, 5_000);
    const first = call();
    puppet(0).connected();
    puppet(0).answer("ok", "7");
    await first;
    const second = expect(call()).rejects.toThrow("does not exist");
    puppet(0).request?.handleError(Object.assign(new Error("does not exist"), { severity: "ERROR", code: "26000" }));
    await second;
    for (let time = 0; time < 2; time++) {
      const next = call();
      if (time === 0) puppet(1).connected();
      puppet(1).answer("ok", "7");
      await next;
    }
    expect(puppet(1).said.filter((text) => text.startsWith("SELECT"))).toHaveLength(2);
  });

  it("what breaks off once it was sent has no code of a connection that was never made", async () => {
    const unreachable = Object.assign(new Error("connect EHOSTUNREACH"), { code: "EHOSTUNREACH" });
    const neverMade = expect(ask()).rejects.toBe(unreachable);
    puppet(0).connected(unreachable);
    await neverMade;
    const asked = ask();
    puppet(1).connected();
    puppet(1).request?.handleError(unreachable);
    const error: unknown = await asked.catch((cause: unknown) => cause);
    expect(error).toMatchObject({ cause: unreachable });
    expect(error).not.toHaveProperty("code");
  });

  it("tells pg when a question is over, and does not care what pg says of it later", async () => {
    const only = await connected();
    const over = vi.fn<() => void>();
    const second = ask("SELECT 2");
    const asked = only.request;
    if (asked) asked.callback = over;
    only.answer("2");
    await second;
    expect(over).toHaveBeenCalledTimes(1);
    const third = ask("SELECT 3");
    asked?.handleError(new Error("Query read timeout"));
    expect(only.hasLeft).toBe(false);
    only.answer("3");
    expect(await third).toBe("3");
  });

  it.each(["be made", "connect"])("sends nothing later of what was asked when no client could %s", async (cannot) => {
    let isBroken = true;
    const made: Puppet[] = [];
    const broken = new Connections(() => {
      if (isBroken && cannot === "be made") throw new Error("no such file");
      const one = new Puppet();
      if (isBroken)
        one.connect = () => {
          throw new Error("bad port");
        };
      made.push(one);
      return one;
    });
    for (let time = 0; time < 5; time++)
      await expect(broken.ask({ text: `SELECT ${time}` }, 5_000)).rejects.toThrow(/no such file|bad port/);
    expect(vi.getTimerCount()).toBe(0);
    isBroken = false;
    const sixth = broken.ask({ text: "SELECT 6" }, 5_000);
    made.at(-1)?.connected();
    expect(made.at(-1)?.said).toEqual(["SELECT 6"]);
    made.at(-1)?.answer("6");
    expect(await sixth).toBe("6");
  });

  it("tells those who wait when one breaks and no other can be made", async () => {
    let isBroken = false;
    const made: Puppet[] = [];
    const four = new Connections(() => {
      if (isBroken) throw new Error("no such file");
      made.push(new Puppet());
      return made.at(-1) as Puppet;
    });
    const asked = Array.from({ length: 4 }, () => four.ask({ text: "SELECT 1" }, 60_000));
    for (const each of made) each.connected();
    const waiting = expect(four.ask({ text: "SELECT 5" }, 60_000)).rejects.toThrow("no such file");
    const failed = Promise.all(asked.map((each) => expect(each).rejects.toThrow(/terminated/)));
    isBroken = true;
    for (const each of made) each.cutOff();
    await Promise.all([waiting, failed]);
  });

  it("closes one that says something is wrong while it is idle", async () => {
    const only = await connected();
    only.emit("error");
    expect(only.isCutOff).toBe(true);
  });

  it("waits for what is under way when all of it ends", async () => {
    const only = await connected();
    const second = ask("SELECT 2");
    const ended = connections.end();
    expect(only.hasLeft).toBe(false);
    only.answer("2");
    expect(await second).toBe("2");
    expect(only.hasLeft).toBe(true);
    only.emit("end");
    await ended;
    expect(vi.getTimerCount()).toBe(0);
  });

  it("does not wait for ever when all of it ends", async () => {
    const only = await connected();
    const second = expect(ask()).rejects.toThrow(/terminated/);
    const ended = connections.end();
    await vi.advanceTimersByTimeAsync(1_000);
    await ended;
    await second;
    expect(only.isCutOff).toBe(true);
  });
});
