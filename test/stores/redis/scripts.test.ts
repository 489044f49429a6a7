// What the scripts do beyond the contract: what they leave at the server, what they do not do, and how many requests a candidate sends.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCandidate } from "conclave";
import { asBid, type Session, type UnfencedStore, VACANT } from "conclave/stores/contract";
import { redis } from "conclave/stores/redis";
import * as server from "../../../scripts/servers/redis.mjs";
import { useServers } from "../../support/servers.ts";
import { call, hold, open } from "../moves.ts";
import { byHand } from "./stage.ts";

const servers = useServers(server);
const url = (): string => servers().urls[0] ?? "";
let store: UnfencedStore;
beforeAll(() => {
  store = redis(url());
});
afterAll(() => store?.close());

const keys = async (): Promise<string[]> => ((await byHand(url(), "KEYS", "*")) as string[]).toSorted();
/** The names of which the record of this session says that it has them. */
const heldBy = async (session: string): Promise<string[]> =>
  ((await byHand(url(), "HKEYS", session)) as string[]).filter((field) => field.startsWith("hold:")).toSorted();
const commands = async (): Promise<number> =>
  Number(/cmdstat_evalsha:calls=(\d+)/.exec(String(await byHand(url(), "INFO", "commandstats")))?.[1] ?? 0);

describe.each(["ours", "redlock"] as const)("layout %s", (layout) => {
  it("a held name is not given to a rival over the version that stands either", async () => {
    const mine = redis(url(), { layout });
    const held = await hold(mine, await open(mine), `held ${layout}`);
    const rival = await open(mine);
    const looked = await mine.look([{ name: held.name }], call());
    const over = looked.kind === "seen" ? looked.seats[0]?.version : undefined;
    const [claimed] = await mine.claim(
      [{ session: rival, name: held.name, bid: asBid("r.1"), over, value: "" }],
      call(),
    );
    expect(claimed?.kind).toBe("beaten");
    await mine.close();
  });

  it("everything that it writes goes away by itself", async () => {
    await byHand(url(), "FLUSHALL");
    const mine = redis(url(), { layout });
    const session = await open(mine);
    const [first, second] = [await hold(mine, session, "first"), await hold(mine, session, "second")];
    await mine.keep(session, [first, second], call());
    await mine.release({ session, holds: [first], endSession: false }, call());
    const other = await open(mine);
    await mine.release({ session: other, holds: [], endSession: true }, call());
    const found = await keys();
    expect(found.length).toBeGreaterThan(3);
    for (const key of found) expect([key, Number(await byHand(url(), "PTTL", key)) > 0]).toEqual([key, true]);
    await mine.close();
  });
});

it("a session that is given up before its opening arrives is not opened", async () => {
  const session = { id: "late", candidate: "c", ttlMs: 5000 };
  await store.release({ session, holds: [], endSession: true }, call());
  expect((await store.keep({ nonce: "late", candidate: "c", ttlMs: 5000 }, [], call())).kind).toBe("session-lost");
});

describe("a session that has run out stays over, also if the server's clock is set back after", () => {
  const SEEN: readonly (readonly [
    by: string,
    see: (mine: UnfencedStore, nonce: string, session: Session) => Promise<unknown>,
  ])[] = [
    ["its own renewal", (mine, _nonce, session) => mine.keep(session, [], call())],
    ["its own opening", (mine, nonce) => mine.keep({ nonce, candidate: "c", ttlMs: 5000 }, [], call())],
    ["a rival that takes its seat", async (mine) => hold(mine, await open(mine), "x")],
  ];
  it.each(SEEN)("%s", async (by, see) => {
    const prefix = `back-${by.replaceAll(" ", "-")}`;
    const mine = redis(url(), { prefix });
    const nonce = `nonce ${by}`;
    const opened = await mine.keep({ nonce, candidate: "c", ttlMs: 5000 }, [], call());
    if (opened.kind !== "kept") return expect.unreachable();
    const { session } = opened;
    const held = await hold(mine, session, "x");
    await byHand(url(), "HSET", `${prefix}:session:${session.id}`, "until", "1");
    await see(mine, nonce, session);
    await byHand(url(), "HSET", `${prefix}:session:${session.id}`, "until", `${Date.now() + 3_600_000}`);
    expect((await mine.keep(session, [held], call())).kind).toBe("session-lost");
    await mine.close();
  });
});

it("a hash of somebody else in the place of a seat is refused, and stays", async () => {
  const mine = redis(url(), { prefix: "hash" });
  await byHand(url(), "HSET", "hash:seat:x", "colour", "blue");
  const [claimed] = await mine.claim(
    [{ session: await open(mine), name: "x", bid: asBid("b.1"), over: VACANT, value: "" }],
    call(),
  );
  expect(claimed).toMatchObject({ kind: "refused", code: "STORE_FOREIGN_DATA" });
  expect(await byHand(url(), "HGETALL", "hash:seat:x")).toEqual(["colour", "blue"]);
  await mine.close();
});

it("of several claims in one request none is written if one of them finds what is not ours", async () => {
  const mine = redis(url(), { prefix: "several" });
  const [session, other] = [await open(mine), await open(mine)];
  await hold(mine, other, "second");
  await byHand(url(), "DEL", `several:session:${other.id}`);
  await byHand(url(), "SET", `several:session:${other.id}`, "somebody's data");
  const claims = ["first", "second"].map((name) => ({ session, name, bid: asBid("b.1"), over: VACANT, value: "" }));
  for (const claimed of await mine.claim(claims, call())) expect(claimed.kind).toBe("refused");
  expect(await byHand(url(), "EXISTS", "several:seat:first")).toBe(0);
  await byHand(url(), "DEL", `several:session:${other.id}`);
  await mine.close();
});

it("of two claims of one name in one request one is granted, in either layout", async () => {
  for (const layout of ["ours", "redlock"] as const) {
    const mine = redis(url(), { prefix: `twice-${layout}`, layout });
    const sessions = [await open(mine), await open(mine)];
    const claims = sessions.map((session, index) => ({
      session,
      name: `twice ${layout}`,
      bid: asBid(`b.${index}`),
      over: VACANT,
      value: "",
    }));
    expect((await mine.claim(claims, call())).map(({ kind }) => kind)).toEqual(["granted", "beaten"]);
    for (const session of sessions) {
      await mine.release({ session, holds: [], endSession: true }, call());
      expect(await heldBy(`twice-${layout}:session:${session.id}`)).toEqual([]);
    }
    await mine.close();
  }
});

it("what a session has stands in its record, which expires by itself, and goes from there when it is given back", async () => {
  const mine = redis(url(), { prefix: "lists" });
  const session = await open(mine);
  const record = `lists:session:${session.id}`;
  const claims = ["a", "b", "c"].map((name) => ({ session, name, bid: asBid(`b.${name}`), over: VACANT, value: "" }));
  await mine.claim(claims, call());
  expect(Number(await byHand(url(), "PTTL", record))).toBeGreaterThan(session.ttlMs);
  expect(await heldBy(record)).toEqual(["hold:a", "hold:b", "hold:c"]);
  await mine.release({ session, holds: [{ name: "b", bid: asBid("b.b") }], endSession: false }, call());
  expect(await heldBy(record)).toEqual(["hold:a", "hold:c"]);
  await mine.close();
});

it("a text below our prefix that we have not written is refused, whatever lines it has", async () => {
  const mine = redis(url(), { prefix: "lines" });
  const session = await open(mine);
  for (const text of ["", "conclave", "conclave\nx", "a\nb\n1 1\nc", "conclave\na\nb\n1\nc", "was\nb"]) {
    await byHand(url(), "SET", "lines:seat:taken", text);
    const [claimed] = await mine.claim(
      [{ session, name: "taken", bid: asBid("b.1"), over: VACANT, value: "" }],
      call(),
    );
    expect([text, claimed]).toMatchObject([text, { kind: "refused", code: "STORE_FOREIGN_DATA" }]);
    expect(await byHand(url(), "GET", "lines:seat:taken")).toBe(text);
  }
  await mine.close();
});

it("a value of any text, and any length of the candidate's name, are read as they were written", async () => {
  for (const layout of ["ours", "redlock"] as const) {
    const mine = redis(url(), { prefix: `texts-${layout}`, layout });
    for (const candidate of ["", "web", "ü 漢\n12 3\n"]) {
      const kept = await mine.keep({ nonce: `texts-${candidate.length}`, candidate, ttlMs: 5000 }, [], call());
      if (kept.kind !== "kept") throw new Error(kept.kind);
      const [name, value] = [`texts ${layout} ${candidate.length}`, "1 2\nconclave\n"];
      const claim = { session: kept.session, name, bid: asBid("b.1"), over: VACANT, value };
      expect((await mine.claim([claim], call())).map(({ kind }) => kind)).toEqual(["granted"]);
      expect(await mine.look([{ name }], call())).toMatchObject({
        seats: [{ state: "held", holder: { candidate, value, bid: "b.1" }, ttlMs: 5000 }],
      });
    }
    await mine.close();
  }
});

it("one renewal is one request, whatever is held; a free name is taken with one, and given back with one", async () => {
  const candidate = createCandidate({ store, ttlMs: 60_000, unfenced: true });
  await candidate.withLock("warm", async () => {});
  const from = await commands();
  for (let round = 0; round < 5; round++) await candidate.withLock(`name ${round}`, async () => {});
  expect((await commands()) - from).toBe(10);
  const session = await open(store);
  const claims = Array.from({ length: 1000 }, (_, index) => ({
    session,
    name: `many ${index}`,
    bid: asBid(`many.${index}`),
    over: VACANT,
    value: "",
  }));
  const holds = (await store.claim(claims, call())).flatMap((claimed) =>
    claimed.kind === "granted" ? [claimed.hold] : [],
  );
  expect(holds).toHaveLength(1000);
  const before = await commands();
  expect(await store.keep(session, holds, call())).toMatchObject({ kind: "kept", lost: [], strays: [] });
  expect((await commands()) - before).toBe(1);
  await candidate.close();
});
