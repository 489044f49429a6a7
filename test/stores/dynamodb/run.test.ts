// `conclave run` on DynamoDB: when its process is killed, its keeper ends the session, and the next one leads with its next look, long before the ttl. There are no events, so
// that how soon it looks is what decides: it is a scout, or has `lookMs`.
import { afterAll, expect, it } from "vitest";
import * as server from "../../../scripts/servers/dynamodb.mjs";
import { CommandLine, type Running } from "../../cli/command.ts";
import { useServers } from "../../support/servers.ts";

const TTL_MS = 20_000;
const cli = new CommandLine();
afterAll(() => cli.end());
const servers = useServers(server);

it.each([
  ["as a scout, unless it is told otherwise", ""],
  ["as often as the URL says", "&lookMs=50"],
])(
  "a killed conclave run is replaced long before its ttl, by one that looks %s",
  { timeout: 90_000 },
  async (_, more) => {
    const store = `${servers().urls[0] ?? ""}${more}`;
    const command = ["run", `x${more.length}`, "--store", store, "--ttl", `${TTL_MS}ms`];
    const start = (): Promise<Running> => cli.start([...command, "--", "sh", "-c", "echo up; exec sleep 600"]);
    const first = await start();
    await expect.poll(() => first.stdout, { timeout: 20_000 }).toContain("up");
    const second = await start();
    await expect.poll(() => second.stderr, { timeout: 20_000 }).toMatch(/leads|waits|waiting/);
    const killedAt = performance.now();
    first.signal("SIGKILL");
    await expect.poll(() => second.stdout, { timeout: 20_000, interval: 10 }).toContain("up");
    const tookMs = performance.now() - killedAt;
    expect(tookMs).toBeLessThan(TTL_MS / 2);
    second.signal("SIGTERM");
    await second.ended;
  },
);
