// @ts-check
// All benchmarks, one after the other, each in a process of its own so that none warms or burdens another. Prints a table; says which goals are missed.
// Exit: 0 all goals met, 1 one is missed, 2 wrong usage.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const HELP = `All benchmarks in one table.

  npm run bench -- [--only NAME] [--json] [--write]

  --only NAME   one file of bench/, without .mjs
  --json        one JSON object
  --write       rewrite the table of bench/README.md, and the raw samples in bench/results

Exit: 0 all goals met, 1 one is missed, 2 wrong usage.
`;

/** @typedef {{ name: string, value: number, unit: string, goal: string }} Row */

const here = fileURLToPath(new URL(".", import.meta.url));
const exitCode = main();
if (exitCode !== 0) process.exitCode = exitCode;

function main() {
  const options = readOptions();
  if (options === undefined) return 2;
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const names = readdirSync(here)
    .filter((file) => file.endsWith(".mjs") && file !== "run.mjs")
    .map((file) => file.slice(0, -".mjs".length))
    .filter((name) => options.only === undefined || name === options.only);
  /** @type {Row[]} */
  const rows = [];
  for (const name of names) {
    if (!options.json) process.stderr.write(`${name} …\n`);
    rows.push(...measure(name, options.write === true));
  }
  const missed = rows.filter((row) => !isMet(row));
  const table = [machine(), "", ...tableOf(rows)].join("\n");
  process.stdout.write(options.json ? `${JSON.stringify({ machine: machine(), rows })}\n` : `${table}\n`);
  if (options.write) writeTable(table);
  for (const { name } of missed) process.stderr.write(`missed: ${name}\n`);
  return missed.length === 0 ? 0 : 1;
}

function readOptions() {
  try {
    const options = /** @type {const} */ ({
      only: { type: "string" },
      json: { type: "boolean" },
      write: { type: "boolean" },
      help: { type: "boolean" },
    });
    return parseArgs({ options, strict: true }).values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    return undefined;
  }
}

/** @param {string} name @param {boolean} isKept also raw samples @returns {Row[]} */
function measure(name, isKept) {
  const script = `import(${JSON.stringify(new URL(`${name}.mjs`, import.meta.url).href)}).then(async ({ run }) => process.stdout.write(JSON.stringify(await run())))`;
  const { status, stdout } = spawnSync(process.execPath, ["--expose-gc", "-e", script], {
    encoding: "utf8",
    cwd: here,
    env: { ...process.env, BENCH_KEEP: isKept ? "1" : "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (status !== 0) throw new Error(`bench/${name}.mjs failed`);
  return JSON.parse(stdout);
}

/** A goal reads "≤ 15" or "≥ 1,000,000"; without one any value will do. @param {Row} row */
function isMet({ value, goal }) {
  const bound = Number(goal.replace(/[^\d.]/g, ""));
  if (goal.startsWith("≤")) return value <= bound;
  return goal.startsWith("≥") ? value >= bound : true;
}

/** @param {Row[]} rows */
function tableOf(rows) {
  const body = rows.map(
    (row) =>
      `| ${row.name} | ${format(row.value)} ${row.unit} | ${row.goal === "" ? "" : `${row.goal} ${row.unit}`} | ${row.goal === "" ? "" : isMet(row) ? "met" : "missed"} |`,
  );
  return ["| what | seen | goal | |", "|---|---|---|---|", ...body];
}

/** @param {number} value */
function format(value) {
  return value >= 1000 ? Math.round(value).toLocaleString("en-US") : String(Number(value.toPrecision(3)));
}

function machine() {
  const day = new Date().toISOString().slice(0, 10);
  return `${day}, Node ${process.version}, ${process.platform} ${process.arch}, ${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GB`;
}

/** @param {string} table */
function writeTable(table) {
  const page = `${here}README.md`;
  const [head = ""] = readFileSync(page, "utf8").split("<!-- table -->");
  writeFileSync(page, `${head}<!-- table -->\n\n${table}\n`);
}
