// @ts-check
// A BMC of a machine, simulated by OpenIPMI's ipmi_sim: it speaks IPMI 2.0 on loopback, and its "machine" is a process that it starts, and kills when it is told to power off. While that process lives, the BMC
// says that the power is on: also if the process is stopped (SIGSTOP), which SIGTERM does not end and SIGKILL does.
//
// `nodes` are so many machines, each with a BMC of its own. Without a `machine` each of them sleeps.
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { freePorts, launch, privateFolder } from "./process.mjs";

/** fence_ipmilan and fence_dummy are in fence-agents; they are tested with it. */
export const packages = ["ipmitool", "openipmi", "fence-agents"];

export const USER = "conclave";
/** ipmi_sim speaks this cipher suite. */
export const CIPHER = 3;

/**
 * @param {object} [options]
 * @param {string} [options.folder] of its files; a private one if not given
 * @param {number} [options.nodes]
 * @param {readonly string[]} [options.machine] the command that is the machine; `{index}` becomes the number of the machine, from 0
 * @param {string} [options.password] of USER
 * @returns {Promise<import("./process.mjs").Servers & { ports: number[] }>}
 */
export async function start({
  folder,
  nodes: count = 1,
  machine = ["/bin/sleep", "1000000"],
  password = "no-secret",
} = {}) {
  const own = folder === undefined ? privateFolder("ipmi") : undefined;
  const base = folder ?? own?.folder ?? "";
  // Two for each: the simulator wants a port for the console of a virtual machine too, or it has no machine.
  const ports = await freePorts(2 * count);
  const bmcs = Array.from({ length: count }, (_, index) => ({
    folder: path.join(base, `bmc-${index}`),
    port: ports[2 * index] ?? 0,
    console: ports[2 * index + 1] ?? 0,
    machine: machine.map((word) => word.replaceAll("{index}", `${index}`)),
  }));
  const nodes = await Promise.all(bmcs.map((bmc) => launch(bmcAt(bmc, password))));
  return {
    urls: nodes.map(({ url }) => url),
    ports: bmcs.map(({ port }) => port),
    nodes,
    version: async () => /version ([\d.]+)/.exec(spawnSync("ipmitool", ["-V"], { encoding: "utf8" }).stdout)?.[1] ?? "",
    stop: async () => {
      await Promise.all(nodes.map((node) => node.kill()));
      own?.remove();
    },
  };
}

/** @param {{ folder: string, port: number, console: number, machine: string[] }} bmc @param {string} password */
function bmcAt({ folder, port, console: consolePort, machine }, password) {
  mkdirSync(path.join(folder, "state"), { recursive: true });
  const [lan, emulation] = [path.join(folder, "lan.conf"), path.join(folder, "bmc.emu")];
  writeFileSync(lan, lanConf(port, consolePort, machine, password), { mode: 0o600 });
  writeFileSync(
    emulation,
    "mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr\nmc_enable 0x20\n",
  );
  return {
    url: `ipmi://127.0.0.1:${port}`,
    command: "ipmi_sim",
    args: ["-c", lan, "-f", emulation, "-s", path.join(folder, "state"), "-n"],
    log: path.join(folder, "ipmi_sim.log"),
    ready: async () => ask(port, password, "status").includes("Chassis Power is on"),
  };
}

/** `startcmd` is split at spaces. @param {number} port @param {number} consolePort @param {string[]} machine @param {string} password */
function lanConf(port, consolePort, machine, password) {
  const auths = ["callback", "user", "operator", "admin"].map(
    (level) => `  allowed_auths_${level} none md2 md5 straight`,
  );
  return [
    'name "machine"',
    "set_working_mc 0x20",
    "startlan 1",
    `  addr 127.0.0.1 ${port}`,
    "  priv_limit admin",
    ...auths,
    "  guid a123456789abcdefa123456789abcdef",
    "endlan",
    `serial 15 127.0.0.1 ${consolePort} codec VM`,
    // A machine does not outlive its simulator.
    `startcmd "/usr/bin/setpriv --pdeathsig KILL ${machine.join(" ")}"`,
    "startnow true",
    "poweroff_wait 1",
    "kill_wait 1",
    'user 1 true "" "" user 10 none md2 md5 straight',
    `user 2 true "${USER}" "${password}" admin 10 none md2 md5 straight`,
    "",
  ].join("\n");
}

/** What ipmitool prints. @param {number} port @param {string} password @param {string} word @returns {string} */
export function ask(port, password, word) {
  const where = [
    "-I",
    "lanplus",
    "-C",
    `${CIPHER}`,
    "-H",
    "127.0.0.1",
    "-p",
    `${port}`,
    "-U",
    USER,
    "-N",
    "1",
    "-R",
    "1",
    "-E",
  ];
  const env = { ...process.env, IPMI_PASSWORD: password };
  return spawnSync("ipmitool", [...where, "chassis", "power", word], { encoding: "utf8", env }).stdout ?? "";
}
