// Copies of a process on a real PostgreSQL: with functions of this version, with functions from before beats, and with an update between.
import { randomUUID } from "node:crypto";
import { afterEach, expect, it, vi } from "vitest";
import { createCandidate } from "conclave";
import { postgres, postgresSchema } from "conclave/stores/postgres";
import { storeConformance } from "conclave/testing";
import * as server from "../../../scripts/servers/postgres.mjs";
import type { Call, Kept, Session, Store } from "conclave/stores/contract";
import { useServers } from "../../support/servers.ts";
import { byHand, newDatabase } from "./stage.ts";

const servers = useServers(server);
const call = (): Call => ({ signal: AbortSignal.timeout(5000), sentAtMs: performance.now() });
const url = (): Promise<string> => newDatabase(servers().urls[0] ?? "");

/** As the functions of the version before would be: they take no notice of beats, and answer without one. */
const BEFORE_BEATS = postgresSchema()
  .replaceAll("asked->'beats'", "NULL::json")
  .replaceAll("(asked->>'beat')::uuid", "NULL::uuid")
  .replaceAll("'beat', asked->'beat'", "'beat', NULL")
  .replaceAll("'beat', beats[known + 1]", "'beat', NULL");

afterEach(() => {
  vi.restoreAllMocks();
});

async function open(store: Store, beat: string): Promise<Session> {
  const kept = await store.keep({ nonce: randomUUID(), candidate: "a", ttlMs: 10_000, beat }, [], call());
  if (kept.kind !== "kept") throw new Error(`not opened: ${kept.kind}`);
  return kept.session;
}

const keep = (store: Store, session: Session, ...beats: string[]): Promise<Kept> =>
  store.keep({ ...session, beats }, [], call());

it("of ten copies that keep at once one is renewed", async () => {
  const store = postgres(await url());
  const beat = randomUUID();
  const session = await open(store, beat);
  const answers = await Promise.all(Array.from({ length: 10 }, () => keep(store, session, beat, randomUUID())));
  expect(answers.filter(({ kind }) => kind === "kept")).toHaveLength(1);
  expect(answers.filter(({ kind }) => kind === "session-lost")).toHaveLength(9);
  await store.close();
});

it("answers what the suite asks about copies", async () => {
  const place = await url();
  const cases = storeConformance(async () => postgres(place)).filter(({ name }) =>
    /\bbeats?\b|\bcop(y|ies)\b/.test(name),
  );
  expect(cases).toHaveLength(6);
  for (const { name, run } of cases) {
    const problem = await run().then(() => undefined, String);
    expect(problem, name).toBeUndefined();
  }
});

it("serves a candidate on functions from before beats, says so once, and defends it when they are updated under it", async () => {
  const warned: string[] = [];
  vi.spyOn(process, "emitWarning").mockImplementation(((message: string) => void warned.push(message)) as never);
  const place = await url();
  await byHand(place, BEFORE_BEATS);
  const store = postgres(place);
  const session = await open(store, randomUUID());
  expect(session.beats).toBeUndefined();
  await open(store, randomUUID());
  expect(warned.filter((text) => text.includes("conclave schema postgres"))).toHaveLength(1);
  expect((await keep(store, session, randomUUID())).kind).toBe("kept");
  await byHand(place, postgresSchema());
  const [adopted, next, other] = [randomUUID(), randomUUID(), randomUUID()];
  expect(await keep(store, session, adopted)).toMatchObject({ kind: "kept", session: { beats: [adopted] } });
  expect(await keep(store, session, adopted, next)).toMatchObject({ kind: "kept", session: { beats: [next] } });
  expect((await keep(store, session, adopted, other)).kind).toBe("session-lost");
  await store.close();
});

it("keeps a candidate of before in office while its functions are updated, and a new one beside it", async () => {
  const place = await url();
  await byHand(place, BEFORE_BEATS);
  vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  await using candidate = createCandidate({ store: postgres(place), ttlMs: 1000 });
  await using term = await candidate.election("x").campaign();
  await term.renew();
  await byHand(place, postgresSchema());
  for (let renewals = 0; renewals < 3; renewals++) await term.renew();
  expect(term.isHeld()).toBe(true);
  const [row] = await byHand(place, "SELECT count(*)::int AS sessions FROM conclave.session");
  expect(row).toEqual({ sessions: 1 });
});
