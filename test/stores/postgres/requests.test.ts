// Requests to hand over on a real PostgreSQL: told by NOTIFY; beside a grant that waits for the same row; on tables from before, which are updated under a live holder.
import pg from "pg";
import { describe, expect, it } from "vitest";
import { createCandidate, type ConclaveEvent, type Term } from "conclave";
import { asBid, type AsksToLeave, type AskedToLeave, type Store, type Token, VACANT } from "conclave/stores/contract";
import { postgres, postgresSchema } from "conclave/stores/postgres";
import { storeConformance } from "conclave/testing";
import * as server from "../../../scripts/servers/postgres.mjs";
import { useServers } from "../../support/servers.ts";
import { call, hold, open } from "../moves.ts";
import { byHand, newDatabase, sleep } from "./stage.ts";

const servers = useServers(server);
const PATIENT = { timeout: 60_000 };

/** As the script of the version before: no column, no function, and keeps that show nothing. */
const BEFORE = postgresSchema()
  .replace(/DO \$asked\$[\s\S]*?END \$asked\$;\n/, "")
  .replace(/CREATE OR REPLACE FUNCTION conclave\.ask\([\s\S]*?END \$ask\$;\n/, "")
  .replace(/ {2}IF standing\.asked > 0 THEN[\s\S]*?END IF;\n/, "")
  .replaceAll(", count(asked_token) AS asked", "")
  .replaceAll("asked_token = NULL, ", "");

const ask = (store: Store, name: string, token: Token | undefined): Promise<AskedToLeave> =>
  (store as unknown as AsksToLeave).askToLeave(name, token as Token, call());

const tokenOf = ({ token }: Term): Token => ({ domain: token.domain, value: token.value, bid: asBid(token.bid) });

it("the script of before says nothing of requests", () => {
  expect(BEFORE).not.toContain("asked_token");
  expect(BEFORE).not.toContain(".ask(");
});

it("answers what the suite asks about requests", PATIENT, async () => {
  const url = await newDatabase(servers().urls[0] ?? "", postgresSchema());
  const cases = storeConformance(async () => postgres(url)).filter(({ name }) => name.includes("request to hand over"));
  expect(cases.length).toBe(5);
  for (const { name, run } of cases) {
    const problem = await run().then(() => undefined, String);
    expect(problem, name).toBeUndefined();
  }
});

it("the holder is told by NOTIFY, and hands over long before its next renewal", PATIENT, async () => {
  const url = await newDatabase(servers().urls[0] ?? "", postgresSchema());
  const events: ConclaveEvent[] = [];
  const candidate = createCandidate({ store: postgres(url), id: "web", ttlMs: 60_000, onEvent: (e) => events.push(e) });
  const term = await candidate.election("x").campaign();
  const asker = postgres(url);
  const startedAt = performance.now();
  // The watch may just be on its way.
  for (let tries = 0; tries < 50 && term.isLeading(); tries++) {
    expect(await ask(asker, "x", tokenOf(term))).toEqual({ kind: "asked" });
    await sleep(100);
  }
  expect(term.isLeading()).toBe(false);
  expect(performance.now() - startedAt).toBeLessThan(10_000);
  expect(events).toContainEqual({ type: "state", election: "x", state: "ending", reason: "asked" });
  await term.resign();
  await candidate.close();
  await asker.close();
});

it("a request that waited for the grant of another term is not kept for that", PATIENT, async () => {
  const url = await newDatabase(servers().urls[0] ?? "", postgresSchema());
  const store = postgres(url);
  const session = await open(store);
  const first = await hold(store, session, "x");
  // By hand, so that the grant is under way for as long as the test likes.
  const client = new pg.Client(url);
  await client.connect();
  await client.query("BEGIN");
  await client.query("UPDATE conclave.seat SET token = token + 1, bid = 'a.2' WHERE name = 'x'");
  const asked = ask(store, "x", first.token);
  const waiting = "SELECT count(*)::int AS n FROM pg_locks WHERE NOT granted";
  while ((await byHand(url, waiting))[0]?.["n"] === 0) await sleep(10);
  await client.query("COMMIT");
  expect(await asked).toMatchObject({
    kind: "not-leading",
    seat: { holder: { token: (first.token?.value ?? 0n) + 1n } },
  });
  expect(await byHand(url, "SELECT asked_token FROM conclave.seat")).toEqual([{ asked_token: null }]);
  await client.end();
  await store.close();
});

describe("tables from before", () => {
  it(
    "serve candidates; a request is refused, and names the script; after it the same holder can be asked",
    PATIENT,
    async () => {
      const url = await newDatabase(servers().urls[0] ?? "", BEFORE);
      const store = postgres(url);
      const session = await open(store);
      const held = await hold(store, session, "x");
      expect(await store.keep(session, [held], call())).toMatchObject({ kind: "kept", lost: [] });
      const refused = await ask(store, "x", held.token);
      expect(refused).toMatchObject({ kind: "refused", code: "STORE_UNSUPPORTED", retryable: false });
      expect(JSON.stringify(refused)).toContain("npx conclave schema postgres");
      await byHand(url, postgresSchema());
      expect(await ask(store, "x", held.token)).toEqual({ kind: "asked" });
      expect(await store.keep(session, [held], call())).toMatchObject({ kind: "kept", lost: [], asked: [held] });
      // The short claim clears it, and so does the long one.
      for (const bid of ["a.2", "a.3"]) {
        await store.release({ session, holds: [held], endSession: false }, call());
        const claims = [{ session, name: "x", bid: asBid(bid), over: VACANT, value: "" }];
        const more = bid === "a.2" ? [] : [{ session, name: "y", bid: asBid("a.4"), over: VACANT, value: "" }];
        const [next] = await store.claim([...claims, ...more], call());
        if (next?.kind !== "granted") throw new Error(`the claim was answered ${next?.kind}`);
        const kept = await store.keep(session, [next.hold], call());
        expect(kept.kind === "kept" && kept.asked).toBeUndefined();
        expect(await ask(store, "x", next.hold.token)).toEqual({ kind: "asked" });
        await store.release({ session, holds: [next.hold], endSession: false }, call());
      }
      await store.close();
    },
  );
});
