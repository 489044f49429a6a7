// The examples that need a server, on one.
import { spawn, spawnSync } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { expect, it, vi } from "vitest";
import * as server from "../scripts/servers/postgres.mjs";
import { useServers } from "./support/servers.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const servers = useServers(server);

it("fenced-postgres: corrupts without a fence, and not with one", async () => {
  const printed: string[] = [];
  vi.spyOn(console, "log").mockImplementation((...words: unknown[]) => void printed.push(words.join(" ")));
  vi.stubEnv("DATABASE_URL", servers().urls[0]);
  await import("../examples/fenced-postgres/main.mjs");
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  expect(printed).toEqual([
    "without a fence: 70 although the old leader was replaced",
    "with a fence:    100; the late booking: TOKEN_STALE",
  ]);
  expect(process.exitCode ?? 0).toBe(0);
});

it("postgres-writer: writes with its token until SIGTERM, then gives back and ends by itself", async () => {
  const url = servers().urls[0] ?? "";
  const schema = spawnSync(process.execPath, [path.join(root, "dist/cli/main.js"), "schema", "postgres", "--fence"]);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(schema.stdout.toString());
  const child = spawn(process.execPath, [path.join(root, "examples/postgres-writer/main.mjs")], {
    env: { ...process.env, DATABASE_URL: url },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
    if (said.includes("wrote entry 2")) child.kill("SIGTERM");
  });
  expect(await new Promise((resolve) => child.on("close", resolve))).toBe(0);
  const { rows } = await client.query("SELECT entry FROM ledger");
  await client.end();
  expect(rows[0]).toEqual({ entry: "entry 1 of term 1" });
});
