// @ts-check
// What the benchmarks of failover share: processes on hosts of their own, and the rows of what was counted.
import { spawn } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
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

/** One write that a client was told of: when, by which server, and what it was. @typedef {{ at: number, server: string, key: string }} Told */

/** What a client has noted, one write a line. @param {string} log @returns {Told[]} */
export function toldIn(log) {
  const lines = readFileSync(log, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => {
    const [at = "", server = "", key = ""] = line.split(" ");
    return { at: Number(at), server, key };
  });
}

/** @param {string} log @param {string} server @param {string | number} key */
export function note(log, server, key) {
  writeFileSync(log, `${Date.now()} ${server} ${key}\n`, { flag: "a" });
}

/** @param {() => boolean | Promise<boolean>} isDone @param {number} withinMs @param {string} otherwise */
export async function until(isDone, withinMs, otherwise) {
  for (const untilMs = Date.now() + withinMs; !(await isDone()); await sleep(50))
    if (Date.now() > untilMs) throw new Error(otherwise);
}

/**
 * One fault, from two clients that write to its end. By which server a write was acknowledged decides, and not an instant: a busy machine takes its time to kill and to cut.
 * @param {{ folder: string, old: Host, start: (logs: { inside: string, outside: string }) => import("node:child_process").ChildProcess[], fault: () => void | Promise<void>, heal: () => void,
 *   withinMs: number, missing: (keys: string[]) => Promise<number> }} round
 * @returns {Promise<Outcome>}
 */
export async function contest({ folder, old, start, fault, heal, withinMs, missing }) {
  const logs = { inside: path.join(folder, "inside.log"), outside: path.join(folder, "outside.log") };
  for (const log of Object.values(logs)) writeFileSync(log, "");
  const clients = start(logs);
  try {
    const isWarm = () => Object.values(logs).every((log) => toldIn(log).length >= 100);
    await until(isWarm, 60_000, "the clients were not served before the fault");
    await fault();
    const byAnother = () => toldIn(logs.outside).find(({ server }) => server !== old.address);
    await until(() => byAnother() !== undefined, withinMs, "nobody took writes again");
    await sleep(2500);
    heal();
    await sleep(2000);
    await endAll(clients, "SIGKILL");
    const [inside, outside] = [toldIn(logs.inside), toldIn(logs.outside)];
    const after = byAnother()?.at ?? Infinity;
    const before = outside.findLast(({ at, server }) => server === old.address && at <= after)?.at ?? Infinity;
    const lastOfOld = Math.max(
      ...[...inside, ...outside].filter(({ server }) => server === old.address).map(({ at }) => at),
    );
    return {
      gapMs: after - before,
      lost: await missing([...inside, ...outside].map(({ key }) => key)),
      doubleMs: Math.max(0, lastOfOld - after),
    };
  } finally {
    heal();
    await endAll(clients, "SIGKILL");
  }
}

/** A round that fails is told and counted, and the next ones go on: a failure of one system must not hide what the other does. @param {string} name @param {Record<string, Outcome[]>} seen @param {string} folder @param {() => Promise<Outcome>} round */
export async function countRound(name, seen, folder, round) {
  const outcomes = (seen[name] ??= []);
  try {
    const outcome = await round();
    process.stderr.write(`${name}: ${JSON.stringify(outcome)}\n`);
    outcomes.push(outcome);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  } catch (error) {
    process.stderr.write(`${name}: failed: ${String(error)}. What everybody has said is in ${folder}\n`);
    outcomes.push({ gapMs: Infinity, lost: 0, doubleMs: 0 });
  }
}

/** @param {readonly Outcome[]} outcomes those that came to an end; Infinity if there is none */
export function medianGapOf(outcomes) {
  const gaps = outcomes.map(({ gapMs }) => gapMs).filter(Number.isFinite);
  return gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length / 2)] ?? Infinity;
}

/** @param {string} name @param {Outcome[]} outcomes @param {{ lost?: string, double?: string }} goals */
export function rowsOf(name, outcomes, goals) {
  const done = outcomes.filter(({ gapMs }) => Number.isFinite(gapMs));
  const gaps = done.map(({ gapMs }) => gapMs);
  const row = (/** @type {string} */ what, /** @type {number} */ value, unit = "", goal = "") => ({
    name: `${name}: ${what}`,
    value,
    unit,
    goal,
  });
  const failed = outcomes.length - done.length;
  const failures = [row(`rounds of ${outcomes.length} in which nobody took writes again`, failed, "", "≤ 0")];
  if (done.length === 0) return failures;
  return [
    row(`without a writable primary, median of ${done.length}`, medianGapOf(outcomes), "ms"),
    row("without a writable primary, longest", Math.max(...gaps), "ms"),
    row("acknowledged writes lost, most", Math.max(...done.map(({ lost }) => lost)), "", goals.lost),
    row(
      "two servers acknowledged writes, longest",
      Math.max(...done.map(({ doubleMs }) => doubleMs)),
      "ms",
      goals.double,
    ),
    ...(failed === 0 ? [] : failures),
  ];
}
