// The command line on real servers, with what people get wrong: every message is one line with its code, says what to do and shows no password; the exit code is the
// documented one; and it ends, at once where nothing will mend it, and when it is told to where it tries again.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresSchema } from "conclave/stores/postgres";
import * as dynamodbServer from "../../scripts/servers/dynamodb.mjs";
import * as etcdServer from "../../scripts/servers/etcd.mjs";
import * as kubernetesServer from "../../scripts/servers/kubernetes.mjs";
import * as postgresServer from "../../scripts/servers/postgres.mjs";
import * as redisServer from "../../scripts/servers/redis.mjs";
import * as zookeeperServer from "../../scripts/servers/zookeeper.mjs";
import { urlOf } from "../stores/etcd/etcd.ts";
import { byHand, newDatabase } from "../stores/postgres/stage.ts";
import { urlOf as zookeeperUrl } from "../stores/zookeeper/zookeeper.ts";
import { useServers } from "../support/servers.ts";
import { kill } from "../supervisor/stage.ts";
import { CommandLine, type Ended } from "./command.ts";

const cli = new CommandLine();
afterAll(() => cli.end());
const members = useServers(etcdServer);
const databases = useServers(postgresServer, { nodes: 2 });
let database = "";
beforeAll(async () => {
  const [server = ""] = databases().urls;
  database = await newDatabase(server, postgresSchema());
  await byHand(server, "CREATE ROLE app LOGIN PASSWORD 'geheim'");
  await byHand(server, "CREATE DATABASE empty");
});

const ensemble = useServers(zookeeperServer);
const keys = useServers(redisServer, { password: "geheim" });
const cluster = useServers(kubernetesServer, { tokens: { geheim: "anna" } });
const tables = useServers(dynamodbServer);
beforeAll(async () => {
  const { code } = await cli.run(["run", "x", "--store", mine("anna:geheim"), "--", "true"]);
  expect(code).toBe(0);
});

const as = (user: string): string => database.replace("postgres@", `${user}@`);
/** Below a node that belongs to anna. */
const mine = (user: string): string =>
  zookeeperUrl(ensemble(), { chroot: "/mine" }).replace("zookeeper://", `zookeeper://${user}@`);
const keysAs = (password: string): string => (keys().urls[0] ?? "").replace("redis://", `redis://:${password}@`);
const tablesAt = (table: string, endpoint = tables().nodes[0]?.url ?? ""): string =>
  `dynamodb://local:geheim@${table}?region=local&endpoint=${endpoint}`;
/** A kubeconfig with this token, and with another server if one is given. */
const clusterAs = (token: string, server?: string): string => {
  const kubeconfig = new URL(cluster().urls[0] ?? "").searchParams.get("kubeconfig") ?? "";
  const text = readFileSync(kubeconfig, "utf8").replace("token: geheim", `token: ${token}`);
  const file = cli.file(`kubeconfig-${++files}`);
  writeFileSync(file, server === undefined ? text : text.replace(/server: .*/, `server: ${server}`));
  return `kubernetes://${kubernetesServer.NAMESPACE}?kubeconfig=${encodeURIComponent(file)}`;
};
let files = 0;

type Row = readonly [what: string, url: () => string, said: RegExp];
const LASTING: readonly Row[] = [
  [
    "a wrong password",
    () => as("app:geheimnis"),
    /STORE_DENIED: .*does not accept this user or password.*Check the URL/,
  ],
  // pg itself would leave this connection open, and the process alive.
  ["no password", () => as("app"), /STORE_DENIED: .*password must be a string.*PGPASSWORD/],
  ["a missing right", () => as("app:geheim"), /STORE_DENIED: .*schema postgres --grant USER/],
  [
    "no tables, and none to be made",
    () => `${database.replace(/[^/]*$/, "empty")}?conclave_create_tables=false`,
    /STORE_UNSUPPORTED: .*run once.*npx conclave schema postgres/,
  ],
  [
    "no such database",
    () => database.replace(/[^/]*$/, "nope"),
    /STORE_UNREACHABLE: .*"nope" does not exist. Create it/,
  ],
  ["TLS that is not there", () => `${database}?sslmode=require`, /STORE_DENIED: .*does not speak TLS.*sslmode/],
  [
    "zookeeper with a wrong password",
    () => mine("anna:geheimnis"),
    /STORE_DENIED: .*setAcl -R \/mine .*A wrong password shows as a missing right/,
  ],
  [
    "zookeeper with no password",
    () => mine("x:y").replace("x:y@", ""),
    /STORE_DENIED: .*user and password into the URL/,
  ],
  [
    "redis with a wrong password",
    () => keysAs("geheimnis"),
    /STORE_DENIED: .*does not accept this user or password.*Check the URL/,
  ],
  ["redis with no password", () => keys().urls[0] ?? "", /STORE_DENIED: .*Write it into the URL/],
  ["kubernetes with a wrong token", () => clusterAs("geheimnis"), /STORE_DENIED: .*401/],
  ["dynamodb with no such table", () => tablesAt("nope"), /STORE_UNSUPPORTED: .*there is no table nope.*Make it once/],
];
const [NOBODY, NO_NAME] = ["127.0.0.1:1", "no-such-host.invalid"];
const PASSING: readonly Row[] = [
  ["etcd where nobody listens", () => "etcd://127.0.0.1:1", /STORE_UNREACHABLE: .*nothing listens there/],
  ["etcd over TLS that is not there", () => urlOf(members()).replace("etcd:", "etcds:"), /then write etcd:/],
  ["postgres where nobody listens", () => "postgres://app:geheim@127.0.0.1:1/x", /STORE_UNREACHABLE: .*address right/],
  [
    "zookeeper where nobody listens",
    () => `zookeeper://anna:geheim@${NOBODY}/mine`,
    /STORE_UNREACHABLE: .*nothing listens/,
  ],
  [
    "zookeeper at a name that is not there",
    () => `zookeeper://anna:geheim@${NO_NAME}`,
    /STORE_UNREACHABLE: .*not a name that/,
  ],
  ["redis where nobody listens", () => `redis://:geheim@${NOBODY}`, /STORE_UNREACHABLE: .*is the address right/],
  ["redis at a name that is not there", () => `redis://:geheim@${NO_NAME}`, /STORE_UNREACHABLE: .*not a name that/],
  [
    "kubernetes where nobody listens",
    () => clusterAs("geheim", `http://${NOBODY}`),
    /STORE_UNREACHABLE: .*nothing listens/,
  ],
  [
    "kubernetes at a name that is not there",
    () => clusterAs("geheim", `http://${NO_NAME}`),
    /STORE_UNREACHABLE: .*not a name/,
  ],
  [
    "dynamodb where nobody listens",
    () => tablesAt("conclave", `http://${NOBODY}`),
    /STORE_UNREACHABLE: .*Check region, endpoint/,
  ],
  [
    "dynamodb at a name that is not there",
    () => tablesAt("conclave", `http://${NO_NAME}`),
    /STORE_UNREACHABLE: .*ENOTFOUND/,
  ],
];

function expectOneLine({ stderr }: Ended, command: string, said: RegExp): void {
  expect(stderr).not.toMatch(/geheim/);
  const lines = stderr.trimEnd().split("\n");
  expect(lines.filter((line) => !/^(?:store |conclave[: ]|keeper |session |error )/.test(line))).toEqual([]);
  const own = lines.filter((line) => line.startsWith(`conclave ${command}: `));
  expect(own).toEqual([expect.stringMatching(said)]);
}

describe("what will not go away by itself", () => {
  const COMMANDS = [
    ["leader", ["x"], 3],
    ["observe", ["x"], 3],
    ["drill", ["--rounds", "1", "--faults", "crash"], 3],
    ["run", ["x", "--", "echo", "led"], 125],
  ] as const;
  const LEADS: readonly string[] = ["drill", "run"];

  it.concurrent.each(LASTING)(
    "%s: leader, observe and drill say so and exit 3, run exits 125",
    async (_, url, said) => {
      for (const [command, args, code] of COMMANDS) {
        const more = url().startsWith("redis:") && LEADS.includes(command) ? ["--unfenced"] : [];
        const ended = await cli.run([command, "--store", url(), ...more, ...args]);
        expect(ended, command).toMatchObject({ code, stdout: "" });
        expectOneLine(ended, command, said);
      }
    },
  );
});

describe("what may pass", () => {
  it.concurrent.each(PASSING)("%s: leader says so and exits 3, and claims not to go on", async (_, url, said) => {
    const ended = await cli.run(["leader", "x", "--store", url()]);
    expect(ended).toMatchObject({ code: 3, stdout: "" });
    expectOneLine(ended, "leader", said);
    expect(ended.stderr).not.toMatch(/tried again/);
  });

  it.concurrent.each(PASSING)(
    "%s: observe says so once, goes on, and ends when it is told to",
    async (_, url, said) => {
      const observing = await cli.start(["observe", "x", "--store", url()]);
      await expect.poll(() => observing.stderr, { timeout: 10_000 }).toMatch(/It is tried again\.\n$/);
      await new Promise((resolve) => setTimeout(resolve, 2000)); // and would have said it again
      observing.signal("SIGINT");
      const ended = await observing.ended;
      expect(ended).toMatchObject({ code: 130, stdout: "" });
      expectOneLine(ended, "observe", said);
    },
  );

  it("a replica: who leads can be read, and a process that wants to lead is told where to, once and in full", async () => {
    const replica = database.replace(/:\d+\//, `:${new URL(databases().urls[1] ?? "").port}/`);
    expect(await cli.run(["leader", "x", "--store", replica])).toMatchObject({ code: 1, stdout: 'nobody leads "x"\n' });
    const running = await cli.start(["run", "x", "--store", replica, "--ttl", "2s", "--", "true"]);
    await expect.poll(() => running.stderr, { timeout: 10_000 }).toMatch(/Point the URL to the primary/);
    await new Promise((resolve) => setTimeout(resolve, 2000));
    running.signal("SIGINT");
    const { code, stderr } = await running.ended;
    expect(code).toBe(130);
    const said = stderr.match(/code="STORE_UNREACHABLE" .*It is tried again\."$/gm) ?? [];
    expect([1, 2]).toContain(said.length); // the start of the keeper may come between; it was tried more often
  });
});

describe.each([
  ["etcd", () => urlOf(members())],
  ["postgres", () => database],
])("a drill on %s", { timeout: 60_000 }, (_, url) => {
  const leader = (): Promise<Ended> => cli.run(["leader", "conclave-drill", "--store", url()]);
  /** Namespaces and the ends of cables, whose names end with the number of the drill. */
  const cables = (pid: number): readonly string[] =>
    [
      ["netns", "list"],
      ["-br", "link"],
    ].flatMap(
      (args) =>
        spawnSync("ip", args, { encoding: "utf8" }).stdout.match(new RegExp(`ccd\\S*[h-]${pid % 10_000}\\b`, "g")) ??
        [],
    );

  it("can be interrupted right after it has killed the leader, and leaves nothing behind", async () => {
    const drill = await cli.start([
      "drill",
      "--store",
      url(),
      "--rounds",
      "1000",
      "--ttl",
      "2s",
      "--faults",
      "crash,cut",
    ]);
    const first = await children(drill.pid, (all) => all.length === 3);
    expect(cables(drill.pid).length).toBeGreaterThanOrEqual(3);
    await children(drill.pid, (all) => all.length === 2 || all.some((pid) => !first.includes(pid)));
    drill.signal("SIGINT");
    const { code, stdout } = await drill.ended;
    expect({ code, last: stdout.trim().split("\n").at(-1) }).toEqual({
      code: 130,
      last: "interrupted; as it should be until then",
    });
    expect((await leader()).stdout).toBe('nobody leads "conclave-drill"\n');
    expect(cables(drill.pid)).toEqual([]);
  });

  it("that was itself killed does not keep the next from being held", async () => {
    const drill = await cli.start(["drill", "--store", url(), "--rounds", "1000", "--ttl", "2s", "--faults", "crash"]);
    await children(drill.pid, (all) => all.length === 3);
    await expect.poll(async () => (await leader()).code, { timeout: 10_000 }).toBe(0);
    for (const pid of [...(await children(drill.pid, () => true)), drill.pid]) kill(pid, "SIGKILL");
    await drill.ended;
    const store = ["--store", url(), "--rounds", "1", "--ttl", "2s", "--faults", "resign"];
    await expect.poll(async () => (await cli.run(["drill", ...store])).code, { timeout: 30_000 }).toBe(0);
  });
});

/** The processes that it has started and that live, when they are as they should be. */
async function children(pid: number, isRight: (all: readonly number[]) => boolean): Promise<readonly number[]> {
  for (;;) {
    const all = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1")
      .trim()
      .split(" ")
      .filter(Boolean)
      .map(Number);
    const alive = all.filter((child) => /candidate/.test(readProc(child)));
    if (isRight(alive)) return alive;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function readProc(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return "";
  }
}
