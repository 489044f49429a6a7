// The tables of docs/MUTANTS.md: what found each mutant the last time, read and renewed for scripts/mutants.mjs.
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** @typedef {import("./mutants.mjs").Outcome} Outcome */

const BEGIN = "<!-- table: written by scripts/mutants.mjs --write-table -->";
const BEGIN_PROTOCOLS = "<!-- table of protocols: written by scripts/mutants.mjs --write-table -->";
const END = "<!-- end of table -->";
const file = fileURLToPath(new URL("../docs/MUTANTS.md", import.meta.url));

/**
 * What found each mutant the last time, by docs/MUTANTS.md: a seed, or a test of its file. Tried first, and if it finds nothing any more, the whole is.
 * @returns {Promise<Map<string, string>>}
 */
export async function readKnown() {
  const page = await readFile(file, "utf8");
  const rows = page.matchAll(/^\| `test\/mutants\/(?:\w+\/)?([\w-]+)\.patch` \|.*(?:, seed (\d+)|“(.*)”) \|$/gm);
  return new Map([...rows].map(([, name = "", seed, test = ""]) => [name, seed ?? test.replaceAll("\\|", "|")]));
}

/** Renews the rows of the mutants that were tried. @param {Outcome[]} outcomes */
export async function writeTable(outcomes) {
  const page = await readFile(file, "utf8");
  const ofLeases = outcomes.filter(({ protocol }) => protocol === undefined);
  const ofProtocols = outcomes.filter(({ protocol }) => protocol !== undefined);
  const first = replaceRows(page, BEGIN, "test/mutants", ofLeases);
  await writeFile(file, replaceRows(first, BEGIN_PROTOCOLS, "test/mutants/protocols", ofProtocols));
}

/**
 * Rows of mutants that were not tried stay as they are.
 * @param {string} page
 * @param {string} begin
 * @param {string} folder
 * @param {Outcome[]} outcomes
 */
function replaceRows(page, begin, folder, outcomes) {
  const from = page.indexOf(begin);
  const to = page.indexOf(END, from);
  if (from < 0 || to < from) throw new Error("docs/MUTANTS.md has lost the marks of its tables");
  const [head = "", line = "", ...old] = page
    .slice(from + begin.length, to)
    .trim()
    .split("\n");
  const rows = new Map(old.map((row) => [row.split("`")[1] ?? "", row]));
  for (const outcome of outcomes) {
    const patch = `${folder}/${outcome.name}.patch`;
    rows.set(patch, `| \`${patch}\` | ${outcome.law} | ${outcome.what} | ${showFinder(outcome)} |`);
  }
  const sorted = [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
  return `${page.slice(0, from)}${begin}\n${[head, line, ...sorted].join("\n")}\n${page.slice(to)}`;
}

/** @param {Outcome} outcome */
function showFinder({ test, foundBy, seed }) {
  if (foundBy === "") return "NOT FOUND";
  if (test === undefined) return `${foundBy}, seed ${seed}`;
  return `\`${test}\`: “${foundBy.slice(test.length + 2).replaceAll("|", "\\|")}”`;
}
