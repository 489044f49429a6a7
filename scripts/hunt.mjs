// The hunt: runs many seeded worlds on all cores and fails on the first broken invariant, or when it has not really exercised what it claims to.
// Exit: 0 clean, 1 something was found or minima were missed, 2 wrong usage, 130 interrupted.
import { parseArgs } from "node:util";
import {
  addCounts,
  COUNT_NAMES,
  describeFault,
  emptyCounts,
  eventAsJson,
  formatEvent,
  runSeed,
  shrinkSeed,
} from "conclave/simulator";
import { huntOnAllCores } from "./hunt-pool.mjs";
import { CONTROL_ONE_IN, missedMinima } from "./hunt-minima.mjs";

const HELP = `Runs seeded worlds of elections and judges them by invariants.

  npm run hunt -- [options]

  --seeds N        how many seeds to run (default 5000)
  --seed-base B    the first seed (default 1)
  --replay SEED    run one seed and print all that happened, and its hash
  --faults 3,7     with --replay: only these faults of its schedule; "none" for none
  --control        with --replay: clocks at twice the declared bound, as in the control run
  --json           one JSON object
  --help           this text

Exit: 0 clean, 1 an invariant was broken or too little was exercised, 2 wrong usage.
`;

const SHOWN_MAX = 3;
const write = (/** @type {string} */ text) => void process.stdout.write(text);

const exitCode = await main(process.argv.slice(2));
if (exitCode !== 0) process.exitCode = exitCode;

/**
 * @param {string[]} argv
 * @returns {Promise<number>}
 */
async function main(argv) {
  const options = readOptions(argv);
  if (typeof options === "string") {
    process.stderr.write(`${options}\n\n${HELP}`);
    return 2;
  }
  if (options.help) {
    write(HELP);
    return 0;
  }
  return options.replay === undefined ? hunt(options) : replay({ ...options, replay: options.replay });
}

/**
 * @typedef {object} Options
 * @property {number} seeds
 * @property {number} seedBase
 * @property {number | undefined} replay
 * @property {number[] | undefined} faults
 * @property {boolean} control
 * @property {boolean} json
 * @property {boolean} help
 */

/**
 * @param {string[]} argv
 * @returns {Options | string} a string says what is wrong
 */
function readOptions(argv) {
  try {
    const { values } = parseArgs({
      args: argv,
      options: {
        seeds: { type: "string", default: "5000" },
        "seed-base": { type: "string", default: "1" },
        replay: { type: "string" },
        faults: { type: "string" },
        control: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
    const { replay, faults, control, json, help } = values;
    if (replay === undefined && (faults !== undefined || control)) return "--faults and --control go with --replay";
    return {
      seeds: wholeNumber("--seeds", values.seeds, 1),
      seedBase: wholeNumber("--seed-base", values["seed-base"], 0),
      replay: replay === undefined ? undefined : wholeNumber("--replay", replay, 0),
      faults: faults === undefined ? undefined : readFaults(faults),
      control,
      json,
      help,
    };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** @param {string} text */
function readFaults(text) {
  return text === "none" ? [] : text.split(",").map((part) => wholeNumber("--faults", part, 0));
}

/**
 * @param {string} option
 * @param {string} text
 * @param {number} least
 */
function wholeNumber(option, text, least) {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`${option} ${text}: a whole number of at least ${least} is needed`);
}

// ---- one seed --------------------------------------------------------------------------------------------------------------------------

/** @param {Options & { replay: number }} options */
function replay({ replay: seed, faults, control, json }) {
  const result = runSeed(seed, { faults, isControl: control, isRecorded: true });
  const { spec, trace, hash, violation } = result;
  if (json)
    write(
      `${JSON.stringify({ seed, label: spec.label, faults: spec.faults, hash, violation: violation ?? null, trace: trace.map((event) => JSON.parse(eventAsJson(event))) })}\n`,
    );
  else {
    write(
      `seed ${seed}: ${spec.label}, ${spec.candidates.length} candidates, elections ${spec.elections.join(", ")}\n`,
    );
    for (const fault of spec.faults) write(`${describeFault(fault)}\n`);
    for (const event of trace) write(`${formatEvent(event)}\n`);
    write(`hash ${hash}: ${violation === undefined ? "every invariant holds" : `${violation.invariant} is broken`}\n`);
  }
  return violation === undefined ? 0 : 1;
}

// ---- many seeds ------------------------------------------------------------------------------------------------------------------------

/** @typedef {import("./hunt-worker.mjs").Finding} Finding */

/** @param {Options} options */
async function hunt({ seeds, seedBase, json }) {
  const interruption = new AbortController();
  process.once("SIGINT", () => interruption.abort());
  const startedAt = performance.now();
  const run = await runSeeds(seeds, seedBase, false, interruption.signal, json);
  const controlSeeds = Math.min(400, Math.max(100, Math.ceil(seeds / 20)));
  const control = await runSeeds(controlSeeds, seedBase, true, interruption.signal, json);
  const seconds = (performance.now() - startedAt) / 1000;
  if (interruption.signal.aborted) {
    write(
      `interrupted after ${run.seeds} seeds${run.findings.length > 0 ? `, ${run.findings.length} of them broken` : ""}\n`,
    );
    return 130;
  }
  const overlaps = control.findings.filter(({ invariant }) => invariant === "exclusion").length;
  const missed = run.findings.length > 0 ? [] : missedMinima(run.counts, run.seeds, run.hashes.size);
  if (overlaps * CONTROL_ONE_IN < controlSeeds)
    missed.push(
      `control: ${overlaps} overlaps in ${controlSeeds} seeds with clocks at twice the bound, at least one in ${CONTROL_ONE_IN} was expected`,
    );
  const isClean = run.findings.length === 0 && missed.length === 0;
  if (json) {
    const { counts, findings } = run;
    write(
      `${JSON.stringify({ seeds, seedBase, seconds, counts, traces: run.hashes.size, control: { seeds: controlSeeds, overlaps }, findings, missed })}\n`,
    );
    return isClean ? 0 : 1;
  }
  printCounts(run, seconds);
  write(`control: ${overlaps} overlaps in ${controlSeeds} seeds with clocks at twice the declared bound\n`);
  for (const finding of run.findings.toSorted((a, b) => a.seed - b.seed).slice(0, SHOWN_MAX)) printFinding(finding);
  for (const line of missed) write(`too little: ${line}\n`);
  write(
    isClean ? "clean: every invariant held\n" : `${run.findings.length} of ${run.seeds} seeds broke an invariant\n`,
  );
  return isClean ? 0 : 1;
}

/**
 * @param {number} seeds
 * @param {number} seedBase
 * @param {boolean} isControl
 * @param {AbortSignal} signal
 * @param {boolean} isQuiet
 */
async function runSeeds(seeds, seedBase, isControl, signal, isQuiet) {
  const total = { seeds: 0, counts: emptyCounts(), hashes: new Set(), findings: /** @type {Finding[]} */ ([]) };
  const progress = isQuiet ? undefined : createProgress(isControl ? "control" : "hunt", seeds);
  await huntOnAllCores({ seedBase, seeds, isControl, signal }, (report) => {
    total.seeds += report.seeds;
    addCounts(total.counts, report.counts);
    for (const hash of report.hashes) total.hashes.add(hash);
    total.findings.push(...report.findings);
    progress?.(total.seeds, isControl ? 0 : total.findings.length);
  });
  if (process.stdout.isTTY && !isQuiet) write("\r\x1b[K");
  return total;
}

/**
 * A line that is written over on a terminal; elsewhere one line for every quarter.
 * @param {string} what
 * @param {number} seeds
 * @returns {(done: number, broken: number) => void}
 */
function createProgress(what, seeds) {
  let quarter = 0;
  return (done, broken) => {
    const text = `${what}: ${done} of ${seeds} seeds${broken > 0 ? `, ${broken} broken` : ""}`;
    if (process.stdout.isTTY) return write(`\r\x1b[K${text}`);
    if (Math.floor((4 * done) / seeds) <= quarter) return;
    quarter = Math.floor((4 * done) / seeds);
    write(`${text}\n`);
  };
}

/**
 * @param {Awaited<ReturnType<typeof runSeeds>>} run
 * @param {number} seconds
 */
function printCounts({ seeds, counts, hashes }, seconds) {
  write(`${seeds} seeds in ${seconds.toFixed(1)} s, ${hashes.size} distinct traces; exercised:\n`);
  for (const name of COUNT_NAMES) write(`  ${name.padEnd(28)}${String(counts[name]).padStart(12)}\n`);
}

/** @param {Finding} finding */
function printFinding({ seed, invariant, story, atMs, label }) {
  write(`\nBROKEN  ${invariant}, seed ${seed} (${label}) at ${atMs.toFixed(3)} ms\n  ${story}\n`);
  write(`  replay:  npm run hunt -- --replay ${seed}\n`);
  const shrunk = shrinkSeed(seed);
  if (shrunk === undefined) return;
  const { faults, runs, result } = shrunk;
  write(
    `  shrunk to ${faults.length} faults in ${runs} runs:  npm run hunt -- --replay ${seed} --faults ${faults.join(",") || "none"}\n`,
  );
  for (const fault of result.spec.faults) write(`    ${describeFault(fault)}\n`);
}
