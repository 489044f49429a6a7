// @ts-check
// What the benchmarks of failover share: processes on hosts of their own, and the rows of what was counted.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** @typedef {import("../../scripts/servers/network.mjs").Host} Host */
/** @typedef {{ gapMs: number, lost: number, doubleMs: number }} Outcome */

/** @param {Host} host @param {string} command @param {readonly string[]} args @param {string} log */
export function spawnIn(host, command, args, log) {
  // Not through `ip netns exec`, which hides the cgroups behind another /sys.
  return launch("nsenter", [`--net=/run/netns/${host.prefix.at(-1)}`, command, ...args], log);
}

/** @param {string} command @param {readonly string[]} args @param {string} log */
export function launch(command, args, log) {
  writeFileSync(log, "");
  const child = spawn(command, [...args], { stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (/** @type {Buffer} */ text) => writeFileSync(log, text, { flag: "a" }));
  return child;
}

/** @param {readonly import("node:child_process").ChildProcess[]} children @param {NodeJS.Signals} signal */
export async function endAll(children, signal) {
  for (const child of children) child.kill(signal);
  await Promise.race([
    Promise.all(
      children.map(async (child) => {
        if (child.exitCode === null && child.signalCode === null)
          await new Promise((resolve) => child.once("exit", resolve));
      }),
    ),
    sleep(8000),
  ]);
  for (const child of children) child.kill("SIGKILL");
}

/** @param {string} name @param {Outcome[]} outcomes */
export function rowsOf(name, outcomes) {
  const median = (/** @type {number[]} */ values) =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
  const isOurs = name.startsWith("conclave");
  return [
    {
      name: `${name}: without a writable primary, median of ${outcomes.length}`,
      value: median(outcomes.map(({ gapMs }) => gapMs)),
      unit: "ms",
      goal: "",
    },
    {
      name: `${name}: acknowledged writes lost, most`,
      value: Math.max(...outcomes.map(({ lost }) => lost)),
      unit: "",
      goal: "",
    },
    {
      name: `${name}: two servers acknowledged writes, most`,
      value: Math.max(...outcomes.map(({ doubleMs }) => doubleMs)),
      unit: "ms",
      goal: isOurs ? "≤ 0" : "",
    },
  ];
}
