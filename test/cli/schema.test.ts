// `conclave schema postgres`, piped into the real psql: as an owner, with a role that may only stand, twice, over what is not ours.
import { spawnSync } from "node:child_process";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createCandidate } from "conclave";
import { postgresFence } from "conclave/fencing/postgres";
import { postgres } from "conclave/stores/postgres";
import pg from "pg";
import * as server from "../../scripts/servers/postgres.mjs";
import { help, run } from "../../src/cli/schema.ts";
import { by } from "../fencing/tokens.ts";
import { useServers } from "../support/servers.ts";
import { byHand } from "../stores/postgres/stage.ts";

const servers = useServers(server);
let printed = "";
beforeEach(() => {
  printed = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => ((printed += String(text)), true));
});
afterEach(() => {
  vi.restoreAllMocks();
});

let databases = 0;
async function emptyDatabase(): Promise<string> {
  const [url = ""] = servers().urls;
  const name = `schema_${++databases}`;
  await byHand(url, `CREATE DATABASE ${name}`);
  return url.replace(/[^/]*$/, name);
}

async function schema(...args: string[]): Promise<string> {
  printed = "";
  expect(await run(["postgres", ...args])).toBe(0);
  return printed;
}

function psql(url: string, sql: string): { readonly status: number | null; readonly stderr: string } {
  return spawnSync("psql", ["-q", "-v", "ON_ERROR_STOP=1", url], { input: sql, encoding: "utf8" });
}

describe("conclave schema postgres", () => {
  it("makes what an owner needs, and changes nothing the second time", async () => {
    const url = await emptyDatabase();
    const sql = await schema();
    expect(psql(url, sql)).toMatchObject({ status: 0 });
    await using candidate = createCandidate({ store: postgres(url) });
    const token = await candidate.election("x").lead(async (term) => term.token);
    expect(psql(url, sql)).toMatchObject({ status: 0 });
    const next = await candidate.election("x").lead(async (term) => term.token);
    expect([next?.domain, next?.value]).toEqual([token?.domain, 2n]);
    expect(token?.domain).toMatch(/^postgres-[0-9a-f-]{36}$/);
  });

  it("says that it cannot update tables from before the first release, and changes nothing", async () => {
    const url = await emptyDatabase();
    const sql = await schema();
    expect(psql(url, sql)).toMatchObject({ status: 0 });
    await byHand(url, "ALTER TABLE conclave.seat DROP COLUMN last_session CASCADE");
    const again = psql(url, sql);
    expect(again.status).toBe(3);
    expect(again.stderr).toMatch(/from before the first release.*Nothing was changed/);
  });

  it("lets a role stand that may do nothing else, and guard rows", async () => {
    const url = await emptyDatabase();
    await byHand(url, "CREATE ROLE app LOGIN PASSWORD 'secret'");
    expect(psql(url, await schema("--grant", "app", "--fence"))).toMatchObject({ status: 0 });
    const asApp = url.replace("postgres@", "app:secret@");
    await using candidate = createCandidate({ store: postgres(asApp) });
    expect(await candidate.election("x").lead(async (term) => term.token.value)).toBe(1n);
    const client = new pg.Client(asApp);
    await client.connect();
    await client.query("BEGIN");
    await postgresFence().admit(client, "ledger", by(1));
    await client.query("COMMIT");
    await client.end();
    for (const sql of [
      "DELETE FROM conclave.counter",
      "DROP TABLE conclave.seat",
      "UPDATE conclave.meta SET domain = 'x'",
    ])
      await expect(byHand(asApp, sql)).rejects.toThrow(/permission denied|must be owner/);
  });

  it("goes where it is told", async () => {
    const url = await emptyDatabase();
    expect(psql(url, await schema("--schema", "votes"))).toMatchObject({ status: 0 });
    await using candidate = createCandidate({ store: postgres(`${url}?conclave_schema=votes`) });
    expect(await candidate.election("x").lead(async (term) => term.token.value)).toBe(1n);
    expect(await byHand(url, "SELECT name, state, candidate FROM votes.place")).toEqual([
      { name: "x", state: "free", candidate: null },
    ]);
  });

  it("does nothing to tables of another layout", async () => {
    const url = await emptyDatabase();
    expect(psql(url, await schema())).toMatchObject({ status: 0 });
    await byHand(url, "UPDATE conclave.meta SET layout = 7; ALTER TABLE conclave.seat ADD COLUMN later int");
    const again = psql(url, await schema());
    expect(again.status).not.toBe(0);
    expect(again.stderr).toMatch(/has layout 7, and this script is for layout 1. Nothing was changed/);
  });

  it("prints JSON for programs, and says what it does not understand", async () => {
    const shown = JSON.parse(await schema("--json", "--grant", 'o"dd')) as { sql: string; role: string };
    expect(shown).toMatchObject({ store: "postgres", schema: "conclave", role: 'o"dd', fence: false });
    expect(shown.sql).toContain('TO "o""dd";');
    // main.ts makes an exit code of them, and shows the help.
    await expect(async () => await run(["mysql"])).rejects.toThrow(/mysql has no schema: postgres/);
    await expect(async () => await run(["postgres", "--schema", "no good"])).rejects.toThrow(/not a plain name/);
    expect(help).toContain("--grant ROLE");
  });
});

describe("conclave schema kubernetes", () => {
  it("prints the manifest of the rights, for a namespace and a service account", async () => {
    expect(await run(["kubernetes", "--namespace", "shop", "--grant", "billing"])).toBe(0);
    expect(printed).toContain("kind: Role\n");
    expect(printed).toContain("  name: conclave-billing\n  namespace: shop\n");
    printed = "";
    expect(await run(["kubernetes", "--json"])).toBe(0);
    expect(JSON.parse(printed)).toMatchObject({ store: "kubernetes", namespace: "default", role: "default" });
  });

  it("takes no flag of the other store", async () => {
    await expect(run(["kubernetes", "--fence"])).rejects.toThrow("--fence is of postgres");
    await expect(run(["postgres", "--namespace", "shop"])).rejects.toThrow("--namespace is of kubernetes");
  });
});

describe("conclave schema dynamodb", () => {
  it("prints the table as CloudFormation, with the command that makes it; --json has it as a text", async () => {
    expect(await run(["dynamodb", "--table", "votes"])).toBe(0);
    expect(printed).toMatch(/^# The table of conclave's elections[\s\S]*aws dynamodb create-table --table-name votes/);
    const template = printed;
    printed = "";
    expect(await run(["dynamodb", "--table", "votes", "--json"])).toBe(0);
    expect(JSON.parse(printed)).toEqual({ store: "dynamodb", table: "votes", template });
    await expect(run(["dynamodb", "--grant", "app"])).rejects.toThrow("--grant is of postgres");
    await expect(run(["postgres", "--table", "votes"])).rejects.toThrow("--table is of dynamodb");
  });
});
