// `conclave list` on every store that can list: elections that were led, and what is none.
import { afterAll, describe, expect, it } from "vitest";
import { createCandidate, openStore, semaphore } from "conclave";
import { memory } from "conclave/stores/memory";
import { postgresSchema } from "conclave/stores/postgres";
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

const STORES: readonly (readonly [name: string, url: () => Promise<string>])[] = [
  ["sqlite", () => Promise.resolve(`sqlite:${cli.file("list.db")}`)],
  ["postgres", () => newDatabase(databases().urls[0] ?? "", postgresSchema())],
  ["etcd", () => Promise.resolve(urlOf(members()))],
  ["zookeeper", () => Promise.resolve(zookeeperUrl(ensemble()))],
];

describe.each(STORES)("%s", (name, url) => {
  it("no elections, then those with a leader, in order, and as many as were asked for", PATIENT, async () => {
    const store = await url();
    const none = await cli.run(["list", "--store", store]);
    expect(none).toMatchObject({ code: 1, stdout: "no elections\n" });
    const candidate = createCandidate({ store: await openStore(store), id: "web", ttlMs: 60_000, unfenced: true });
    const terms = await Promise.all(["b/c", "a b", "ä"].map((election) => candidate.election(election).campaign()));
    const all = await cli.run(["list", "--store", store, "--json"]);
    expect(all.code).toBe(0);
    const { elections, isWhole } = JSON.parse(all.stdout) as {
      elections: { election: string; leader: object }[];
      isWhole: boolean;
    };
    expect(elections.map(({ election }) => election)).toEqual(["a b", "b/c", "ä"]);
    expect(elections.map(({ leader }) => leader)).toMatchObject([
      { id: candidate.id },
      { id: candidate.id },
      { id: candidate.id },
    ]);
    expect(isWhole).toBe(true);
    const one = await cli.run(["list", "--store", store, "--most", "1"]);
    expect(one.stdout).toMatch(/^web_\S+ leads "a b" with token \d+\n$/);
    expect(one.stderr).toContain("there are more than 1");
    await Promise.all(terms.map((term) => term.resign()));
    await candidate.close();
    const after = await cli.run(["list", "--store", store]);
    expect(after.stdout).toBe(
      name === "etcd" || name === "zookeeper"
        ? "no elections\n"
        : `nobody leads "a b"\nnobody leads "b/c"\nnobody leads "ä"\n`,
    );
  });
});

it("shows the seats of a semaphore together, without their tokens", PATIENT, async () => {
  const url = `sqlite:${cli.file("semaphores.db")}`;
  const open = async (id: string) =>
    semaphore("import/ers", { store: await openStore(url), id, permits: 3, ttlMs: 60_000, unfenced: true });
  const [one, two] = [await open("web-1"), await open("web-2")];
  const permits = [await one.campaign(), await two.campaign()];
  await permits[0]?.announce("10.0.0.1");
  const { stdout } = await cli.run(["list", "--store", url, "--json"]);
  const holders = permits
    .map(({ seat, candidate }, place) => ({ seat, id: candidate, value: place === 0 ? "10.0.0.1" : null }))
    .toSorted((a, b) => a.seat - b.seat);
  expect(JSON.parse(stdout)).toEqual({
    elections: [],
    semaphores: [{ semaphore: "import/ers", holders }],
    isWhole: true,
  });
  const said = await cli.run(["list", "--store", url]);
  expect(said.stdout).toMatch(
    /^2 hold a permit of the semaphore "import\/ers": web-\S+ \(seat \d.*\), web-\S+ \(seat \d.*\)\n$/,
  );
  await Promise.all([one.close({ drainMs: 0 }), two.close({ drainMs: 0 })]);
  expect((await cli.run(["list", "--store", url])).stdout).toBe(
    `nobody holds a permit of the semaphore "import/ers"\n`,
  );
});

it("makes no file where there is none, and says that there is none", PATIENT, async () => {
  const { code, stdout, stderr } = await cli.run(["list", "--store", `sqlite:${cli.file("none.db")}`]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "no elections\n" });
  expect(stderr).toContain(`conclave list: there is no file ${cli.file("none.db")} yet\n`);
});

it("a store that refuses is told with its own code, and with what to do", PATIENT, async () => {
  const denied = (databases().urls[0] ?? "").replace(/\/\/[^@]*@/, "//nobody:wrong@");
  const { code, stdout, stderr } = await cli.run(["list", "--store", denied]);
  expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
  expect(stderr).toMatch(
    /conclave list: STORE_DENIED: postgres: .*does not accept this user or password.*Check the URL/,
  );
});

it("memory lists what was claimed in this process", async () => {
  const store = memory();
  const candidate = createCandidate({ store, ttlMs: 10_000 });
  await (await candidate.election("x").campaign()).resign();
  const call = { signal: AbortSignal.timeout(1000), sentAtMs: 0 };
  expect(await (store as unknown as { listNames(most: number, call: object): unknown }).listNames(10, call)).toEqual({
    kind: "listed",
    names: ["x"],
    isWhole: true,
  });
  await candidate.close();
});
