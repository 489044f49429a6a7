// @ts-check
// src → dist: types from tsc, module by module; code joined into one file per entry of package.json plus shared chunks, once as ES modules and once as
// CommonJS in dist/cjs. Importing thirty small modules costs Node 25 ms and 8 MB, one file 9 ms and 3 MB (docs/adr/0006-one-file-per-entry.md).
// Says nothing unless something is wrong.
import { readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";
import { writeDeclarations } from "./declarations.mjs";
import { publicModules, readManifest } from "./exports.mjs";
import { sqlText } from "./sql-text.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const modules = publicModules();

/** Processes and threads that conclave starts beside itself: files of their own, promised to nobody. The keeper is whole in one file, whatever becomes of the others. */
const HELPERS = [
  "cli/demo/candidate",
  "cli/partitions/member",
  "cli/drill/candidate",
  "cli/sim-worker",
  "election/renewal-thread",
  "keeper/app-keeper",
  "supervisor/releaser",
];
const KEEPER = "supervisor/keeper";

/** As `{ "stores/memory": "src/stores/memory.ts" }`. @param {readonly string[]} names */
function entries(names) {
  return Object.fromEntries(names.map((name) => [name, `src/${name}.ts`]));
}
const PEERS = Object.keys(readManifest().peerDependencies);
const PROMISED = modules.map(({ entry }) => entry);
const COMMANDS = Object.values(readManifest().bin).map((file) => file.slice("./dist/".length, -".js".length));

/** What the core is made of, in two files instead of a dozen: what everything uses, and what holds elections; and what several drivers have in common, in a third. Entries stay by themselves. */
const TOGETHER = [
  { name: "base", test: /\/src\/(?:base\/|lease\/|fencing\/(?:token|rule)|stores\/contract)/, priority: 2 },
  { name: "core", test: /\/src\/(?:election\/(?!renewal-thread)|stores\/(?:call|host-clock))/, priority: 1 },
  {
    name: "drivers",
    test: /\/src\/(?:clients\/(?!load-peer)[^/]+|stores\/(?:granted-ttl|invitations|memos|turns|watched))\.ts$/,
    priority: 1,
  },
];

/** What runs in a browser too, as it is. */
const ANYWHERE = ["simulator/index.js", "protocols/index.js"];

/** That those, and what they import, ask for nothing of Node. */
function checkAnywhere() {
  const files = ANYWHERE.map((file) => new URL(`../dist/${file}`, import.meta.url));
  const seen = new Set(files.map(String));
  for (const file of files) {
    for (const [, specifier = ""] of readFileSync(file, "utf8").matchAll(/^(?:import|export)\b[^"]*"([^"]+)";$/gm)) {
      const imported = new URL(specifier, file);
      if (!specifier.startsWith(".")) throw new Error(`${file.pathname} needs ${specifier}; it must run in a browser`);
      if (seen.has(String(imported))) continue;
      seen.add(String(imported));
      files.push(imported);
    }
  }
}

/** A file that is imported for nothing does nothing (package.json: sideEffects), and is not loaded: the command line would load all of the core at each start. */
const withoutIdleImports = {
  name: "without idle imports",
  renderChunk: (/** @type {string} */ code) => code.replaceAll(/^import "\.[^"]+";\n/gm, ""),
};

/** @param {string[]} names @param {"esm" | "cjs"} format */
async function join(names, format) {
  const ending = format === "esm" ? "js" : "cjs";
  await build({
    cwd: root,
    input: entries(names),
    platform: "node",
    external: PEERS,
    logLevel: "warn",
    plugins: [sqlText, withoutIdleImports],
    output: {
      dir: format === "esm" ? "dist" : "dist/cjs",
      format,
      entryFileNames: `[name].${ending}`,
      chunkFileNames: `chunks/[name]-[hash].${ending}`,
      codeSplitting: { groups: TOGETHER },
    },
  });
}

rmSync(new URL("../dist", import.meta.url), { recursive: true, force: true });
writeDeclarations(modules);
await join([...PROMISED, ...COMMANDS, ...HELPERS], "esm");
await join(PROMISED, "cjs");
await build({
  cwd: root,
  input: entries([KEEPER]),
  platform: "node",
  logLevel: "warn",
  output: { dir: "dist", format: "esm", entryFileNames: "[name].js", codeSplitting: false },
});
checkAnywhere();
