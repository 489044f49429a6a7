// `conclave drill` and `conclave sim exercise 2` on real ZooKeeper: leaders are killed, stopped and told to resign, and no two lead at one instant.
import { afterAll, expect, it } from "vitest";
import * as server from "../../../scripts/servers/zookeeper.mjs";
import { CommandLine } from "../../cli/command.ts";
import { useServers } from "../../support/servers.ts";
import { urlOf } from "./zookeeper.ts";

const cli = new CommandLine();
afterAll(() => cli.end());
const servers = useServers(server, { nodes: 3 });

it("a drill finds no overlap, and every stale write refused", async () => {
  const flags = ["--rounds", "2", "--faults", "crash,pause,resign", "--ttl", "3s", "--json"];
  const { code, stdout, stderr } = await cli.run(["drill", "--store", urlOf(servers()), ...flags]);
  expect(code, stderr).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ overlaps: 0, staleWrites: { accepted: 0 }, ok: true });
}, 120_000);

it("exercise 2 kills the leader of three, and tells how long nobody led", async () => {
  const { code, stdout, stderr } = await cli.run(["sim", "exercise", "2", "--store", urlOf(servers()), "--json"]);
  expect(code, stderr).toBe(0);
  const { failoverMs, ttlMs, ok } = JSON.parse(stdout) as {
    failoverMs: { crash: { min: number } };
    ttlMs: number;
    ok: boolean;
  };
  expect(ok).toBe(true);
  expect(ttlMs).toBe(2000);
  expect(failoverMs.crash.min).toBeGreaterThan(1000);
}, 120_000);
