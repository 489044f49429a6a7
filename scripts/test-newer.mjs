// @ts-check
// npm run test:newer [-- NAME…]: the tests of the networked stores on newer servers than Debian stable has. Not a part of `npm test`, which it would make too
// slow. Each file of scripts/servers that exports `newer` says which packages it takes and which runs there are. What cannot be fetched or run fails.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { fetchPackages } from "./servers/private-apt.mjs";

/** `installed`: on the server that is installed, in a way in which `npm test` does not run it. */
/** @typedef {{ name: string, files: readonly string[], env?: Readonly<Record<string, string>>, installed?: boolean }} Run */
/** @typedef {{ suite: string, packages: readonly string[], dependencies?: boolean, source?: string, env(folder: string): Record<string, string>, version(folder: string): string, runs: readonly Run[] }} Newer */

const servers = fileURLToPath(new URL("servers", import.meta.url));
const only = process.argv.slice(2);
/** @type {{ line: string, failed: boolean }[]} */
const summary = [];
for (const file of readdirSync(servers).toSorted()) {
  const name = path.basename(file, ".mjs");
  if (file === "warden.mjs" || !file.endsWith(".mjs") || (only.length > 0 && !only.includes(name))) continue;
  const { newer } = /** @type {{ newer?: Newer }} */ (await import(path.join(servers, file)));
  if (newer !== undefined) runAll(name, newer);
}
for (const { line } of summary) process.stdout.write(`${line}\n`);
if (summary.length === 0) process.stderr.write(`test:newer: no newer server is called ${only.join(", ")}\n`);
const hasFailed = summary.length === 0 || summary.some(({ failed }) => failed);
if (hasFailed) process.exitCode = 1;

/** @param {string} name @param {Newer} newer */
function runAll(name, newer) {
  try {
    const folder = fetchPackages(name, newer);
    const version = newer.version(folder);
    for (const { name: what, files, env, installed = false } of newer.runs) {
      const given = { ...process.env, ...(installed ? {} : newer.env(folder)), ...env };
      const { status } = spawnSync("npx", ["vitest", "run", ...files], { stdio: "inherit", env: given });
      const where = installed ? "as installed" : version;
      summary.push({ line: `${what} ${where}: ${status === 0 ? "passed" : "FAILED"}`, failed: status !== 0 });
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    summary.push({ line: `${name}: could not run: ${why}`, failed: true });
  }
}
