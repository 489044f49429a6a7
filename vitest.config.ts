// Tests import the package by its public names. Each name is an export of package.json, mapped from dist back to src.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { publicModules } from "./scripts/exports.mjs";
import { sqlText } from "./scripts/sql-text.mjs";
import { withoutDefence } from "./scripts/without-defence.mjs";

const alias = publicModules().map(({ name, source }) => ({
  find: new RegExp(`^${name}$`),
  replacement: fileURLToPath(new URL(source, import.meta.url)),
}));

// Most tests wait for processes, servers and time to pass rather than for a core: four at once, whatever the machine has.
/** They want the whole machine, so they run after the others and one by one. */
const HEAVY = ["test/incidents/herd.test.ts", "test/stores/sqlite/stress.test.ts"];

/** Those that need what only `npm run test:newer` brings. */
const FETCHED = [
  ...(process.env["CONCLAVE_GO_CANDIDATE"] === undefined ? ["test/stores/kubernetes/client-go.test.ts"] : []),
  ...(process.env["CONCLAVE_KUBE_APISERVER"] === undefined ? ["test/stores/kubernetes/real.test.ts"] : []),
];

export default defineConfig({
  resolve: { alias },
  plugins: [withoutDefence(), sqlText],
  test: {
    // Ten times what the slowest of those that name no time of their own takes on an idle machine: a busy one is not to fail them.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    allowOnly: false,
    projects: [
      {
        extends: true,
        test: {
          name: "light",
          include: ["test/**/*.test.ts"],
          exclude: [...HEAVY, ...FETCHED, "test/projects/**"],
          maxWorkers: 4,
          sequence: { groupOrder: 0 },
        },
      },
      { extends: true, test: { name: "heavy", include: HEAVY, maxWorkers: 1, sequence: { groupOrder: 1 } } },
    ],
  },
});
