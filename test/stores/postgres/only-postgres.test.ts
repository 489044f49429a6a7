// A URL where only `postgres` is installed: the same store, and a connection that never answers is not kept.
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { createCandidate } from "conclave";
import { postgres, postgresSchema } from "conclave/stores/postgres";
import { storeConformance } from "conclave/testing";
import * as server from "../../../scripts/servers/postgres.mjs";
import { useServers } from "../../support/servers.ts";
import { call } from "../moves.ts";
import { byHand, sleep } from "./stage.ts";
import { Wire } from "../../support/wire.ts";

const installed = vi.hoisted(() => new Set(["postgres"]));
vi.mock(import("../../../src/clients/load-peer.ts"), async (original) => {
  const { loadPeer } = await original();
  return { loadPeer: (name: string) => (installed.has(name) ? loadPeer(name) : undefined) };
});

const servers = useServers(server);
const url = (): string => servers().urls[0] ?? "";
beforeAll(async () => {
  await byHand(url(), postgresSchema());
});

for (const { name, run } of storeConformance(async () => postgres(url()))) it(name, run);

let wire: Wire;
afterAll(() => wire?.end());

it("leads again, without help, after a wire went dead without a word", { timeout: 60_000 }, async () => {
  wire = await Wire.to(url());
  await using candidate = createCandidate({ store: postgres(wire.url), ttlMs: 1500, drainMs: 200 });
  const election = candidate.election("x");
  election.start();
  await expect.poll(() => election.term()?.token.value, { timeout: 5000 }).toBe(1n);
  wire.cut();
  await expect.poll(() => election.term(), { timeout: 5000 }).toBeUndefined();
  await sleep(4000);
  wire.mend();
  await expect.poll(() => election.term()?.token.value, { timeout: 15_000 }).toBe(2n);
});

it("says what to install where neither client is", async () => {
  installed.clear();
  const store = postgres(url());
  expect(await store.look([{ name: "x" }], call())).toMatchObject({
    kind: "refused",
    code: "STORE_UNSUPPORTED",
    message: "postgres: no client for PostgreSQL is installed. Run: npm install pg (or: npm install postgres)",
  });
  installed.add("postgres");
});
