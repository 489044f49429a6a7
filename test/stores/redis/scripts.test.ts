// What the scripts do beyond the contract: what they leave at the server, what they do not do, and how many requests a candidate sends.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCandidate } from "conclave";
import { asBid, type UnfencedStore, VACANT } from "conclave/stores/contract";
import { redis } from "conclave/stores/redis";
import * as server from "../../../scripts/servers/redis.mjs";
import { CommandLine } from "../../cli/command.ts";
import { useServers } from "../../support/servers.ts";
import { call, hold, open } from "../moves.ts";
import { byHand } from "./stage.ts";

const servers = useServers(server);
const url = (): string => servers().urls[0] ?? "";
let store: UnfencedStore;
beforeAll(() => {
  store = redis(url());
});
afterAll(() => store?.close());

const keys = async (): Promise<string[]> => ((await byHand(url(), "KEYS", "*")) as string[]).toSorted();
const commands = async (): Promise<number> =>
  Number(/cmdstat_evalsha:calls=(\d+)/.exec(String(await byHand(url(), "INFO", "commandstats")))?.[1] ?? 0);

describe.each(["ours", "redlock"] as const)("layout %s", (layout) => {
  it("a held name is not given to a rival over the version that stands either", async () => {
    const mine = redis(url(), { layout });
    const held = await hold(mine, await open(mine), `held ${layout}`);
    const rival = await open(mine);
    const looked = await mine.look([{ name: held.name }], call());
    const over = looked.kind === "seen" ? looked.seats[0]?.version : undefined;
    const [claimed] = await mine.claim(
      [{ session: rival, name: held.name, bid: asBid("r.1"), over, value: "" }],
      call(),
    );
    expect(claimed?.kind).toBe("beaten");
    await mine.close();
  });

  it("everything that it writes goes away by itself", async () => {
    await byHand(url(), "FLUSHALL");
    const mine = redis(url(), { layout });
    const session = await open(mine);
    const [first, second] = [await hold(mine, session, "first"), await hold(mine, session, "second")];
    await mine.keep(session, [first, second], call());
    await mine.release({ session, holds: [first], endSession: false }, call());
    const other = await open(mine);
    await mine.release({ session: other, holds: [], endSession: true }, call());
    const found = await keys();
    expect(found.length).toBeGreaterThan(4);
    for (const key of found) expect([key, Number(await byHand(url(), "PTTL", key)) > 0]).toEqual([key, true]);
    await mine.close();
  });
});

it("a session that is given up before its opening arrives is not opened", async () => {
  const session = { id: "late", candidate: "c", ttlMs: 5000 };
  await store.release({ session, holds: [], endSession: true }, call());
  expect((await store.keep({ nonce: "late", candidate: "c", ttlMs: 5000 }, [], call())).kind).toBe("session-lost");
});

it("one renewal is one request, whatever is held; a free name is taken with one, and given back with one", async () => {
  const candidate = createCandidate({ store, ttlMs: 60_000, unfenced: true });
  await candidate.withLock("warm", async () => {});
  const from = await commands();
  for (let round = 0; round < 5; round++) await candidate.withLock(`name ${round}`, async () => {});
  expect((await commands()) - from).toBe(10);
  const session = await open(store);
  const claims = Array.from({ length: 1000 }, (_, index) => ({
    session,
    name: `many ${index}`,
    bid: asBid(`many.${index}`),
    over: VACANT,
    value: "",
  }));
  const holds = (await store.claim(claims, call())).flatMap((claimed) =>
    claimed.kind === "granted" ? [claimed.hold] : [],
  );
  expect(holds).toHaveLength(1000);
  const before = await commands();
  expect(await store.keep(session, holds, call())).toMatchObject({ kind: "kept", lost: [], strays: [] });
  expect((await commands()) - before).toBe(1);
  await candidate.close();
});

describe("conclave drill", () => {
  const cli = new CommandLine();
  afterAll(() => cli.end());

  it("finds no two holders, counts the stale writes that nothing refuses, and says so by its exit code", async () => {
    const args = [
      "drill",
      "--store",
      url(),
      "--unfenced",
      "--rounds",
      "2",
      "--ttl",
      "1s",
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
    expect((report["declared"] as string[]).join("\n")).toMatch(
      /nothing can refuse it[^]*replica is promoted[^]*clock/,
    );
    expect(code).toBe(1);
    const refused = await cli.run(args.filter((arg) => arg !== "--unfenced"));
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(/has no tokens: --unfenced accepts/)]);
  }, 120_000);
});

describe("conclave run", () => {
  const cli = new CommandLine();
  afterAll(() => cli.end());

  it("needs --unfenced, and then runs the command while it leads", async () => {
    const run = ["run", "job", "--store", url(), "--ttl", "2s"];
    expect((await cli.run([...run, "--", "true"])).stderr).toMatch(/cannot fence/);
    const { code, stdout } = await cli.run([...run, "--unfenced", "--", "sh", "-c", "echo led by $CONCLAVE_ELECTION"]);
    expect([code, stdout]).toEqual([0, "led by job\n"]);
  }, 60_000);
});
