// @ts-check
// src → dist: types from tsc, module by module; code joined into one file per entry of package.json plus shared chunks, once as ES modules and once as
// CommonJS in dist/cjs. Importing thirty small modules costs Node 25 ms and 8 MB, one file 9 ms and 3 MB (docs/adr/0006-one-file-per-entry.md).
// Says nothing unless something is wrong.
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";
import { writeDeclarations } from "./declarations.mjs";
import { publicModules, readManifest } from "./exports.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const modules = publicModules();

/** Processes and threads that conclave starts beside itself: files of their own, promised to nobody. The keeper is whole in one file, whatever becomes of the others. */
const HELPERS = [
  "cli/demo/candidate",
  "cli/drill/candidate",
  "cli/sim-worker",
  "election/renewal-thread",
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

/** What the core is made of, in two files instead of a dozen: what everything uses, and what holds elections. Entries stay by themselves. */
const TOGETHER = [
  {
    name: "base",
    test: /\/src\/(?:base\/|lease\/exchange|fencing\/token|stores\/(?:contract|call|host-clock))/,
    priority: 2,
  },
  { name: "core", test: /\/src\/(?:lease\/|election\/(?!renewal-thread))/, priority: 1 },
];

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
    plugins: [withoutIdleImports],
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
