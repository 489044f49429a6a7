// `conclave fence adopt` as a process, on real files: the command that a refusal names is the one that mends it, and nothing else is changed.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { fileFence, sqliteFence } from "conclave/fencing";
import { token } from "../fencing/tokens.ts";
import { Database } from "../sqlite/by-hand.ts";
import { CommandLine } from "./command.ts";

const cli = new CommandLine();
afterAll(() => cli.end());

const OLD = { token: token(41, "b", "etcd-1") };
const NEW = { token: token(3, "c", "etcd-2") };

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
    const { code, stdout, stderr } = await adopt("ledger", "--sqlite", place, "--from", "etcd-9", "--to", "etcd-2");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(`it knows tokens of etcd-1, not of etcd-9. Nothing was changed.`);
    withFence((database) => sqliteFence().raise(database, "ledger", OLD));
  });

  it("refuses with 1 a resource that is not known, and a database without a fence", async () => {
    withFence((database) => sqliteFence().raise(database, "ledger", OLD));
    const move = ["--from", "etcd-1", "--to", "etcd-2"];
    expect(await adopt("leger", "--sqlite", place, ...move)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("has met no token yet"),
    });
    expect(await adopt("ledger", "--sqlite", place, "--table", "other", ...move)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("there is no table other"),
    });
  });

  it("exits 3 where there is no such file, and makes none; and where it is no database", async () => {
    const move = ["--from", "etcd-1", "--to", "etcd-2"];
    expect(await adopt("ledger", "--sqlite", place, ...move)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`there is no ${place}`),
    });
    expect(existsSync(place)).toBe(false);
    writeFileSync(place, "a letter to my aunt. ".repeat(100));
    expect(await adopt("ledger", "--sqlite", place, ...move)).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/not a database.*run it again/),
    });
  });
});

describe("of a fenced file", () => {
  it("the command that the refusal names admits the new store, and the content stays", async () => {
    const fence = fileFence(place, "price list");
    await fence.write("ten", OLD);
    const command = commandIn(await messageOf(() => fence.write("twelve", NEW)));
    expect(command).toEqual(["fence", "adopt", "price list", "--folder", place, "--from", "etcd-1", "--to", "etcd-2"]);
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
    expect(await adopt("x", "--folder", place, "--from", "a", "--to", "b")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("has met no token yet"),
    });
  });
});

it.each([
  [["fence"], /say what to do: adopt/],
  [["fence", "drop", "x"], /there is no "fence drop"/],
  [["fence", "adopt", "--sqlite", "f", "--from", "a", "--to", "b"], /RESOURCE is missing/],
  [["fence", "adopt", "x", "--sqlite", "f", "--from", "a"], /--from and --to are needed/],
  [["fence", "adopt", "x", "--sqlite", "f", "--from", "a", "--to", "a"], /are both a/],
  [["fence", "adopt", "x", "--from", "a", "--to", "b"], /one of --sqlite FILE and --folder FOLDER/],
  [["fence", "adopt", "x", "--sqlite", "f", "--folder", "g", "--from", "a", "--to", "b"], /one of/],
  [["fence", "adopt", "x", "--folder", "g", "--table", "t", "--from", "a", "--to", "b"], /--table goes with --sqlite/],
  [["fence", "adopt", "x", "--sqlite", "f", "--table", "a;b", "--from", "a", "--to", "b"], /no plain name for a table/],
])("exits 2 for %j, with nothing on stdout", async (args, said) => {
  const { code, stdout, stderr } = await cli.run(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(said);
});

function adopt(...args: string[]): ReturnType<CommandLine["run"]> {
  return cli.run(["fence", "adopt", ...args]);
}
