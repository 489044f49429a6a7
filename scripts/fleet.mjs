// @ts-check
// Three NestJS processes with a schedule of one second, killed and stopped every few seconds: which slots ran, were lost, were repeated, judged from outside by the two promises of
// docs/ONCE-PER-FLEET.md. Exit: 0 nothing beyond the promise, 1 otherwise, 2 wrong usage.
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { loadTypeScript } from "./load-typescript.mjs";

const HELP = `Three NestJS processes with a one-second schedule on one SQLite file, killed and stopped every few seconds, judged from outside.

  npm run fleet -- [--seconds 120] [--mark before|after] [--seed N] [--verbose] [--json]

  --seconds N      how long, each (default 120)
  --mark WHICH     the option of the schedule; default: both, one after the other
  --seed N         which faults, in which order (default: drawn, and said)
  --verbose        what happens, as it happens, on stderr
  --json           one JSON object a line, and nothing else, on stdout

Ctrl-C ends it early, and what has happened is judged. Exit: 0 nothing beyond the promise, 1 otherwise, 2 wrong usage.
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
  /** @type {typeof import("../test/schedule/fleet.ts")} */
  const { torment } = await loadTypeScript("test/schedule/fleet.ts");
  const seed = options.seed === undefined ? Math.floor(Math.random() * 1_000_000) : Number(options.seed);
  const stop = new AbortController();
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) process.once(signal, () => stop.abort());
  const progress = (/** @type {string} */ line) =>
    options.verbose === true ? void process.stderr.write(`${line}\n`) : undefined;
  let failed = false;
  const both = /** @type {const} */ (["before", "after"]);
  for (const mark of both.filter((each) => each === (options.mark ?? each))) {
    if (stop.signal.aborted) break;
    const report = await torment({ mark, seconds: Number(options.seconds), seed, signal: stop.signal, progress });
    failed ||= report.findings.length > 0;
    process.stdout.write(options.json === true ? `${JSON.stringify(report)}\n` : summary(report));
  }
  return failed ? 1 : 0;
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        seconds: { type: "string", default: "120" },
        mark: { type: "string" },
        seed: { type: "string" },
        verbose: { type: "boolean" },
        json: { type: "boolean" },
        help: { type: "boolean" },
      },
      strict: true,
    });
    const { seconds, mark, seed } = values;
    if (!(Number(seconds) > 0)) throw new Error(`--seconds ${seconds} is no length of time`);
    if (mark !== undefined && mark !== "before" && mark !== "after") throw new Error(`--mark ${mark} is neither`);
    if (seed !== undefined && !/^\d{1,9}$/.test(seed)) throw new Error(`--seed ${seed} is not a whole number`);
    return values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    return undefined;
  }
}

/** @param {import("../test/schedule/fleet.ts").FleetReport} report */
function summary({ mark, seed, seconds, kills, stops, terms, ran, lost, repeated, findings }) {
  const list = (/** @type {readonly number[]} */ slots) =>
    slots.length === 0
      ? "none"
      : `${slots.length}: ${slots.map((slot) => new Date(slot).toISOString().slice(11, 19)).join(" ")}`;
  return [
    `mark ${mark}, seed ${seed}: ${seconds} s, ${kills} kills, ${stops} stops, ${terms} terms; load of the machine ${loadavg()[0]?.toFixed(1)}`,
    `ran: ${ran}`,
    `lost: ${list(lost)}`,
    `repeated: ${list(repeated)}`,
    findings.length === 0 ? "nothing is beyond the promise" : findings.join("\n"),
    "",
  ].join("\n");
}
