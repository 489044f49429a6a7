// The example that needs a server, on one.
import { expect, it, vi } from "vitest";
import * as server from "../../scripts/servers/postgres.mjs";
import { useServers } from "../servers.ts";

const servers = useServers(server);

it("fenced-postgres: corrupts without a fence, and not with one", async () => {
  const printed: string[] = [];
  vi.spyOn(console, "log").mockImplementation((...words: unknown[]) => void printed.push(words.join(" ")));
  vi.stubEnv("DATABASE_URL", servers().urls[0]);
  await import("../../examples/fenced-postgres/main.mjs");
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  expect(printed).toEqual([
    "without a fence: 70 although the old leader was replaced",
    "with a fence:    100; the late booking: TOKEN_STALE",
  ]);
  expect(process.exitCode ?? 0).toBe(0);
});
