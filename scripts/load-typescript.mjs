// @ts-check
// A TypeScript file of the repository as a module, for scripts and benchmarks: Node 20 reads none. Joined with what it imports; `conclave` and its subpaths
// are the source as it is, not the last build.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "rolldown";
import { publicModules } from "./exports.mjs";
import { sqlText } from "./sql-text.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

/** @param {string} file from the root of the repository @returns {Promise<any>} */
export async function loadTypeScript(file) {
  // Under node_modules, so that what is left outside of the bundle is found.
  const cache = path.join(root, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(path.join(cache, "conclave-script-"));
  try {
    await build({
      cwd: root,
      input: { module: file },
      platform: "node",
      external: ["rolldown"],
      logLevel: "warn",
      plugins: [sqlText],
      resolve: { alias: aliases() },
      // It finds its neighbours as it would unbundled.
      transform: { define: { "import.meta.url": JSON.stringify(pathToFileURL(path.join(root, file)).href) } },
      output: { dir: folder, format: "esm", entryFileNames: "[name].mjs" },
    });
    return await import(pathToFileURL(path.join(folder, "module.mjs")).href);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Each export of package.json, mapped from dist back to src; the longest names first, since each also stands for what begins with it. */
function aliases() {
  const entries = publicModules().map(({ name, source }) => [name, path.join(root, source)]);
  return Object.fromEntries(entries.toSorted(([a = ""], [b = ""]) => b.length - a.length));
}
