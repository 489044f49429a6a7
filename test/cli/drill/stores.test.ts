// `conclave drill` on servers of the stores that have none in tests of their own: Leases, a table of DynamoDB, and three servers of Redis (Redlock), whose limit is declared.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { redis } from "conclave/stores/redis";
import * as redisServer from "../../../scripts/servers/redis.mjs";
import type { summarize } from "../../../src/cli/drill/report.ts";
import { severalUrl, untilItVotes } from "../../stores/redis/stage.ts";
import { useDynamoDB, useKubernetes } from "../../support/real-stores.ts";
import { useServers } from "../../support/servers.ts";
import { CommandLine } from "../command.ts";

const PATIENT = { timeout: 120_000 };
const ROUNDS = 2;
const cli = new CommandLine();
afterAll(() => cli.end());

interface Drilled {
  readonly code: number | null;
  readonly report: ReturnType<typeof summarize>;
  readonly stderr: string;
}

/** Leaders are killed and stopped, a few times each. */
async function drill(store: string, ...more: readonly string[]): Promise<Drilled> {
  const flags = ["--rounds", `${ROUNDS}`, "--faults", "crash,pause", "--ttl", "2s", "--json"];
  const { code, stdout, stderr } = await cli.run(["drill", "--store", store, ...flags, ...more]);
  return { code, report: JSON.parse(stdout) as Drilled["report"], stderr };
}

describe("a drill on a store with tokens finds no overlap, and every stale write refused", () => {
  it.each([
    ["Kubernetes", useKubernetes()],
    ["DynamoDB", useDynamoDB()],
  ])("%s", PATIENT, async (_, store) => {
    const { code, report, stderr } = await drill(store.url());
    expect(report, stderr).toMatchObject({ rounds: ROUNDS, overlaps: 0, problems: [], ok: true });
    expect(report.staleWrites.accepted).toBe(0);
    expect(Object.keys(report.failoverMs)).toEqual(["crash", "pause"]);
    expect(code).toBe(0);
  });
});

describe("a drill on three servers of Redis", () => {
  const servers = useServers(redisServer, { nodes: 3 });
  const url = (): string => `${severalUrl(servers())}?conclave_max_ttl_ms=2000`;
  beforeAll(async () => {
    const store = redis(url());
    await untilItVotes(store);
    await store.close();
  }, 30_000);

  it(
    "exits with 1, because nothing refuses a stale write: that is declared, and no two hold at once",
    PATIENT,
    async () => {
      const { code, report, stderr } = await drill(url(), "--unfenced");
      expect(report, stderr).toMatchObject({ rounds: ROUNDS, overlaps: 0, ok: false });
      expect(report.staleWrites.refused).toBe(0);
      expect(report.staleWrites.accepted).toBeGreaterThanOrEqual(ROUNDS);
      expect(report.declared?.join("\n")).toMatch(/lands after its successor's, and nothing can refuse it/);
      expect(code).toBe(1);
    },
  );
});
