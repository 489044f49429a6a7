// Elsewhere: everybody who waits wakes at once when the leader leaves, all write, and more than one believes that it has won.
// Here: NOTIFY wakes all who wait for a row in Postgres, and all claim it; each claims over the version that it has seen free, under the lock of the name's counter,
// so that one wins and the others are told who. In three processes' worth of connections, round after round.
// Taken out: test/defences/herd-postgres.patch
import { beforeAll, expect, it } from "vitest";
import { createCandidate, type Term } from "conclave";
import { postgres, postgresSchema } from "conclave/stores/postgres";
import * as postgresServer from "../../scripts/servers/postgres.mjs";
import { byHand } from "../stores/postgres/stage.ts";
import { useServers } from "../support/servers.ts";

const CANDIDATES = 90;
const ROUNDS = 5;
const servers = useServers(postgresServer);
const url = (): string => servers().urls[0] ?? "";
beforeAll(() => byHand(url(), postgresSchema()));

it("herd: of ninety that wake at once one leads, each time", { timeout: 60_000 }, async () => {
  const stores = [1, 2, 3].map(() => postgres(url()));
  const candidates = Array.from({ length: CANDIDATES }, (_, index) => {
    const store = stores[index % stores.length];
    if (store === undefined) throw new Error("no store");
    return createCandidate({ store, id: `c${index}`, ttlMs: 15_000, drainMs: 500 });
  });
  const elections = candidates.map((candidate) => candidate.election("herd"));
  const leading = (): readonly Term[] => elections.flatMap((election) => election.term() ?? []);
  for (const election of elections) election.start();
  let last = 0n;
  for (let round = 1; round <= ROUNDS; round++) {
    await expect.poll(() => leading().length, { timeout: 20_000, interval: 5 }).toBeGreaterThan(0);
    // Long enough for everybody to have claimed, and to believe that it has won.
    await new Promise((resolve) => setTimeout(resolve, 700));
    const [term, another] = leading();
    expect([term?.isHeld(), another]).toEqual([true, undefined]);
    expect(term?.token.value).toBe(last + 1n);
    last = term?.token.value ?? 0n;
    await term?.resign();
  }
  await Promise.all(candidates.map((candidate) => candidate.close()));
});
