// `conclave memo` as a process: what it prints of the memos of an election, how it follows one, and how it ends.
import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCandidate } from "conclave";
import { etcd } from "conclave/stores/etcd";
import { postgres, postgresSchema } from "conclave/stores/postgres";
import { sqlite } from "conclave/stores/sqlite";
import { zookeeper } from "conclave/stores/zookeeper";
import * as etcdServer from "../../scripts/servers/etcd.mjs";
import * as postgresServer from "../../scripts/servers/postgres.mjs";
import * as zookeeperServer from "../../scripts/servers/zookeeper.mjs";
import { urlOf } from "../stores/etcd/etcd.ts";
import { urlOf as zookeeperUrl } from "../stores/zookeeper/zookeeper.ts";
import { newDatabase } from "../stores/postgres/stage.ts";
import { useServers } from "../support/servers.ts";
import { CommandLine } from "./command.ts";

const PATIENT = { timeout: 60_000 };
const cli = new CommandLine();
afterAll(() => cli.end());
const members = useServers(etcdServer);
const databases = useServers(postgresServer);
const ensemble = useServers(zookeeperServer);
let database = "";
beforeAll(async () => {
  database = await newDatabase(databases().urls[0] ?? "", postgresSchema());
});

const json = (text: string): unknown => JSON.parse(text);

describe.each([
  ["sqlite", () => `sqlite:${cli.file("memos.db")}`, () => sqlite(cli.file("memos.db"))],
  ["etcd", () => urlOf(members()), () => etcd(urlOf(members()))],
  ["postgres", () => database, () => postgres(database)],
  ["zookeeper", () => zookeeperUrl(ensemble()), () => zookeeper(zookeeperUrl(ensemble()))],
] as const)("conclave memo on %s", (_name, url, open) => {
  it("prints all memos of an election, or one, also when its term is over", PATIENT, async () => {
    const ask = (...args: string[]) => cli.run(["memo", ...args, "--store", url()]);
    const candidate = createCandidate({ store: open(), ttlMs: 60_000 });
    const term = await candidate.election("billing").campaign();
    expect(await ask("billing")).toMatchObject({ code: 1, stdout: '"billing" has no memos\n' });
    expect(json((await ask("billing", "--json")).stdout)).toEqual({ election: "billing", memos: [] });
    await term.memo("step", "one");
    await term.memo("step", "two\u001B[2J");
    await term.memo("last day", "2026-11-16");
    await term.resign();
    await candidate.close();
    const token = `${term.token.value}`;
    const step = { key: "step", value: "two\u001B[2J", token, n: 2 };
    const day = { key: "last day", value: "2026-11-16", token, n: 1 };
    const all = await ask("billing", "--json");
    expect(json(all.stdout)).toEqual({ election: "billing", memos: [day, step] });
    expect(all.code).toBe(0);
    const said = `"step" is "two\\u001b[2J", written with token ${token}, n 2\n`;
    const both = `"last day" is "2026-11-16", written with token ${token}, n 1\n${said}`;
    expect(await ask("billing")).toMatchObject({ code: 0, stdout: both });
    expect(await ask("billing", "step")).toMatchObject({ code: 0, stdout: said });
    const alone = await ask("billing", "step", "--json");
    expect(json(alone.stdout)).toEqual({ election: "billing", key: "step", memo: step });
    expect(await ask("billing", "x")).toMatchObject({ code: 1, stdout: '"billing" has no memo "x"\n' });
    const none = await ask("other", "step", "--json");
    expect(json(none.stdout)).toEqual({ election: "other", key: "step", memo: null });
    expect(none.code).toBe(1);
  });

  it("--watch prints each change of one memo until it is told to stop", PATIENT, async () => {
    const watch = await cli.start(["memo", "watched", "step", "--watch", "--json", "--store", url()]);
    await watch.lines(1);
    const candidate = createCandidate({ store: open(), ttlMs: 60_000 });
    const term = await candidate.election("watched").campaign();
    await term.memo("other", "unseen");
    await term.memo("step", "one");
    await watch.lines(2);
    await term.memo("step", "two");
    const lines = (await watch.lines(3)).map((line) => json(line));
    const token = `${term.token.value}`;
    const at = expect.stringMatching(/^\d{4}-\S+Z$/);
    expect(lines).toEqual([
      { at, election: "watched", key: "step", memo: null },
      { at, election: "watched", key: "step", memo: { key: "step", value: "one", token, n: 1 } },
      { at, election: "watched", key: "step", memo: { key: "step", value: "two", token, n: 2 } },
    ]);
    watch.signal("SIGTERM");
    expect(await watch.ended).toMatchObject({ code: 0 });
    await term.resign();
    await candidate.close();
  });
});

it("makes no file where there is none, and exits 1", PATIENT, async () => {
  const file = cli.file("none.db");
  for (const args of [["x"], ["x", "k"]]) {
    const { code, stderr } = await cli.run(["memo", ...args, "--store", `sqlite:${file}`]);
    expect(code).toBe(1);
    expect(stderr).toContain(`there is no file ${file} yet`);
  }
  expect(existsSync(file)).toBe(false);
});

it("a watch in words ends with 130 on SIGINT", PATIENT, async () => {
  const watch = await cli.start(["memo", "x", "k", "--watch", "--store", `sqlite:${cli.file("words.db")}`]);
  expect(await watch.lines(1)).toEqual([expect.stringMatching(/^\d{4}-\S+Z {2}"x" has no memo "k"$/)]);
  watch.signal("SIGINT");
  expect((await watch.ended).code).toBe(130);
});

it("exits 3 where the store does not answer", PATIENT, async () => {
  for (const args of [["x"], ["x", "k"]]) {
    const { code, stdout, stderr } = await cli.run(["memo", ...args, "--store", "etcd://127.0.0.1:1"]);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toMatch(/conclave memo: STORE_(?:UNREACHABLE|TIMEOUT): /);
  }
});

it.each([
  [["memo"], /NAME is missing/],
  [["memo", "a", "b", "c"], /one NAME and one KEY at a time: a b c/],
  [["memo", "a", "--watch"], /--watch follows one memo: conclave memo NAME KEY/],
  [["memo", "\u0001"], /is not a name for an election/],
  [["memo", "a", "\u0001"], /is not a key of a memo/],
  [["memo", "a", "\u0001", "--watch"], /is not a key of a memo/],
])("exits 2 for %j, with nothing on stdout", PATIENT, async (args, said) => {
  const { code, stdout, stderr } = await cli.run([...args, "--store", `sqlite:${cli.file("memos.db")}`]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(said);
});
