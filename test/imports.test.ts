// What an import of the package loads. A program pays for it at every start, so the goal is 10 ms for a driver (bench/import.mjs). A time cannot be tested on a machine that does other things; what is
// loaded can, and it decides the time: with Node 20, 50 KB of code take about 1 ms to compile, a file 0.2 ms to find and read, node:crypto 3 ms, the streams 1.5 ms.
// It reads the last build (npm run build); npm test and npm run verify build first.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const dist = fileURLToPath(new URL("../dist", import.meta.url));

/** A tenth more than there is now. If a module needs more for a good reason, its line changes, and docs/adr/0099 says what an import costs. */
const MOST: readonly (readonly [module: string, kilobytes: number, files: number])[] = [
  ["index", 320, 4],
  ["stores/dynamodb", 250, 7],
  ["stores/etcd", 290, 7],
  ["stores/kubernetes", 257, 4],
  ["stores/memory", 225, 8],
  ["stores/postgres", 290, 10],
  ["stores/redis", 265, 9],
  ["stores/sqlite", 270, 8],
  ["stores/zookeeper", 280, 6],
  ["election/renewal-thread", 175, 3],
  ["supervisor/releaser", 175, 4],
  ["fencing/index", 230, 6],
  ["cli/main", 145, 2],
];

/** What these are made of, and load with the first store that they open if not before. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  "stores/sqlite": ["crypto", "net", "stream"],
};

const COSTLY = ["child_process", "crypto", "dns", "http", "http2", "https", "net", "readline", "stream", "tls", "zlib"];

describe.runIf(existsSync(dist))("an import", () => {
  it.each(MOST)("of %s reads at most %i KB in at most %i files", (module, kilobytes, files) => {
    const loaded = loadedBy(module);
    expect(loaded.size).toBeLessThanOrEqual(files);
    expect([...loaded.values()].reduce((sum, code) => sum + code.length, 0) / 1000).toBeLessThanOrEqual(kilobytes);
  });

  const drivers = MOST.map(([module]) => module).filter((module) => module.startsWith("stores/"));

  it.each(["index", ...drivers])(
    "of %s loads no part of Node that takes long and that it does not need yet",
    (module) => {
      expect(costlyBuiltins(module)).toEqual(NEEDED[module] ?? []);
    },
  );

  it.each([...drivers, "election/renewal-thread", "supervisor/releaser", "fencing/index"])(
    "of %s does not load what holds elections",
    (module) => {
      expect([...loadedBy(module).keys()].filter((file) => file.startsWith("chunks/core-"))).toEqual([]);
      expect([...loadedBy("index").keys()].filter((file) => file.startsWith("chunks/core-"))).toHaveLength(1);
    },
  );

  it("asks for a part of Node without reading all of its exports", () => {
    expect(modules().filter((file) => /^(?:import|export)\b.*"node:[^"]+";$/m.test(codeOf(file)))).toEqual([]);
  });

  it("reads ASCII only, which V8 keeps in one byte a character and not in two", () => {
    expect(modules().filter((file) => /[\u0080-\uFFFF]/.test(codeOf(file)))).toEqual([]);
  });
});

/** The ES modules of the build. */
function modules(): readonly string[] {
  return readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".js"));
}

function codeOf(file: string): string {
  return readFileSync(path.join(dist, file), "utf8");
}

/** The files that the module is made of, with their code. What is imported later (`await import`) is not among them. */
function loadedBy(module: string): ReadonlyMap<string, string> {
  const loaded = new Map<string, string>();
  const load = (file: string): void => {
    if (loaded.has(file)) return;
    const code = codeOf(file);
    loaded.set(file, code);
    for (const [, other = ""] of code.matchAll(/^(?:import|export)\b[^"\n]*"(\.[^"]+)";$/gm))
      load(path.join(path.dirname(file), other));
  };
  load(`${module}.js`);
  return loaded;
}

/** Those that are there after the import and were not before. A module of ours that imports nothing comes first, so that what Node needs for any file does not count. */
function costlyBuiltins(module: string): readonly string[] {
  const script = `
    await import("./dist/health/index.js");
    const before = new Set(process.moduleLoadList);
    await import("./dist/${module}.js");
    const added = process.moduleLoadList.filter((name) => !before.has(name)); // before process.stdout, which loads streams
    process.stdout.write(JSON.stringify(added));
  `;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: path.dirname(dist),
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  const names = (JSON.parse(stdout) as readonly string[]).map((name) => name.replace("NativeModule ", ""));
  return COSTLY.filter((name) => names.includes(name));
}
