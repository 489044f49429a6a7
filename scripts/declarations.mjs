// @ts-check
// The declarations of the package, once: dist/cjs/**/*.d.cts are the real ones, and each ES module's .d.ts says only that it exports the same. Two full
// sets would be two identities: a class with private fields of one is not assignable to that of the other, and a program that reaches the package both
// by import and by require would not compile.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import ts from "ts59";

const root = fileURLToPath(new URL("..", import.meta.url));

/** @param {readonly import("./exports.mjs").PublicModule[]} modules */
export function writeDeclarations(modules) {
  const cache = path.join(root, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const emitted = mkdtempSync(path.join(cache, "conclave-types-"));
  try {
    emit(emitted);
    for (const file of reachable(emitted, modules)) {
      const text = readFileSync(path.join(emitted, `${file}.d.ts`), "utf8");
      write(`dist/cjs/${file}.d.cts`, withEndings(text, ".cjs"));
    }
    for (const { entry } of modules) {
      const up = "../".repeat(entry.split("/").length - 1) || "./";
      write(`dist/${entry}.d.ts`, `export * from "${up}cjs/${entry}.cjs";\n`);
    }
  } finally {
    rmSync(emitted, { recursive: true, force: true });
  }
}

/** @param {string} folder */
function emit(folder) {
  const options = ["-p", "tsconfig.build.json", "--emitDeclarationOnly", "--outDir", folder];
  const { status } = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", ...options], {
    cwd: root,
    stdio: "inherit",
  });
  if (status !== 0) process.exit(1);
}

/** What the public modules speak of, and nothing else: `stores/memory`, `lease/guarantee`, … @param {string} folder @param {readonly import("./exports.mjs").PublicModule[]} modules */
function reachable(folder, modules) {
  const found = new Set(modules.map(({ entry }) => entry));
  for (const file of found) {
    const text = readFileSync(path.join(folder, `${file}.d.ts`), "utf8");
    for (const { fileName } of relativeImports(text))
      found.add(path.posix.join(path.posix.dirname(file), fileName).replace(/\.ts$/, ""));
  }
  return found;
}

/** The text with each `./other.ts` as `./other.cjs`. @param {string} text @param {string} ending */
function withEndings(text, ending) {
  let result = text;
  for (const { fileName, end } of relativeImports(text).toSorted((a, b) => b.end - a.end)) {
    const at = result.lastIndexOf(fileName, end + 1);
    result = result.slice(0, at) + fileName.replace(/\.ts$/, ending) + result.slice(at + fileName.length);
  }
  return result;
}

/** @param {string} text */
function relativeImports(text) {
  return ts.preProcessFile(text, true, true).importedFiles.filter(({ fileName }) => fileName.startsWith("."));
}

/** @param {string} file @param {string} text */
function write(file, text) {
  mkdirSync(path.join(root, path.dirname(file)), { recursive: true });
  writeFileSync(path.join(root, file), text);
}
