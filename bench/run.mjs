// @ts-check
// All benchmarks, one after the other, each in a process of its own so that none warms or burdens another. Prints a table; says which goals are missed, and which files failed.
// Exit: 0 all goals met, 1 one is missed or a file failed, 2 wrong usage.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const HELP = `All benchmarks in one table.

  npm run bench -- [NAME …] [--json] [--write]

  NAME          a file of bench/, without .mjs; without any, all of them
  --only NAME   the same
  --json        one JSON object
  --write       rewrite the tables of these files in bench/README.md, and the raw samples in bench/results

Exit: 0 all goals met, 1 one is missed or a file failed, 2 wrong usage.
`;

/** @typedef {{ name: string, value: number, unit: string, goal: string }} Row */
/** @typedef {{ name: string, machine: string, rows: Row[] }} Measured name: of the file */

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
  const all = readdirSync(here)
    .filter((file) => file.endsWith(".mjs") && file !== "run.mjs")
    .map((file) => file.slice(0, -".mjs".length));
  const unknown = options.names.filter((name) => !all.includes(name));
  if (unknown.length > 0) {
    process.stderr.write(`no file of bench/: ${unknown.join(", ")}. There are: ${all.join(", ")}\n`);
    return 2;
  }
  const isWhole = options.names.length === 0;
  const names = all.filter((name) => isWhole || options.names.includes(name));
  /** @type {Measured[]} */
  const measured = [];
  /** @type {string[]} */
  const failed = [];
  for (const name of names) {
    if (!options.json) process.stderr.write(`${name} …\n`);
    const rows = measure(name, options.write === true);
    if (rows === undefined) failed.push(name);
    else measured.push({ name, machine: machine(), rows });
  }
  const rows = measured.flatMap((each) => each.rows);
  const missed = rows.filter((row) => !isMet(row));
  const table = [machine(), "", ...tableOf(rows)].join("\n");
  process.stdout.write(options.json ? `${JSON.stringify({ machine: machine(), rows })}\n` : `${table}\n`);
  if (options.write) writeTables(measured, isWhole && failed.length === 0);
  for (const { name } of missed) process.stderr.write(`missed: ${name}\n`);
  for (const name of failed) process.stderr.write(`failed: bench/${name}.mjs\n`);
  return missed.length === 0 && failed.length === 0 ? 0 : 1;
}

function readOptions() {
  try {
    const options = /** @type {const} */ ({
      only: { type: "string", multiple: true },
      json: { type: "boolean" },
      write: { type: "boolean" },
      help: { type: "boolean" },
    });
    const { values, positionals } = parseArgs({ options, strict: true, allowPositionals: true });
    return { ...values, names: [...positionals, ...(values.only ?? [])] };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    return undefined;
  }
}

/** What was seen; undefined: the file failed, and has said why. @param {string} name @param {boolean} isKept also raw samples @returns {Row[] | undefined} */
function measure(name, isKept) {
  const script = `import(${JSON.stringify(new URL(`${name}.mjs`, import.meta.url).href)}).then(async ({ run }) => process.stdout.write(JSON.stringify(await run())))`;
  const { status, stdout } = spawnSync(process.execPath, ["--expose-gc", "-e", script], {
    encoding: "utf8",
    cwd: here,
    env: { ...process.env, BENCH_KEEP: isKept ? "1" : "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  return status === 0 ? JSON.parse(stdout) : undefined;
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

/**
 * Each file has a table of its own, with the day and the machine on which it was taken. Tables of files that were not measured now stay as they are.
 * @param {readonly Measured[]} measured @param {boolean} isWhole all files were: whatever else stands there is of no file any more
 */
function writeTables(measured, isWhole) {
  const page = `${here}README.md`;
  const [head = "", before = ""] = readFileSync(page, "utf8").split("<!-- table -->");
  const [older = "", ...sections] = before.split(/^### /m);
  const tables = new Map(
    isWhole ? [] : sections.map((section) => [section.slice(0, section.indexOf("\n")), section.trim()]),
  );
  for (const { name, machine: where, rows } of measured)
    tables.set(name, [name, "", where, "", ...tableOf(rows)].join("\n"));
  const fresh = new Set(measured.flatMap(({ rows }) => rows.map(({ name }) => `| ${name} |`)));
  const kept = older.split("\n").filter((line) => ![...fresh].some((row) => line.startsWith(row)));
  const sorted = [...tables].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => `### ${text}`);
  const parts = [`${head}<!-- table -->`, ...(isWhole ? [] : [kept.join("\n").trim()]), ...sorted];
  writeFileSync(page, `${parts.filter((part) => part !== "").join("\n\n")}\n`);
}
