// @ts-check
// Takeovers on a machine with no core to spare: real processes on a file are killed, stopped at any moment and asked to resign, again and again, while
// stress-ng keeps every core busy. Judged from the log that the processes write themselves; the raw samples are kept.
// Exit: 0 no two ever held at once and no stopped leader was taken for dead, 1 otherwise, 2 wrong usage.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { keepResults, quantiles } from "../bench/results/keep.mjs";
import { loadTypeScript } from "./load-typescript.mjs";
import { ensurePackages } from "./servers/packages.mjs";

const HELP = `Takeovers between real processes under load.

  npm run stress -- [--rounds 200] [--idle] [--write]

  --rounds N   of each kind: kill, stop, resign
  --idle       without stress-ng
  --write      keep the raw samples in bench/results/takeover-under-load.json

Exit: 0 no two ever held at once and no stopped leader was taken for dead, 1 otherwise, 2 wrong usage.
`;

const exitCode = await main();
if (exitCode !== 0) process.exitCode = exitCode;

async function main() {
  const options = readOptions();
  if (options === undefined) return 2;
  if (options.help === true) {
    process.stdout.write(HELP);
    return 0;
  }
  const load = options.idle === true ? undefined : await startLoad();
  try {
    return await stress(Number(options.rounds), options.write === true);
  } finally {
    load?.kill("SIGTERM");
  }
}

function readOptions() {
  try {
    const options = /** @type {const} */ ({
      rounds: { type: "string", default: "200" },
      idle: { type: "boolean" },
      write: { type: "boolean" },
      help: { type: "boolean" },
    });
    const { values } = parseArgs({ options, strict: true });
    if (!/^[1-9]\d*$/.test(values.rounds)) throw new Error(`--rounds ${values.rounds} is not a number of rounds`);
    return values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    return undefined;
  }
}

/** As many busy processes as there are cores. */
async function startLoad() {
  ensurePackages(["stress-ng"]);
  const load = spawn("stress-ng", ["--cpu", String(cpus().length), "--quiet"], { stdio: "ignore" });
  await once(load, "spawn");
  return load;
}

/** @param {number} rounds @param {boolean} isKept */
async function stress(rounds, isKept) {
  /** @type {typeof import("../test/support/rounds.ts")} */
  const { takeOver } = await loadTypeScript("test/support/rounds.ts");
  const { samples, verdicts } = await takeOver({ rounds, stopAt: "any-moment", pairs: 4 });
  const findings = verdicts.flatMap(({ overlaps, regressions, unread }) => [...overlaps, ...regressions, ...unread]);
  const terms = verdicts.reduce((sum, verdict) => sum + verdict.terms, 0);
  const { kill, stop, resign, early, again } = samples;
  for (const [what, values] of Object.entries({ kill, "stop, over the ttl": stop, resign }))
    process.stdout.write(`${what}: ${values.length} rounds, ${quantiles(values)}\n`);
  process.stdout.write(
    `${findings.length} overlaps or regressions in ${terms} terms; ${early} of ${stop.length} stopped leaders were not waited for; ${again} rounds were done again\n`,
  );
  for (const finding of findings) process.stderr.write(`${finding}\n`);
  if (isKept) keepResults("takeover-under-load", { terms, findings, early, again, samplesMs: { kill, stop, resign } });
  return findings.length === 0 && early === 0 ? 0 : 1;
}
