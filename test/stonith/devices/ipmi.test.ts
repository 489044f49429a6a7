// IPMI by ipmitool, with a BMC of OpenIPMI's simulator whose machine is a process: a stopped one is really killed.
import { ipmi } from "conclave/stonith";
import { afterAll, describe, expect, it } from "vitest";
import * as server from "../../../scripts/servers/ipmi.mjs";
import { useServers } from "../../support/servers.ts";
import { commandLinesWith, isAlive, pidIn, ShootingRange } from "./range.ts";
import { signalTo } from "../../../scripts/servers/signal.mjs";

const PASSWORD = "a-bmc-pa55word";
const range = new ShootingRange();
afterAll(() => range.end());
const machine = range.program("machine.sh", `#!/bin/sh\necho $$ > "$1"\nexec sleep 1000000\n`);
const bmc = useServers(server, {
  password: PASSWORD,
  nodes: 2,
  machine: [machine, range.file("machine-{index}.pid")],
});

const device = (index: number, secret = PASSWORD): ReturnType<typeof ipmi> =>
  ipmi({
    name: "bmc",
    host: "127.0.0.1",
    port: (bmc() as Awaited<ReturnType<typeof server.start>>).ports[index],
    user: server.USER,
    password: { file: range.secret(`password-${secret}`, secret) },
    cipher: server.CIPHER,
  });

describe("ipmi", () => {
  it("powers a stopped machine off: its process is dead when the status says off; no command line shows the password", async () => {
    const call = await range.call();
    const pid = await pidIn(range.file("machine-0.pid"));
    signalTo(pid, "SIGSTOP");
    const seen = await commandLinesWith(PASSWORD, async () => {
      expect(await device(0).status("db-1", call)).toEqual({ is: "on" });
      expect(await device(0).setPower("db-1", "off", call)).toEqual({ is: "taken" });
      await expect.poll(() => device(0).status("db-1", call), { timeout: 60_000 }).toEqual({ is: "off" });
    });
    expect(isAlive(pid)).toBe(false);
    expect(seen).toEqual([]);
  });

  it("says on for as long as the process lives, although the order was taken", async () => {
    const call = await range.call();
    const pid = await pidIn(range.file("machine-1.pid"));
    signalTo(pid, "SIGSTOP"); // ends by SIGKILL only, a second later
    expect(await device(1).setPower("db-2", "off", call)).toEqual({ is: "taken" });
    const first = await device(1).status("db-2", call);
    expect(first.is === "on" || !isAlive(pid)).toBe(true);
    await expect.poll(() => device(1).status("db-2", call), { timeout: 60_000 }).toEqual({ is: "off" });
  });

  it("with a wrong password knows nothing, and shows nothing of it", async () => {
    const call = await range.call();
    const wrong = device(0, "wrong-pa55word");
    const status = await wrong.status("db-1", call);
    expect(status).toMatchObject({ is: "unknown" });
    expect(JSON.stringify([status, await wrong.setPower("db-1", "off", call)])).not.toContain("wrong-pa55word");
  });

  it("at which nobody answers knows nothing, in time", async () => {
    const call = await range.call(2000);
    const nobody = ipmi({
      name: "nobody",
      host: "127.0.0.1",
      port: 9,
      user: "x",
      password: { file: range.secret("p", "some-password") },
    });
    expect(nobody.name).toBe("nobody");
    expect(await nobody.status("db-1", call)).toMatchObject({ is: "unknown" });
  });
});
