// @ts-check
// Joins the compiled modules into one file per entry plus shared chunks. Importing thirty small modules costs Node 25 ms and 8 MB, one file 8 ms
// and 2 MB (docs/adr/0006-one-file-per-entry.md). Types come from tsc, module by module.
import { readFileSync } from "node:fs";
import { defineConfig } from "rolldown";

/** @type {{ exports: Record<string, string | { default: string }>, bin: Record<string, string> }} */
const manifest = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
const targets = [...Object.values(manifest.exports), ...Object.values(manifest.bin)]
  .map((target) => (typeof target === "string" ? target : target.default))
  .filter((target) => target.endsWith(".js"));
const input = Object.fromEntries(targets.map((target) => [target.slice("./dist/".length, -".js".length), target.replace("./dist/", "src/").replace(/\.js$/, ".ts")]));

export default defineConfig({
  input,
  platform: "node",
  output: { dir: "dist", format: "esm", entryFileNames: "[name].js", chunkFileNames: "chunks/[name]-[hash].js" },
});
