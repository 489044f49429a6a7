// Joins the program with the package in it, once for each format, and runs both; and once more with the package left out, as the docs advise.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { build } from "esbuild";

const RUNS = [
  { from: "main.js", format: "cjs", outfile: "whole.cjs" },
  { from: "main.js", format: "esm", outfile: "whole.mjs" },
  { from: "both.js", format: "cjs", outfile: "both.cjs" },
  { from: "both.js", format: "esm", outfile: "both.mjs" },
  { from: "main.js", format: "cjs", outfile: "outside.cjs", external: ["conclave"] },
  { from: "main.js", format: "esm", outfile: "outside.mjs", external: ["conclave"] },
];

for (const { from, external = [], ...options } of RUNS) {
  const { metafile } = await build({
    entryPoints: [from],
    bundle: true,
    platform: "node",
    target: "node20",
    metafile: true,
    logLevel: "error",
    logOverride: { "empty-import-meta": "silent" },
    external: ["libsql", ...external],
    ...options,
  });
  const files = Object.keys(metafile.inputs).filter((file) => file.includes("conclave/dist"));
  assert.deepEqual(
    files.filter((file) => file.endsWith(".cjs")),
    [],
    "two copies of the package in one bundle",
  );
  const place = external.length > 0 ? "outside" : "inside";
  const { status, stdout, stderr } = spawnSync(process.execPath, [options.outfile, place], { encoding: "utf8" });
  assert.equal(status, 0, `${options.outfile}: ${stdout}${stderr}`);
}
