// Processes that are killed (kill -9), on one real Redis and on three: a `conclave run`, whose keeper gives back at once, at any ttl; and an app with a keeper of its own, which first waits
// for what the app may have sent.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { redis } from "conclave/stores/redis";
import * as server from "../../../scripts/servers/redis.mjs";
import { CommandLine, type Running } from "../../cli/command.ts";
import { isGone } from "../../supervisor/stage.ts";
import { nowMs, Stage } from "../../support/processes.ts";
import { useServers } from "../../support/servers.ts";
import { severalUrl, untilItVotes } from "./stage.ts";

/** Long beside everything here; three servers vote when they have run for it. */
const SEVERAL_TTL_MS = 6000;
const one = useServers(server);
const several = useServers(server, { nodes: 3 });
const several3 = (): string => `${severalUrl(several())}?conclave_max_ttl_ms=${SEVERAL_TTL_MS}`;
const cli = new CommandLine();
const stage = new Stage();
afterAll(async () => {
  await cli.end();
  await stage.end();
});
beforeAll(async () => {
  const store = redis(several3());
  await untilItVotes(store);
  await store.close();
}, 30_000);

const WAYS: readonly (readonly [name: string, url: () => string, ttlMs: number])[] = [
  ["one server", () => one().urls[0] ?? "", 600_000],
  ["one server, the layout redlock", () => `${one().urls[0]}?conclave_layout=redlock`, 600_000],
  ["three servers", several3, SEVERAL_TTL_MS],
  ["three servers, the layout redlock", () => `${several3()}&conclave_layout=redlock`, SEVERAL_TTL_MS],
];

describe.each(WAYS)("%s", (name, url, ttlMs) => {
  it("a killed conclave run is replaced long before its ttl, and its command is gone before", async () => {
    const flags = ["--store", url(), "--ttl", `${ttlMs}ms`, "--unfenced", "--json"];
    const command = ["sh", "-c", "echo $$; exec sleep 600"];
    const start = (): Promise<Running> => cli.start(["run", `killed ${name}`, ...flags, "--", ...command]);
    const first = await start();
    const [childPid = ""] = await first.lines(1);
    const second = await start();
    await expect
      .poll(() => second.stderr, { timeout: 20_000 })
      .toMatch(/"keeper","state":"started"[^]*"type":"waiting"|"type":"waiting"[^]*"keeper","state":"started"/);
    const killedAt = nowMs();
    first.signal("SIGKILL");
    await second.lines(1);
    expect(nowMs() - killedAt).toBeLessThan(SEVERAL_TTL_MS / 2);
    expect(isGone(Number(childPid))).toBe(true);
    second.signal("SIGTERM");
    await second.ended;
  }, 60_000);

  it("a killed app's keeper gives back after the quiet period, and not before", async () => {
    const quietMs = 700;
    const shared = { store: url(), ttlMs, unfenced: true, keeper: { quietMs }, log: stage.file(`${name}.log`) };
    const first = await stage.start({ ...shared, id: "first" });
    await first.hears("elected", 0, 30_000);
    const second = await stage.start({ ...shared, id: "second" });
    await second.hears("leader", 0, 30_000);
    const killedAt = nowMs();
    first.signal("SIGKILL");
    const { at } = await second.hears("elected", killedAt, 30_000);
    expect(at - killedAt).toBeGreaterThan(quietMs);
    expect(at - killedAt).toBeLessThan(SEVERAL_TTL_MS * 0.6);
    await second.kill();
  }, 60_000);
});
