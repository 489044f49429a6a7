// @ts-check
// The promise as tables: what the guarantees of all drivers say, short in README.md and fault by fault in docs/GUARANTEES.md. The data is the `guarantee` of each store, and
// nothing else; a new driver adds its record, and is in the tables. `scripts/api.mjs` runs this; `--check` fails if a page is out of date.
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { loadTypeScript } from "./load-typescript.mjs";

/** @typedef {import("../test/support/promised.ts").Promised} Promised */
/** @typedef {import("../src/lease/guarantee.ts").Guarantee} Guarantee */
/** @typedef {import("../src/lease/guarantee.ts").Hazard} Hazard */
/** @typedef {{ name: string, twice: string, harm: "waste" | "damage" }} Use */

const root = fileURLToPath(new URL("..", import.meta.url));
const BEGIN = "<!-- promises: written by scripts/guarantees.mjs -->";
const END = "<!-- end of promises -->";

/** @type {Readonly<Record<Hazard, string>>} */
const FAULTS = {
  processPause: "the leader is paused",
  partition: "the network is cut",
  storeLeaderChange: "the store's own leader changes",
  storeRestart: "the store restarts",
  clockJump: "a clock jumps",
  clockDrift: "clocks run at different rates",
  recordDeleted: "a record is deleted",
  machineCloned: "a machine is cloned",
};

/** What people elect a leader or take a lock for, and what it costs if two do it at once. @type {readonly Use[]} */
const USES = [
  { name: "cache warming", twice: "the work is done twice, which is only wasteful", harm: "waste" },
  { name: "rate limiting", twice: "a few requests too many pass", harm: "waste" },
  { name: "singleton scheduler", twice: "a job runs twice, with its side effects", harm: "damage" },
  { name: "seat reservation", twice: "a seat is sold twice", harm: "damage" },
];

const REACH = { process: "one process", host: "one host", network: "many hosts" };
const JUDGE = {
  "store-monotonic": "the store, on a clock that never jumps",
  "store-wall": "the store, by its wall clock",
  taker: "the rivals, by silence on their own clocks",
  kernel: "the kernel of the host",
};

/** The word before the explanation: "CP", "AP", "Neither". @param {Guarantee} guarantee */
const capOf = ({ cap }) => (cap.split(":")[0] ?? cap).trim().replace(/^Neither/, "neither");

/** @param {Guarantee} guarantee @param {Use} use */
function fitness({ fencing }, { harm }) {
  if (harm === "waste") return "yes";
  return fencing === "fenced" ? "behind a guard" : "no";
}

/** @param {Guarantee} guarantee */
const whereOf = ({ scope }) => (scope === "network" ? "" : scope === "host" ? ", on one host" : ", inside one process");

/** @param {readonly (readonly string[])[]} rows the first is the head */
function table(rows) {
  const [head = [], ...body] = rows.map((cells) => `| ${cells.join(" | ")} |`);
  return [head, `|${"---|".repeat(rows[0]?.length ?? 0)}`, ...body].join("\n");
}

/** @param {readonly Promised[]} promised */
export function shortTable(promised) {
  const rows = firstOfEach(promised).map(({ driver, title, guarantee }) => [
    `[${title}](docs/stores/${driver}.md)`,
    REACH[guarantee.scope],
    capOf(guarantee),
    guarantee.fencing === "fenced" ? "yes" : "no",
    ...USES.map((use) => fitness(guarantee, use)),
  ]);
  return table([["store", "reaches", "CAP", "tokens", ...USES.map(({ name }) => name)], ...rows]);
}

/** Without those of one driver that the short table would not tell apart. @param {readonly Promised[]} promised */
function firstOfEach(promised) {
  const key = (/** @type {Promised} */ { driver, guarantee: { scope, cap, fencing } }) =>
    JSON.stringify([driver, scope, cap, fencing]);
  const kept = [...new Map(promised.toReversed().map((each) => [key(each), each])).values()].toReversed();
  const isAlone = (/** @type {Promised} */ { driver }) => kept.filter((each) => each.driver === driver).length === 1;
  return kept.map((each) => (isAlone(each) ? { ...each, title: `\`${each.driver}:\`` } : each));
}

/** @param {readonly Promised[]} promised */
export function longTables(promised) {
  return [fitnessTable(firstOfEach(promised)), ...promised.map(faultTable)].join("\n\n");
}

/** @param {readonly Promised[]} promised */
function fitnessTable(promised) {
  const cell = (/** @type {Guarantee} */ guarantee, /** @type {Use} */ use) => {
    const fit = fitness(guarantee, use);
    return fit === "no" ? fit : `${fit}${whereOf(guarantee)}`;
  };
  const rows = USES.map((use) => [use.name, use.twice, ...promised.map(({ guarantee }) => cell(guarantee, use))]);
  return table([["use", "if two do it at once", ...promised.map(({ title }) => title)], ...rows]);
}

/** @param {Promised} promised */
function faultTable({ driver, title, guarantee }) {
  const { cap, judge, token, fencing, quorum, earlyEnds, under } = guarantee;
  const says = [
    `**${title}** ([page](stores/${driver}.md)). ${cap}`,
    `It reaches ${REACH[guarantee.scope]}${quorum ? ", and survives the loss of a minority of its servers" : ""}.`,
    `That a leader is gone is decided by ${JUDGE[judge]}.`,
    fencing === "fenced" ? `The token is ${token.source}.` : "It gives no tokens: nothing can refuse a late write.",
    ...(earlyEnds.length === 0 ? [] : [`A lease may end early: ${earlyEnds.join("; ")}.`]),
  ];
  const rows = Object.entries(FAULTS).map(([hazard, fault]) => [fault, under[/** @type {Hazard} */ (hazard)]]);
  return `${says.join(" ")}\n\n${table([["if", "what is promised"], ...rows])}`;
}

/** The page with its block renewed. @param {string} page @param {string} text */
export function withBlock(page, text) {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`a page lacks ${BEGIN} or ${END}`);
  return `${page.slice(0, begin + BEGIN.length)}\n\n${text}\n\n${page.slice(end)}`;
}

/** Page → what it should be. @param {readonly Promised[]} promised @param {(file: string) => string} read */
export function promisePages(promised, read) {
  return new Map([
    ["README.md", withBlock(read("README.md"), shortTable(promised))],
    ["docs/GUARANTEES.md", withBlock(read("docs/GUARANTEES.md"), longTables(promised))],
  ]);
}

/** Writes the pages, or with `isCheck` only compares. Returns those that are out of date. @param {boolean} isCheck */
export async function renewPromises(isCheck) {
  const { promised } = await loadTypeScript("test/support/promised.ts");
  const read = (/** @type {string} */ file) => readFileSync(path.join(root, file), "utf8");
  const stale = [...promisePages(promised, read)].filter(([file, text]) => read(file) !== text);
  if (isCheck) return stale.map(([file]) => file);
  for (const [file, text] of stale) writeFileSync(path.join(root, file), text);
  return [];
}
