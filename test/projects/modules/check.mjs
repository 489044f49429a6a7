// Compiles main.ts under every resolution and runs what comes out; then the two files of one identity. Types of the package are checked too: skipLibCheck is
// off. Run in a folder where the tarball is installed; the compilers are those of the repository (CONCLAVE_REPOSITORY).
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";

const modules = path.join(process.env.CONCLAVE_REPOSITORY, "node_modules");
const manifest = JSON.parse(readFileSync("node_modules/conclave/package.json", "utf8"));

const SHARED = {
  target: "es2022",
  lib: ["es2023", "esnext.disposable"],
  strict: true,
  skipLibCheck: false,
  esModuleInterop: true,
  types: ["node"],
  noEmitOnError: true,
};
const RUNS = [
  { compiler: "ts59", module: "commonjs", moduleResolution: "node10", type: "commonjs" },
  { compiler: "ts59", module: "node16", moduleResolution: "node16", type: "commonjs" },
  { compiler: "typescript", module: "node16", moduleResolution: "node16", type: "commonjs" },
  { compiler: "typescript", module: "nodenext", moduleResolution: "nodenext", type: "commonjs" },
  { compiler: "ts6", module: "nodenext", moduleResolution: "nodenext", type: "module" },
  { compiler: "typescript", module: "esnext", moduleResolution: "bundler", type: "module" },
];

/** Peers of the package that the repository has, as a user would have installed them. */
for (const name of ["@types/node", ...Object.keys(manifest.peerDependencies)]) {
  const link = path.join("node_modules", name);
  if (!existsSync(path.join(modules, name)) || existsSync(link)) continue;
  mkdirSync(path.dirname(link), { recursive: true });
  symlinkSync(path.join(modules, name), link, "junction");
}

const names = Object.keys(manifest.exports).filter((subpath) => subpath !== "./package.json");
writeFileSync(
  "every.ts",
  [
    ...names.map((subpath, index) => `import * as module${index} from "conclave${subpath.slice(1)}";`),
    `export const all: readonly object[] = [${names.map((_, index) => `module${index}`).join(", ")}];`,
  ].join("\n"),
);

let failures = 0;
const main = readFileSync("main.ts", "utf8");
for (const { compiler, type, ...options } of RUNS) {
  const label = `${compiler} ${options.moduleResolution}, ${type}`;
  writeFileSync("package.json", JSON.stringify({ private: true, type }));
  // ES modules name the ending of a file.
  writeFileSync("main.ts", type === "module" ? main.replace(`"./every"`, `"./every.js"`) : main);
  configure({ ...SHARED, ...options, outDir: "out" }, ["main.ts"]);
  attempt(label, [path.join(modules, compiler, "bin/tsc"), "-p", "."]);
  attempt(label, ["out/main.js"]);
}
for (const compiler of ["ts59", "typescript"]) {
  configure({ ...SHARED, module: "nodenext", outDir: "out" }, ["identity.mts", "identity.cts"]);
  attempt(`${compiler}, one identity`, [path.join(modules, compiler, "bin/tsc"), "-p", "."]);
}
process.exitCode = failures === 0 ? 0 : 1;
if (failures === 0)
  console.log(`${RUNS.length} ways to compile and run, ${names.length} modules, one identity of types`);

function configure(compilerOptions, files) {
  writeFileSync("tsconfig.json", JSON.stringify({ compilerOptions, files }));
}

function attempt(label, args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status === 0) return;
  failures += 1;
  console.error(`${label}: ${path.basename(args[0])} failed\n${stdout}${stderr}`);
}
