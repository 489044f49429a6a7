// The command line on a real Redis, and on three: who leads, which elections there are, a command that runs while its process leads, and a drill, which reports the declared limit.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCandidate } from "conclave";
import { redis } from "conclave/stores/redis";
import * as server from "../../../scripts/servers/redis.mjs";
import { CommandLine } from "../../cli/command.ts";
import { useServers } from "../../support/servers.ts";
import { byHand, severalUrl, untilItVotes } from "./stage.ts";

const PATIENT = { timeout: 60_000 };
/** Long enough for a machine that runs other tests as well: each command is a process of its own, and the seats have to be held until the last one has looked. */
const MAX_TTL_MS = 6000;
const cli = new CommandLine();
afterAll(() => cli.end());
const servers = useServers(server);
const several = useServers(server, { nodes: 3 });
const url = (): string => servers().urls[0] ?? "";
const redlock = (): string => `${severalUrl(several())}?conclave_max_ttl_ms=${MAX_TTL_MS}`;
beforeAll(async () => {
  const store = redis(redlock());
  await untilItVotes(store);
  await store.close();
}, 30_000);

/** A prefix with what a pattern of Redis would take for more than it is. */
const ODD = "conclave_prefix=odd*%5Bx%5D";
const WAYS: readonly (readonly [name: string, url: () => string])[] = [
  ["one server", () => `${url()}/1?${ODD}`],
  ["one server, the layout redlock", () => `${url()}/2?conclave_layout=redlock`],
  ["three servers", () => `${redlock()}&conclave_prefix=three`],
  ["three servers, the layout redlock", () => `${redlock()}&conclave_prefix=locks&conclave_layout=redlock`],
];

describe.each(WAYS)("%s", (_, at) => {
  it("leader, list and observe show who leads", PATIENT, async () => {
    const names = ["b/c", "a b", "ä"];
    expect(await cli.run(["list", "--store", at()])).toMatchObject({ code: 1, stdout: "no elections\n" });
    const observer = await cli.start(["observe", "a b", "--store", at()]);
    expect(await observer.lines(1)).toEqual([expect.stringMatching(/nobody leads "a b"$/)]);
    const store = redis(at());
    const candidate = createCandidate({ store, id: "web", ttlMs: MAX_TTL_MS, drainMs: 100, unfenced: true });
    const terms = await Promise.all(names.map((name) => candidate.election(name).campaign()));
    expect((await observer.lines(2))[1]).toMatch(/web_\S+ leads "a b"$/);
    const leader = await cli.run(["leader", "a b", "--store", at()]);
    expect(leader).toMatchObject({ code: 0, stdout: expect.stringMatching(/^web_\S+ leads "a b"\n$/) as unknown });
    const listed = await cli.run(["list", "--store", at(), "--json"]);
    const { elections, isWhole } = JSON.parse(listed.stdout) as {
      elections: { election: string; leader: { id: string; token: null } }[];
      isWhole: boolean;
    };
    expect(elections.map(({ election }) => election)).toEqual(["a b", "b/c", "ä"]);
    for (const each of elections) expect(each.leader).toMatchObject({ id: candidate.id, token: null });
    expect(isWhole).toBe(true);
    const one = await cli.run(["list", "--store", at(), "--most", "1"]);
    expect([one.stdout.split("\n").length, one.stderr]).toEqual([2, expect.stringContaining("more than 1")]);
    await Promise.all(terms.map((term) => term.resign()));
    expect((await observer.lines(3))[2]).toMatch(/nobody leads "a b"$/);
    observer.signal("SIGTERM");
    expect((await observer.ended).code).toBe(0);
    await candidate.close();
    await store.close();
  });
});

it("list pages through many, and shows nothing of others", PATIENT, async () => {
  const at = `${url()}/4`;
  const names = Array.from({ length: 3000 }, (_, index) => `name-${String(index).padStart(4, "0")}`);
  const store = redis(at);
  const candidate = createCandidate({ store, ttlMs: 30_000, unfenced: true });
  await Promise.all(names.map((name) => candidate.election(name).campaign()));
  await byHand(at, "SET", "{conclave}:seat:foreign", "somebody's");
  const { elections } = JSON.parse((await cli.run(["list", "--store", at, "--most", "5000", "--json"])).stdout) as {
    elections: { election: string }[];
  };
  expect(elections.map(({ election }) => election)).toEqual(names);
  await candidate.close();
  await store.close();
});

it("drill finds no two holders, counts the stale writes that nothing refuses, and says so by its exit code", async () => {
  const args = [
    "drill",
    "--store",
    url(),
    "--unfenced",
    "--rounds",
    "2",
    "--ttl",
    "3s",
    "--faults",
    "crash,pause,resign",
  ];
  const { code, stdout, stderr } = await cli.run([...args, "--json"]);
  const report = JSON.parse(stdout) as Record<string, unknown>;
  expect(report, stderr).toMatchObject({
    rounds: 2,
    overlaps: 0,
    problems: [],
    ok: false,
    staleWrites: { refused: 0 },
  });
  expect((report["staleWrites"] as { accepted: number }).accepted).toBeGreaterThanOrEqual(2);
  expect((report["declared"] as string[]).join("\n")).toMatch(/nothing can refuse it[^]*replica is promoted[^]*clock/);
  expect(code).toBe(1);
  const refused = await cli.run(args.filter((arg) => arg !== "--unfenced"));
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(/has no tokens: --unfenced accepts/)]);
}, 120_000);

it("run needs --unfenced, and then runs the command while it leads", async () => {
  const run = ["run", "job", "--store", url(), "--ttl", "2s"];
  expect((await cli.run([...run, "--", "true"])).stderr).toMatch(/cannot fence/);
  const { code, stdout } = await cli.run([...run, "--unfenced", "--", "sh", "-c", "echo led by $CONCLAVE_ELECTION"]);
  expect([code, stdout]).toEqual([0, "led by job\n"]);
}, 60_000);
