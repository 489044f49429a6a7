// @ts-check
// Steps per second of the pure lease machine while it leads: a tick that sends a keep, an answer that proves it, and so on. No host, no store.
// The machine is no entry of the package, so it is joined into one file here first, as the package's own entries are.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "rolldown";

const ROUNDS = 1_000_000;
const TTL_MS = 15_000;

/** @typedef {typeof import("../src/lease/machine.ts")} MachineModule */
/** @typedef {typeof import("../src/lease/settings.ts")} SettingsModule */
/** @typedef {import("../src/lease/state.ts").Effect} Effect */
/** @typedef {import("../src/lease/state.ts").Machine} Machine */

export async function run() {
  const folder = await mkdtemp(path.join(tmpdir(), "conclave-bench-"));
  try {
    const module = await load(folder);
    beat(module, lead(module), ROUNDS / 10);
    const machine = lead(module);
    const begun = performance.now();
    beat(module, machine, ROUNDS);
    const ms = performance.now() - begun;
    return [
      { name: "machine steps, keeping one term", value: ((2 * ROUNDS) / ms) * 1000, unit: "1/s", goal: "≥ 1000000" },
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * @param {string} folder
 * @returns {Promise<MachineModule & SettingsModule>}
 */
async function load(folder) {
  const source = (/** @type {string} */ file) => fileURLToPath(new URL(`../src/lease/${file}.ts`, import.meta.url));
  await build({
    input: { machine: source("machine"), settings: source("settings") },
    platform: "neutral",
    logLevel: "warn",
    output: { dir: folder, format: "esm", entryFileNames: "[name].mjs", chunkFileNames: "[name].mjs" },
  });
  const load = (/** @type {string} */ file) => import(pathToFileURL(path.join(folder, `${file}.mjs`)).href);
  return { ...(await load("machine")), ...(await load("settings")) };
}

const sentence = "See the benchmark.";

/** @type {import("../src/lease/guarantee.ts").Guarantee} */
const GUARANTEE = {
  store: "bench",
  scope: "process",
  quorum: false,
  ttl: { minMs: 1, maxMs: 3_600_000, stepMs: 1, why: "any" },
  wakes: "watch",
  cap: "none",
  fencing: "fenced",
  token: { source: "bench", domain: "bench", survivesDeletion: true, survivesRestore: true },
  shape: "line",
  judge: "store-monotonic",
  keepProves: "this-send",
  proofWithinMs: Infinity,
  extraMarginMs: 0,
  earlyEnds: [],
  keep: "one-request",
  holdsPerSession: 1000,
  under: {
    processPause: sentence,
    partition: sentence,
    storeLeaderChange: sentence,
    storeRestart: sentence,
    clockJump: sentence,
    clockDrift: sentence,
    recordDeleted: sentence,
    machineCloned: sentence,
  },
};

const SESSION = { id: "s", candidate: "bench", ttlMs: TTL_MS };
const KEPT = /** @type {const} */ ({ kind: "kept", session: SESSION, lost: [], unsure: [], strays: [] });

/** A machine that leads one name.
 * @param {MachineModule & SettingsModule} module
 * @returns {Machine}
 */
function lead({ createMachine, resolveSettings, step }) {
  const settings = resolveSettings({ id: "bench", ttlMs: TTL_MS }, GUARANTEE, { monoMs: 5, bootMs: 5 }, "bench");
  const machine = createMachine(settings, "n", 1);
  const now = { mono: 0, boot: 0 };
  /** @type {Effect[]} */
  const effects = [];
  step(machine, { type: "stand", name: "x", value: "" }, now, effects);
  for (let round = 0; round < 4; round++) {
    step(machine, { type: "tick" }, now, effects);
    for (const effect of effects.splice(0)) {
      if (effect.type !== "call") continue;
      const { errand, request } = effect;
      if (request.method === "keep") step(machine, { type: "answer", errand, answer: KEPT }, now, effects);
      if (request.method !== "claim") continue;
      const claimed = request.claims.map(({ name, bid }) => ({
        kind: /** @type {const} */ ("granted"),
        hold: { name, bid, token: { domain: "bench", value: 1n, bid } },
      }));
      step(machine, { type: "answer", errand, answer: { kind: "claimed", claimed } }, now, effects);
    }
  }
  if (machine.campaigns.get("x")?.stage.kind !== "leading") throw new Error("the machine was not elected");
  return machine;
}

/**
 * @param {MachineModule} module
 * @param {Machine} machine
 * @param {number} rounds
 */
function beat({ step, nextWake }, machine, rounds) {
  /** @type {Effect[]} */
  const effects = [];
  let now = { mono: 0, boot: 0 };
  for (let kept = 0; kept < rounds;) {
    const mono = Math.max(now.mono, nextWake(machine, now));
    now = { mono, boot: mono };
    effects.length = 0;
    step(machine, { type: "tick" }, now, effects);
    for (const effect of effects) {
      if (effect.type !== "call") continue;
      kept++;
      now = { mono: now.mono + 1, boot: now.boot + 1 };
      step(machine, { type: "answer", errand: effect.errand, answer: KEPT }, now, []);
    }
  }
  if (machine.session.kind !== "open" || machine.session.keepProven < rounds) throw new Error("a keep went unproven");
}
