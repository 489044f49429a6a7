// `conclave fence adopt` and `conclave fence lower` as a process, on real files: the command that a refusal names is the one that mends it, and nothing else is changed.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { fileFence, sqliteFence } from "conclave/fencing";
import { etcdFence } from "conclave/fencing/etcd";
import { postgresFence } from "conclave/fencing/postgres";
import * as etcdServer from "../../scripts/servers/etcd.mjs";
import * as postgresServer from "../../scripts/servers/postgres.mjs";
import { urlOf } from "../stores/etcd/etcd.ts";
import { token } from "../fencing/tokens.ts";
import { byHand, newDatabase } from "../stores/postgres/stage.ts";
import { CLIENTS } from "../fencing/transactions.ts";
import { useServers } from "../support/servers.ts";
import { Database } from "../stores/sqlite/by-hand.ts";
import { CommandLine } from "./command.ts";

const cli = new CommandLine();
afterAll(() => cli.end());

const OLD = { token: token(41, "b", "etcd-1") };
const NEW = { token: token(3, "c", "etcd-2") };
const MOVE = ["--from", "etcd-1", "--to", "etcd-2"];

let place = "";
let places = 0;
beforeEach(() => {
  place = cli.file(`${++places}`);
});

/** What a refusal tells its reader to run, as words. */
function commandIn(message: string): readonly string[] {
  const [, command = ""] = /run {2}npx conclave (.*?) {2}once/.exec(message) ?? [];
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
}

async function messageOf(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    return (error as Error).message;
  }
  return "nothing was refused";
}

describe("of a database", () => {
  function withFence<R>(act: (database: InstanceType<typeof Database>) => R, table?: string): R {
    const database = new Database(place);
    try {
      database.exec(sqliteFence({ table }).schema());
      return act(database);
    } finally {
      database.close();
    }
  }

  it.each([
    ["ledger", undefined],
    ["the year's ledger", "fences"],
  ])("of %j in %s: the command that the refusal names admits the new store, once for all", async (resource, table) => {
    const fence = sqliteFence({ table });
    withFence((database) => fence.raise(database, resource, OLD), table);
    const refusal = await messageOf(() => withFence((database) => fence.raise(database, resource, NEW), table));
    const command = commandIn(refusal.replaceAll(String.raw`'\''`, "’")).map((word) => word.replaceAll("’", "'"));
    expect(command.slice(0, 3)).toEqual(["fence", "adopt", resource]);
    const shown = await cli.run(command);
    expect(shown).toMatchObject({
      code: 0,
      stdout: `"${resource}" in ${place} knew tokens of etcd-1, up to 41.\nFrom now on it takes those of etcd-2, and refuses those of etcd-1.\n`,
    });
    withFence((database) => fence.raise(database, resource, NEW), table);
    expect(await messageOf(() => withFence((database) => fence.raise(database, resource, OLD), table))).toContain(
      "has left etcd-1",
    );
    const again = await cli.run([...command, "--json"]);
    expect(JSON.parse(again.stdout)).toEqual({
      resource,
      place,
      changed: false,
      from: { domain: "etcd-1", value: "41" },
      to: { domain: "etcd-2", value: "3" },
    });
    expect(again.code).toBe(0);
  });

  it("refuses with 1 what is not the present domain, and changes nothing", async () => {
    withFence((database) => sqliteFence().raise(database, "ledger", OLD));
    const { code, stdout, stderr } = await adopt(
      "ledger",
      "--guard",
      `sqlite:${place}`,
      "--from",
      "etcd-9",
      "--to",
      "etcd-2",
    );
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(`it knows tokens of etcd-1, not of etcd-9. Nothing was changed.`);
    withFence((database) => sqliteFence().raise(database, "ledger", OLD));
  });

  it("refuses with 1 a resource that is not known, and a database without a fence", async () => {
    withFence((database) => sqliteFence().raise(database, "ledger", OLD));
    const move = ["--from", "etcd-1", "--to", "etcd-2"];
    expect(await adopt("leger", "--guard", `sqlite:${place}`, ...move)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("has met no token yet"),
    });
    expect(await adopt("ledger", "--guard", `sqlite:${place}`, "--table", "other", ...move)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("there is no table other"),
    });
  });

  it("exits 3 where there is no such file, and makes none; and where it is no database", async () => {
    const move = ["--from", "etcd-1", "--to", "etcd-2"];
    expect(await adopt("ledger", "--guard", `sqlite:${place}`, ...move)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`there is no ${place}`),
    });
    expect(existsSync(place)).toBe(false);
    writeFileSync(place, "a letter to my aunt. ".repeat(100));
    expect(await adopt("ledger", "--guard", `sqlite:${place}`, ...move)).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/not a database.*run it again/),
    });
  });
});

describe("conclave fence lower", () => {
  const HUGE = { token: token(9000, "huge", "etcd-1") };
  const LOWER = ["--domain", "etcd-1", "--from", "9000", "--to", "40"];
  const lower = (...args: readonly string[]): ReturnType<CommandLine["run"]> => cli.run(["fence", "lower", ...args]);

  it("lets the present leader in again after a token that no store has granted, and changes nothing the second time", async () => {
    const fence = fileFence(place, "prices");
    await fence.write("ten", OLD);
    await fence.raise(HUGE);
    expect(await messageOf(() => fence.write("twelve", OLD))).toContain("has seen token 9000");
    expect(await lower("prices", "--guard", `file:${place}`, ...LOWER)).toMatchObject({
      code: 0,
      stdout: `"prices" in ${place} knew token 9000 of etcd-1.\nFrom now on it takes those above 40.\n`,
    });
    await fence.write("twelve", OLD);
    expect((await fence.read())?.content.toString()).toBe("twelve");
    const again = await lower("prices", "--guard", `file:${place}`, ...LOWER, "--json");
    expect([again.code, JSON.parse(again.stdout)]).toEqual([
      0,
      {
        resource: "prices",
        place,
        changed: false,
        from: { domain: "etcd-1", value: "9000" },
        to: { domain: "etcd-1", value: "41" },
      },
    ]);
  });

  it("refuses with 1 a value that the guard does not know, and with 2 what is no repair", async () => {
    const fence = fileFence(place, "prices");
    await fence.raise(HUGE);
    const guard = ["prices", "--guard", `file:${place}`, "--domain", "etcd-1"];
    expect(await lower(...guard, "--from", "50", "--to", "40")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("it knows token 9000 of etcd-1, not 50 of etcd-1. Nothing was changed."),
    });
    expect((await lower(...guard, "--from", "40", "--to", "50")).code).toBe(2);
    expect((await lower(...guard, "--from", "forty", "--to", "1")).code).toBe(2);
    expect((await lower("prices", "--guard", `file:${place}`, "--from", "9000", "--to", "1")).code).toBe(2);
  });
});

describe("of a fenced file", () => {
  it("the command that the refusal names admits the new store, and the content stays", async () => {
    const fence = fileFence(place, "price list");
    await fence.write("ten", OLD);
    const command = commandIn(await messageOf(() => fence.write("twelve", NEW)));
    expect(command).toEqual([
      "fence",
      "adopt",
      "price list",
      "--guard",
      `file:${place}`,
      "--from",
      "etcd-1",
      "--to",
      "etcd-2",
    ]);
    const shown = await cli.run([...command, "--json"]);
    expect(JSON.parse(shown.stdout)).toEqual({
      resource: "price list",
      place,
      changed: true,
      from: { domain: "etcd-1", value: "41" },
      to: { domain: "etcd-2", value: null },
    });
    expect((await fence.read())?.content.toString()).toBe("ten");
    await fence.write("twelve", NEW);
    expect(await messageOf(() => fence.write("nine", OLD))).toContain("has left etcd-1");
    expect((await fence.read())?.content.toString()).toBe("twelve");
  });

  it("refuses with 1 a file that has met no token", async () => {
    mkdirSync(place);
    expect(await adopt("x", "--guard", `file:${place}`, "--from", "a", "--to", "b")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("has met no token yet"),
    });
  });
});

const [members, databases] = [useServers(etcdServer), useServers(postgresServer)];

describe.each(["etcd", "postgres"] as const)("of a fence in %s", (kind) => {
  const options = { etcd: { prefix: "guards/" }, postgres: { table: "guards" } };
  const [, openClient] = CLIENTS[0] ?? [];

  /** Raises a token there; as the guard itself would. */
  async function raiseAt(url: string, resource: string, by: typeof OLD, other: boolean): Promise<void> {
    if (kind === "etcd") {
      const fence = etcdFence(url, other ? options.etcd : {});
      try {
        await fence.raise(resource, by);
      } finally {
        await fence.close();
      }
      return;
    }
    const client = openClient?.(url);
    const fence = postgresFence(other ? options.postgres : {});
    try {
      await client?.transact((transaction) => fence.raise(transaction, resource, by));
    } finally {
      await client?.end();
    }
  }

  async function server(): Promise<string> {
    if (kind === "etcd") return urlOf(members());
    const url = await newDatabase(databases().urls[0] ?? "");
    await byHand(url, postgresFence(options.postgres).schema());
    return url;
  }

  it.each([
    ["ledger", false],
    ["the year's ledger", true],
  ])("of %j: the command that the refusal names admits the new store, once for all", async (resource, other) => {
    const url = await server();
    await raiseAt(url, resource, OLD, other);
    const refusal = await messageOf(() => raiseAt(url, resource, NEW, other));
    const command = commandIn(refusal.replaceAll(String.raw`'\''`, "’"))
      .map((word) => word.replaceAll("’", "'"))
      .map((word) => (word === '"$DATABASE_URL"' ? url : word));
    expect(command.slice(0, 5)).toEqual(["fence", "adopt", resource, "--guard", url]);
    const where = url.replace("postgres@", "");
    expect(await cli.run(command)).toMatchObject({
      code: 0,
      stderr: "",
      stdout: `"${resource}" in ${where} knew tokens of etcd-1, up to 41.\nFrom now on it takes those of etcd-2, and refuses those of etcd-1.\n`,
    });
    await raiseAt(url, resource, NEW, other);
    expect(await messageOf(() => raiseAt(url, resource, OLD, other))).toContain("has left etcd-1");
    const again = await cli.run([...command, "--json"]);
    expect(JSON.parse(again.stdout)).toEqual({
      resource,
      place: where,
      changed: false,
      from: { domain: "etcd-1", value: "41" },
      to: { domain: "etcd-2", value: "3" },
    });
    expect(again.code).toBe(0);
  });

  it("refuses with 1 what is not the present domain, and what has met no token", async () => {
    const [url, move] = [await server(), ["--from", "etcd-9", "--to", "etcd-2"]];
    await raiseAt(url, "known", OLD, false);
    expect(await adopt("known", "--guard", url, ...move)).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/it knows tokens of etcd-1, not of etcd-9\. Nothing was changed\.\n$/),
    });
    expect(await adopt("unknown", "--guard", url, ...move)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("has met no token yet"),
    });
    await raiseAt(url, "known", OLD, false);
  });

  it("exits 3 where nobody answers, in one line that shows no password", async () => {
    const { code, stdout, stderr } = await adopt("x", "--guard", `${kind}://app:secret@127.0.0.1:1/db`, ...MOVE);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toMatch(/^conclave fence adopt: STORE_UNREACHABLE: [^\n]*127\.0\.0\.1:1[^\n]*\n$/);
    expect(stderr).not.toContain("secret");
  });
});

it("exits 1 where the database has no such table", async () => {
  const url = await newDatabase(databases().urls[0] ?? "");
  expect(await adopt("x", "--guard", url, "--table", "other", ...MOVE)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("CONFIG_INVALID: postgresFence: there is no table other"),
  });
});

it.each([
  [["fence"], /say what to do: adopt/],
  [["fence", "drop", "x"], /there is no "fence drop"/],
  [["fence", "adopt", "--guard", "sqlite:f", "--from", "a", "--to", "b"], /RESOURCE is missing/],
  [["fence", "adopt", "x", "--guard", "sqlite:f", "--from", "a"], /--from and --to are needed/],
  [["fence", "adopt", "x", "--guard", "sqlite:f", "--from", "a", "--to", "a"], /are both a/],
  [["fence", "adopt", "x", "--from", "a", "--to", "b"], /--guard URL is needed/],
  [["fence", "adopt", "x", "--guard", "memory:", ...MOVE], /no command reaches one in memory/],
  [
    ["fence", "adopt", "x", "--guard", "file:g", "--table", "t", "--from", "a", "--to", "b"],
    /--table goes with a guard in sqlite or postgres/,
  ],
  [["fence", "adopt", "x", "--guard", "file:g", "--prefix", "p", ...MOVE], /--prefix goes with a guard in etcd/],
  [["fence", "adopt", "x", "--guard", "db", ...MOVE], /begins with none of the known schemes.*postgres:/],
  [
    ["fence", "adopt", "x", "--guard", "sqlite:f", "--table", "a;b", "--from", "a", "--to", "b"],
    /no plain name for a table/,
  ],
])("exits 2 for %j, with nothing on stdout", async (args, said) => {
  const { code, stdout, stderr } = await cli.run(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(said);
});

function adopt(...args: string[]): ReturnType<CommandLine["run"]> {
  return cli.run(["fence", "adopt", ...args]);
}
