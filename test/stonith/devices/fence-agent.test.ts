// Fence-agents of Debian: the dummy, and the one for IPMI with a simulated BMC; agents that lie; and what is refused by their own metadata.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fenceAgent } from "conclave/stonith";
import { afterAll, describe, expect, it } from "vitest";
import * as server from "../../../scripts/servers/ipmi.mjs";
import { parseMetadata, problemsOfParameters } from "../../../src/stonith/devices/metadata.ts";
import { useServers } from "../../support/servers.ts";
import { commandLinesWith, isAlive, pidIn, ShootingRange } from "./range.ts";
import { signalTo } from "../../../scripts/servers/signal.mjs";

const PASSWORD = "a-bmc-pa55word";
const SBIN = "/usr/sbin";
const range = new ShootingRange();
afterAll(() => range.end());
const machine = range.program("machine.sh", `#!/bin/sh\necho $$ > "$1"\nexec sleep 1000000\n`);
const bmc = useServers(server, { password: PASSWORD, machine: [machine, range.file("machine.pid")] });

const metadataOf = (agent: string): string =>
  execFileSync(`${SBIN}/${agent}`, ["-o", "metadata"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });

describe("fence_dummy", () => {
  it("is asked, told, and asked again by its stdin protocol", async () => {
    const file = range.file("dummy.status");
    writeFileSync(file, "on");
    const device = fenceAgent({ name: "dummy", agent: `${SBIN}/fence_dummy`, parameters: { status_file: file } });
    const call = await range.call();
    expect(await device.status("db-1", call)).toEqual({ is: "on" });
    expect(await device.setPower("db-1", "off", call)).toEqual({ is: "taken" });
    expect(readFileSync(file, "utf8")).toBe("off");
    expect(await device.status("db-1", call)).toEqual({ is: "off" });
  });
});

describe("fence_ipmilan", () => {
  it(
    "powers a stopped machine off; and it shows the password on a command line, which is why users are warned",
    { timeout: 240_000 },
    async () => {
      const [port = 0] = (bmc() as Awaited<ReturnType<typeof server.start>>).ports;
      const pid = await pidIn(range.file("machine.pid"));
      signalTo(pid, "SIGSTOP");
      const device = fenceAgent({
        name: "lan",
        agent: `${SBIN}/fence_ipmilan`,
        parameters: {
          ip: "127.0.0.1",
          ipport: port,
          lanplus: true,
          cipher: `${server.CIPHER}`,
          username: server.USER,
          password: { file: range.secret("password", PASSWORD) },
        },
      });
      const call = await range.call();
      // Not by us: by the agent. It also shows that these tests would see it. A process lives for a moment only: it is looked for again where the machine is busy.
      const leaks = (): Promise<readonly string[]> => commandLinesWith(PASSWORD, () => device.status("db-1", call));
      await expect.poll(async () => (await leaks()).length, { timeout: 120_000 }).toBeGreaterThan(0);
      const seen = await commandLinesWith(PASSWORD, async () => {
        expect(await device.status("db-1", call)).toEqual({ is: "on" });
        await device.setPower("db-1", "off", call);
        await expect.poll(() => device.status("db-1", call), { timeout: 60_000 }).toEqual({ is: "off" });
      });
      expect(isAlive(pid)).toBe(false);
      expect(seen.every((line) => line.includes("ipmitool"))).toBe(true);
    },
  );
});

describe("an agent that cannot be believed", () => {
  const call = (): ReturnType<ShootingRange["call"]> => range.call();
  const says = (name: string, text: string): ReturnType<typeof fenceAgent> =>
    fenceAgent({ name, agent: range.program(name, `#!/bin/sh\n${text}\n`), parameters: {} });

  it("means off only by both, exit code and word", async () => {
    const given = await call();
    expect(await says("both", "echo 'Status: OFF'; exit 2").status("x", given)).toEqual({ is: "off" });
    expect(await says("code", "exit 2").status("x", given)).toMatchObject({ is: "unknown" });
    expect(await says("word", "echo 'Status: OFF'; exit 0").status("x", given)).toMatchObject({ is: "unknown" });
    expect(await says("other", "echo 'Status: ON'; exit 2").status("x", given)).toMatchObject({ is: "unknown" });
    expect(await says("syntax", "if then").status("x", given)).toMatchObject({ is: "unknown" });
    const script = fenceAgent({
      name: "python",
      agent: range.program("py", "#!/usr/bin/python3 /nowhere.py\n"),
      parameters: {},
    });
    expect(await script.status("x", given)).toMatchObject({ is: "unknown" });
  });

  it("is never told to reboot: the action is said, and is the last word", async () => {
    const [heard, given] = [range.file("heard"), await call()];
    const device = fenceAgent({
      name: "recorder",
      agent: range.program("recorder", `#!/bin/sh\n[ $# = 0 ] && cat > "${heard}"\n`),
      parameters: { plug: " 3 ", ssl: true, password: { file: range.secret("s", '"quoted"') } },
    });
    await device.setPower("x", "off", given);
    expect(readFileSync(heard, "utf8")).toBe(`plug=" 3 "\nssl=1\npassword=""quoted""\naction=off\n`);
    await device.status("x", given);
    expect(readFileSync(heard, "utf8")).toContain("\naction=status\n");
  });
});

describe("parameters", () => {
  const problems = (agent: string, given: object): readonly string[] => {
    const found = parseMetadata(metadataOf(agent));
    return found === undefined
      ? ["no metadata"]
      : problemsOfParameters(found, given as Readonly<Record<string, unknown>>);
  };

  it("are refused, all at once, if the agent would ignore them or act on several machines", () => {
    const found = problems("fence_aws", {
      plugg: "i-1",
      regoin: "eu",
      secret_key: "AKIA",
      verbose: true,
      power_timeout: "soon",
    });
    expect(found.join("\n")).toContain("no parameter plugg");
    expect(found.join("\n")).toContain("no parameter regoin. Did you mean region?");
    expect(found.join("\n")).toContain("secret_key is a secret");
    expect(found.join("\n")).not.toContain("AKIA");
    expect(found.join("\n")).toContain("verbose makes agents write passwords");
    expect(found.join("\n")).toContain("power_timeout: a number");
    expect(found.join("\n")).toContain("plug is missing");
    expect(problems("fence_apc_snmp", { ip: "10.0.0.1", plug: "3,4" }).join()).toContain("several machines");
    expect(problems("fence_ipmilan", { action: "reboot", method: "cycle", privlvl: "root" })).toHaveLength(3);
    expect(problems("fence_apc_snmp", { ip: "h", plug: "1", port: "1" }).join()).toContain("same parameter");
  });

  it("that are right are taken, under their newer names and their older ones", () => {
    const key = { env: "KEY" };
    expect(problems("fence_aws", { plug: "i-1", region: "eu", access_key: { env: "ID" }, secret_key: key })).toEqual(
      [],
    );
    expect(problems("fence_aws", { port: "i-1", region: "eu" })).toEqual([]);
    expect(problems("fence_ipmilan", { ip: "10.0.0.1", lanplus: 1, username: "u", password: key })).toEqual([]);
    expect(problems("fence_gce", { plug: "vm", zone: "z", project: "p" })).toEqual([]);
    expect(problems("fence_azure_arm", { plug: "vm", resourceGroup: "g", msi: true })).toEqual([]);
    expect(problems("fence_dummy", {})).toEqual([]);
  });

  it("of every installed agent can be read", () => {
    const agents = readdirSync(SBIN).filter((name) => name.startsWith("fence_") && existsSync(`${SBIN}/${name}`));
    expect(agents.length).toBeGreaterThan(50);
    // Some of them load large libraries: a few that differ are enough.
    for (const agent of ["fence_vmware_rest", "fence_virsh", "fence_apc", "fence_scsi", "fence_xvm"].filter((name) =>
      agents.includes(name),
    ))
      expect(parseMetadata(metadataOf(agent))?.parameters.length, agent).toBeGreaterThan(3);
    expect(parseMetadata("usage: something")).toBeUndefined();
  });
});
