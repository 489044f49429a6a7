// Many at one name, and many names at one candidate: what the API server is asked meanwhile.
import { afterAll, expect, it } from "vitest";
import { createCandidate } from "conclave";
import { kubernetes } from "conclave/stores/kubernetes";
import * as server from "../../../scripts/servers/kubernetes.mjs";
import { sleep } from "../../support/processes.ts";
import { useServers } from "../../support/servers.ts";
import { aName, type Ran, Stage } from "./stage.ts";

const servers = useServers(server) as () => Ran;
const stage = new Stage(servers);
afterAll(() => stage.end());

const WAITERS = 500;
const TTL_MS = 15_000;

/** In one process, so that this is about requests and about turns, not about five hundred programs; each has a store of its own, as a pod has. */
it("five hundred that wait for one name cost a watch each and nearly no request, and one of them leads when it is free", async () => {
  const name = aName("crowd");
  const candidates = Array.from({ length: WAITERS }, (_, index) =>
    createCandidate({ store: kubernetes(stage.url), ttlMs: TTL_MS, id: `c${index}` }),
  );
  const [first, ...others] = candidates;
  const term = await first?.election(name).campaign();
  const tokens: bigint[] = [term?.token?.value ?? 0n];
  const over = new AbortController();
  const terms = others.map((candidate) =>
    candidate
      .election(name)
      .campaign({ signal: over.signal })
      .then((won) => {
        tokens.push(won.token?.value ?? 0n);
        return won;
      })
      .catch(() => undefined),
  );
  await expect.poll(async () => (await stage.order({})).watches, { timeout: 60_000 }).toBeGreaterThanOrEqual(WAITERS);
  await sleep(2_000);
  const before = await stage.counts();
  const waitedMs = 6_000;
  await sleep(waitedMs);
  const after = await stage.counts();
  const asked = ["get", "list", "update", "create"].reduce(
    (sum, verb) => sum + (after[verb] ?? 0) - (before[verb] ?? 0),
    0,
  );
  // The leader renews once or twice, and looks for what it may have left behind.
  expect(asked).toBeLessThan(WAITERS / 10);
  await term?.resign();
  await expect.poll(() => tokens.length, { timeout: 30_000 }).toBe(2);
  await sleep(500);
  expect(tokens.length).toBe(2);
  expect(tokens[1]).toBeGreaterThan(tokens[0] ?? 0n);
  over.abort();
  await Promise.all(terms);
  await Promise.all(candidates.map((candidate) => candidate.close()));
}, 180_000);

it("two hundred names of one candidate are won and renewed, by one watch", async () => {
  await using candidate = createCandidate({ store: kubernetes(stage.url), ttlMs: TTL_MS, id: "many" });
  const names = Array.from({ length: 200 }, () => aName("many"));
  const terms = await Promise.all(names.map((name) => candidate.election(name).campaign()));
  await terms[0]?.renew();
  expect(terms.every((term) => term.isHeld())).toBe(true);
  await expect.poll(async () => (await stage.order({})).watches, { timeout: 10_000 }).toBe(1);
}, 60_000);
