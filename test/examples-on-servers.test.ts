// The examples that need a server, on one.
import { spawn, spawnSync, type SpawnSyncReturns } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Fenced } from "conclave";
import { postgresFence } from "conclave/fencing/postgres";
import * as drizzle from "../examples/fenced-postgres/drizzle.mjs";
import * as kysely from "../examples/fenced-postgres/kysely.mjs";
import * as prisma from "../examples/fenced-postgres/prisma.mjs";
import * as server from "../scripts/servers/postgres.mjs";
import * as redisServer from "../scripts/servers/redis.mjs";
import { by, codeOf } from "./fencing/tokens.ts";
import { within } from "./fencing/transactions.ts";
import { newDatabase } from "./stores/postgres/stage.ts";
import { runExample } from "./support/example.ts";
import { useDynamoDB, useKubernetes, useZooKeeper } from "./support/real-stores.ts";
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

describe("fenced-postgres beside it", () => {
  /** Appends by two leaders, and by the first again: what the ledger holds, and what the late one was answered. */
  const appendAll = async (append: (row: string, term: Fenced) => Promise<void>, rows: pg.Pool): Promise<unknown> => {
    await rows.query("DELETE FROM ledger; DELETE FROM conclave_fence");
    await append("of the first", by(1));
    await append("of the second", by(2));
    const late = await codeOf(append("late", by(1)));
    return { late, rows: (await rows.query("SELECT row FROM ledger")).rows.map(({ row }) => row) };
  };
  const refused = { late: "TOKEN_STALE", rows: ["of the first", "of the second"] };
  let url = "";
  let pool: pg.Pool;
  beforeAll(async () => {
    url = await newDatabase(servers().urls[0] ?? "");
    pool = new pg.Pool({ connectionString: url });
    await pool.query(`CREATE TABLE ledger (row text NOT NULL); ${postgresFence().schema()}`);
  });
  afterAll(() => pool.end());

  it("kysely: refuses the late write of the first leader", async () => {
    const db = new Kysely<{ ledger: { row: string } }>({ dialect: new PostgresDialect({ pool }) });
    expect(await appendAll((row, term) => kysely.append(db, row, term), pool)).toEqual(refused);
  });

  it("drizzle: refuses it too", async () => {
    const { drizzle: open } = createRequire(import.meta.url)("drizzle-orm/node-postgres") as {
      readonly drizzle: (client: pg.Pool) => Parameters<typeof drizzle.append>[0];
    };
    expect(await appendAll((row, term) => drizzle.append(open(pool), row, term), pool)).toEqual(refused);
  });

  it("prisma: refuses it too, in a transaction of the same shape; test/projects/prisma has the real one", async () => {
    const client = prismaLike(pool);
    expect(await appendAll((row, term) => prisma.append(client, row, term), pool)).toEqual(refused);
  });
});

/** As much of a generated client as the example uses. */
function prismaLike(pool: pg.Pool): Parameters<typeof prisma.append>[0] {
  return {
    $transaction: (work) =>
      within(pool, (client) =>
        work({
          $queryRawUnsafe: async (text) => (await client.query(text)).rows,
          ledger: { create: ({ data }) => client.query("INSERT INTO ledger VALUES ($1)", [data.row]) },
        }),
      ),
  };
}

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

describe("on Redis", () => {
  const redis = useServers(redisServer);

  it("bullmq: one replica has the worker; the other takes over after SIGTERM, and every job is done once", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "conclave-example-"));
    const env = { CONCLAVE_STORE: `sqlite:${folder}/bullmq.db`, REDIS_URL: redis().urls[0] };
    // Each adds three jobs. The first to lead leaves with its second job; the other has the rest, and is told to leave when it has done its last.
    const both = await Promise.all([
      runExample("bullmq", { env, stopAt: /report (?:2|6) is made/ }),
      runExample("bullmq", { env, stopAt: /report (?:2|6) is made/ }),
    ]);
    rmSync(folder, { recursive: true });
    expect(both.map(({ code, trouble, lines }) => [code, trouble, lines.at(-1)])).toEqual([
      [0, "", "the seat is given back"],
      [0, "", "the seat is given back"],
    ]);
    const made = both.flatMap(({ lines }) => lines.filter((line) => line.startsWith("report")));
    expect(made.toSorted()).toEqual([1, 2, 3, 4, 5, 6].map((id) => `report ${id} is made`));
    expect(both.every(({ lines }) => lines.length > 1)).toBe(true);
  });

  it("redis-lock: one of three replicas warms the cache", async () => {
    const { code, lines, trouble } = await runExample("redis-lock", { env: { REDIS_URL: redis().urls[0] } });
    expect([code, trouble]).toEqual([0, ""]);
    expect(lines).toEqual([expect.stringMatching(/warmed it.*it was warmed once$/)]);
  });

  it("fenced-redis: corrupts without a fence, and not with one", async () => {
    const { code, lines, trouble } = await runExample("fenced-redis", { env: { REDIS_URL: redis().urls[0] } });
    expect([code, trouble]).toEqual([0, ""]);
    expect(lines).toEqual(["without a fence: old leader", "with a fence:    successor; the late write: TOKEN_STALE"]);
  });

  it("the README's program works when it is pasted", () => {
    const { status, stdout, stderr } = runFromReadme("redis", { REDIS_URL: redis().urls[0] });
    expect([status, stdout, stderr]).toEqual([0, "warming, alone: true\n", ""]);
  });
});

describe("the README's program works when it is pasted", () => {
  const [inZooKeeper, inDynamoDB, inKubernetes] = [useZooKeeper(), useDynamoDB(), useKubernetes()];

  it.each([
    ["zookeeper", "ZOOKEEPER_URL", inZooKeeper],
    ["dynamodb", "DYNAMODB_URL", inDynamoDB],
    ["kubernetes", "KUBERNETES_URL", inKubernetes],
  ])("about %s", (store, variable, server) => {
    const { status, stdout, stderr } = runFromReadme(store, { [variable]: server.url(), NODE_NO_WARNINGS: "1" });
    expect([status, stdout], stderr).toEqual([0, expect.stringMatching(/^leading with token \d+$/m)]);
  });
});

/** The block of the README that imports this store, as a user has pasted it. */
function runFromReadme(store: string, env: NodeJS.ProcessEnv): SpawnSyncReturns<string> {
  const readme = readFileSync(path.join(root, "README.md"), "utf8");
  const blocks = [...readme.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, program = ""]) => program);
  const program =
    blocks.find((each) => each.includes(`from "conclave/stores/${store}"`)) ?? "throw new Error('no block')";
  return spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, ...env },
    timeout: 30_000,
  });
}
