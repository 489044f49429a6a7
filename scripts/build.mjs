// @ts-check
// src → dist: types from tsc, module by module; code joined into one file per entry of package.json plus shared chunks. Importing thirty small modules
// costs Node 25 ms and 8 MB, one file 9 ms and 3 MB (docs/adr/0006-one-file-per-entry.md). Says nothing unless something is wrong.
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";

const root = fileURLToPath(new URL("..", import.meta.url));

function emitTypes() {
  const compiler = ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json", "--emitDeclarationOnly"];
  const { status } = spawnSync(process.execPath, compiler, { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exit(1);
}

/** Processes and threads that conclave starts beside itself: files of their own, promised to nobody. The keeper is whole in one file, whatever becomes of the others. */
const HELPERS = [
  "cli/demo/candidate",
  "cli/drill/candidate",
  "cli/sim-worker",
  "election/renewal-thread",
  "supervisor/releaser",
];
const KEEPER = "supervisor/keeper";

/** Those, and the files that package.json promises, as `{ "stores/memory": "src/stores/memory.ts" }`. */
function entries() {
  /** @type {{ exports: Record<string, string | { default: string }>, bin: Record<string, string> }} */
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  const targets = [...Object.values(manifest.exports), ...Object.values(manifest.bin)].map((target) =>
    typeof target === "string" ? target : target.default,
  );
  const names = targets
    .filter((target) => target.endsWith(".js"))
    .map((target) => target.slice("./dist/".length, -".js".length));
  return Object.fromEntries([...names, ...HELPERS].map((name) => [name, `src/${name}.ts`]));
}

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

rmSync(new URL("../dist", import.meta.url), { recursive: true, force: true });
emitTypes();
await build({
  cwd: root,
  input: entries(),
  platform: "node",
  logLevel: "warn",
  plugins: [withoutIdleImports],
  output: {
    dir: "dist",
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name]-[hash].js",
    codeSplitting: { groups: TOGETHER },
  },
});
await build({
  cwd: root,
  input: { [KEEPER]: `src/${KEEPER}.ts` },
  platform: "node",
  logLevel: "warn",
  output: { dir: "dist", format: "esm", entryFileNames: "[name].js", codeSplitting: false },
});
