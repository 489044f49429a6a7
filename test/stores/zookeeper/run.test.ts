// `conclave run` on real ZooKeeper: when its process is killed, its keeper takes the session over by id and password and ends it, long before the ttl.
import { afterAll, expect, it } from "vitest";
import * as server from "../../../scripts/servers/zookeeper.mjs";
import { CommandLine, type Running } from "../../cli/command.ts";
import { useServers } from "../../support/servers.ts";
import { urlOf } from "./zookeeper.ts";

const TTL_MS = 9000;
const cli = new CommandLine();
afterAll(() => cli.end());
const servers = useServers(server);

it("a killed conclave run is replaced long before its ttl, and its child is gone", async () => {
  const start = (): Promise<Running> =>
    cli.start([
      "run",
      "x",
      "--store",
      urlOf(servers()),
      "--ttl",
      `${TTL_MS}ms`,
      "--",
      "sh",
      "-c",
      "echo up; exec sleep 600",
    ]);
  const first = await start();
  await expect.poll(() => first.stdout, { timeout: 20_000 }).toContain("up");
  const second = await start();
  await expect.poll(() => second.stderr, { timeout: 20_000 }).toMatch(/leads|waits|waiting/);
  const killedAt = performance.now();
  first.signal("SIGKILL");
  await expect.poll(() => second.stdout, { timeout: 20_000, interval: 10 }).toContain("up");
  expect(performance.now() - killedAt).toBeLessThan(TTL_MS / 2);
  second.signal("SIGTERM");
  await second.ended;
}, 60_000);
