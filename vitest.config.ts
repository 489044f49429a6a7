// Tests import the package by its public names. Each name is an export of package.json, mapped from dist back to src.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

type Exports = Record<string, string | { readonly default: string }>;
const manifest = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8")) as { exports: Exports };

const alias = Object.entries(manifest.exports).flatMap(([subpath, target]) => {
  if (typeof target === "string") return [];
  const source = target.default.replace("./dist/", "./src/").replace(/\.js$/, ".ts");
  const name = `conclave${subpath.slice(1)}`;
  return [{ find: new RegExp(`^${name}$`), replacement: fileURLToPath(new URL(source, import.meta.url)) }];
});

// Most tests wait for processes, servers and time to pass rather than for a core: four at once, whatever the machine has.
/** They want the whole machine, so they run after the others and one by one. */
const HEAVY = ["test/incidents/herd.test.ts", "test/stores/sqlite-stress.test.ts"];

export default defineConfig({
  resolve: { alias },
  test: {
    testTimeout: 20_000,
    hookTimeout: 20_000,
    allowOnly: false,
    projects: [
      {
        extends: true,
        test: {
          name: "light",
          include: ["test/**/*.test.ts"],
          exclude: HEAVY,
          maxWorkers: 4,
          sequence: { groupOrder: 0 },
        },
      },
      { extends: true, test: { name: "heavy", include: HEAVY, maxWorkers: 1, sequence: { groupOrder: 1 } } },
    ],
  },
});
