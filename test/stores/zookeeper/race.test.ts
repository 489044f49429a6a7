// `shape: "race"` on a real server: the rules on which exclusion rests there, beside a hand that writes what others write.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  asBid,
  type Call,
  type Claimed,
  type Hold,
  type Session,
  VACANT,
  type Version,
} from "conclave/stores/contract";
import { zookeeper } from "conclave/stores/zookeeper";
import { parseAddress } from "../../../src/clients/zookeeper/address.ts";
import { ZooKeeperClient } from "../../../src/clients/zookeeper/client.ts";
import {
  createRequest,
  deleteRequest,
  EPHEMERAL,
  getChildrenRequest,
  getDataRequest,
  type NodeData,
  OPEN_ACL,
  PERSISTENT,
  readChildren,
  readCreated,
  readData,
  readStat,
  setDataRequest,
} from "../../../src/clients/zookeeper/messages.ts";
import type { ZooKeeperSession } from "../../../src/clients/zookeeper/session.ts";
import { ZooKeeperLink } from "../../../src/stores/zookeeper/link.ts";
import { take } from "../../../src/stores/zookeeper/race.ts";
import { HeldSession } from "../../../src/stores/zookeeper/sessions.ts";
import type { ZooKeeperStore } from "../../../src/stores/zookeeper/zookeeper-store.ts";
import * as server from "../../../scripts/servers/zookeeper.mjs";
import { useServers } from "../../support/servers.ts";
import { urlOf } from "./zookeeper.ts";

const servers = useServers(server);
let store: ZooKeeperStore;
let hand: ZooKeeperSession;
let count = 0;
const LATCH = `_c_${"0".repeat(8)}-0000-0000-0000-${"0".repeat(12)}-latch-0000000001`;
const signal = (): AbortSignal => AbortSignal.timeout(10_000);
const call = (): Call => ({ signal: signal(), sentAtMs: performance.now() });
const fresh = (): string => `race-${++count}`;

beforeEach(async () => {
  store = zookeeper(urlOf(servers()), { shape: "race" }) as ZooKeeperStore;
  hand = await new ZooKeeperClient(parseAddress(servers().urls[0] ?? "", ["tickMs"])).begin(4000, signal());
});
afterEach(async () => {
  await hand.end(signal());
  await store.close();
});

async function open(candidate = "web-1"): Promise<Session> {
  const kept = await store.keep({ nonce: `${candidate}-${fresh()}`, candidate, ttlMs: 6000 }, [], call());
  if (kept.kind !== "kept") throw new Error(`no session: ${kept.kind}`);
  return kept.session;
}

async function claim(session: Session, name: string, over: Version = VACANT, bid = fresh()): Promise<Claimed> {
  const [answer] = await store.claim([{ session, name, bid: asBid(bid), over, value: "" }], call());
  if (answer === undefined) throw new Error("no answer");
  return answer;
}

async function win(session: Session, name: string): Promise<Hold> {
  const claimed = await claim(session, name);
  if (claimed.kind !== "granted") throw new Error(`not granted: ${claimed.kind}`);
  return claimed.hold;
}

async function lostOf(session: Session, hold: Hold): Promise<readonly Hold[]> {
  const kept = await store.keep(session, [hold], call());
  if (kept.kind !== "kept") throw new Error(`not kept: ${kept.kind}`);
  return kept.lost;
}

const make = (path: string, flags: number): Promise<unknown> =>
  hand.ask(createRequest(path, Buffer.alloc(0), OPEN_ACL, flags), readCreated, signal());
const remove = (path: string): Promise<unknown> => hand.ask(deleteRequest(path), () => undefined, signal());
const childrenOf = async (path: string): Promise<readonly string[]> =>
  (await hand.ask(getChildrenRequest(path, false), readChildren, signal())).names.toSorted();
const read = async (path: string): Promise<NodeData> => await hand.ask(getDataRequest(path, false), readData, signal());

describe("a path that has the other shape's children is refused, and nothing is written", () => {
  it.each([
    ["a line's", LATCH, /stands in a line.*\?layout=latch.*Nothing was written/],
    ["nobody's", "config", /no part of a race.*Nothing was written/],
  ])("to a race, with a child that is %s", async (_, child, message) => {
    const name = fresh();
    await make(`/${name}`, PERSISTENT);
    await make(`/${name}/${child}`, EPHEMERAL);
    const refused = await claim(await open(), name);
    expect(refused).toMatchObject({
      kind: "refused",
      code: "STORE_FOREIGN_DATA",
      message: expect.stringMatching(message),
    });
    expect(await childrenOf(`/${name}`)).toEqual([child]);
  });

  it("to a line, with a seat that is held, and with one that was", async () => {
    const [session, name] = [await open(), fresh()];
    const line = zookeeper(urlOf(servers()));
    const kept = await line.keep({ nonce: fresh(), candidate: "web-2", ttlMs: 6000 }, [], call());
    if (kept.kind !== "kept") throw new Error(kept.kind);
    const join = { session: kept.session, name, bid: asBid(fresh()), value: "" };
    const hold = await win(session, name);
    const refused = { kind: "refused", code: "STORE_FOREIGN_DATA", message: expect.stringMatching(/\?shape=race/) };
    expect(await line.claim([join], call())).toMatchObject([refused]);
    await store.release({ session, holds: [hold], endSession: false }, call());
    expect(await line.claim([join], call())).toMatchObject([refused]);
    expect(await childrenOf(`/${name}`)).toEqual(["epoch"]);
    await line.close();
  });

  it("to a race whose path a line joins between its reading and its writing: nothing of the race stays", async () => {
    const name = fresh();
    const own = await new ZooKeeperClient(parseAddress(servers().urls[0] ?? "", ["tickMs"])).begin(4000, signal());
    const link = new ZooKeeperLink(own, await own.connection(signal()), OPEN_ACL, signal());
    const read = link.data.bind(link);
    await make(`/${name}`, PERSISTENT);
    link.data = async (path) => {
      const found = await read(path);
      if (path.endsWith("/epoch")) await make(`/${name}/${LATCH}`, EPHEMERAL);
      return found;
    };
    const session = { id: "", candidate: "web-1", ttlMs: 4000 };
    const place = { chroot: "", shape: "race", layout: "latch", domain: "d" } as const;
    const bid = asBid(fresh());
    await expect(
      take(link, new HeldSession(own), place, { session, name, bid, over: VACANT, value: "" }),
    ).rejects.toThrow(/stands in a line/);
    expect(await childrenOf(`/${name}`)).toEqual([LATCH]);
    await own.end(signal());
  });
});

it("a grant makes the seat and raises the epoch in one write, whose number is the token", async () => {
  const [session, name] = [await open(), fresh()];
  for (const epoch of [1, 2, 3]) {
    const hold = await win(session, name);
    const [seat, raised] = [await read(`/${name}/seat`), await read(`/${name}/epoch`)];
    expect([seat.stat.czxid, raised.stat.mzxid]).toEqual([hold.token?.value, hold.token?.value]);
    expect(JSON.parse(raised.data.toString())).toEqual({ epoch, bid: hold.bid });
    await store.release({ session, holds: [hold], endSession: false }, call());
    expect(await childrenOf(`/${name}`)).toEqual(["epoch"]);
  }
});

it("a claim removes no seat of another session, also over the very version that stands", async () => {
  const [session, rival, name] = [await open(), await open(), fresh()];
  const hold = await win(session, name);
  expect(await claim(rival, name, `${hold.token?.value}` as Version)).toMatchObject({ kind: "beaten" });
  expect(await lostOf(session, hold)).toEqual([]);
});

it("a seat that is another's now is lost to its old holder, who can do nothing to it: the path is the same, the epoch is not", async () => {
  const [session, rival, name] = [await open(), await open(), fresh()];
  const old = await win(session, name);
  await remove(`/${name}/seat`);
  const next = await win(rival, name);
  expect(await lostOf(session, old)).toEqual([old]);
  const memo = { session, hold: old, key: "k", value: "v", n: 1, over: undefined };
  expect(await store.writeMemo(memo, call())).toEqual({ kind: "seat-lost" });
  expect(await store.release({ session, holds: [old], endSession: false }, call())).toEqual({ kind: "released" });
  expect(await lostOf(rival, next)).toEqual([]);
});

it("a seat taken between the reading and the writing is left as it is", async () => {
  const [session, rival, name] = [await open(), await open(), fresh()];
  const own = await new ZooKeeperClient(parseAddress(servers().urls[0] ?? "", ["tickMs"])).begin(4000, signal());
  const link = new ZooKeeperLink(own, await own.connection(signal()), OPEN_ACL, signal());
  const write = link.multi.bind(link);
  let taken: Hold | undefined;
  link.multi = async (path, parts) => {
    // Taken and given back, and taken: only the version of the epoch tells.
    if (taken === undefined) {
      await store.release({ session, holds: [await win(session, name)], endSession: false }, call());
      taken = await win(rival, name);
    }
    return await write(path, parts);
  };
  const place = { chroot: "", shape: "race", layout: "latch", domain: "d" } as const;
  const late = { session: { id: "", candidate: "web-1", ttlMs: 4000 }, name, bid: asBid(fresh()), value: "" };
  expect(await take(link, new HeldSession(own), place, { ...late, over: VACANT })).toMatchObject({ kind: "beaten" });
  if (taken === undefined) throw new Error("nobody took it");
  expect(await lostOf(rival, taken)).toEqual([]);
  await own.end(signal());
});

it("a write that comes late is refused, though the seat is vacant again: its epoch has passed", async () => {
  const [session, name] = [await open(), fresh()];
  const own = await new ZooKeeperClient(parseAddress(servers().urls[0] ?? "", ["tickMs"])).begin(4000, signal());
  const link = new ZooKeeperLink(own, await own.connection(signal()), OPEN_ACL, signal());
  const write = link.multi.bind(link);
  let tries = 0;
  await store.release({ session, holds: [await win(session, name)], endSession: false }, call());
  link.multi = async (path, parts) => {
    if (tries++ === 0) await store.release({ session, holds: [await win(session, name)], endSession: false }, call());
    const answered = await write(path, parts);
    expect(answered.answers.every(({ code }) => code === 0)).toBe(tries > 1);
    return answered;
  };
  const place = { chroot: "", shape: "race", layout: "latch", domain: "d" } as const;
  const late = { session: { id: "", candidate: "web-1", ttlMs: 4000 }, name, bid: asBid(fresh()), value: "" };
  expect(await take(link, new HeldSession(own), place, { ...late, over: VACANT })).toMatchObject({ kind: "granted" });
  expect(tries).toBe(2);
  await own.end(signal());
});

it("a bid that was given back is not granted again, though nobody took the seat since", async () => {
  const [session, name, bid] = [await open(), fresh(), fresh()];
  expect(await claim(session, name, VACANT, bid)).toMatchObject({ kind: "granted" });
  await store.release({ session, holds: [{ name, bid: asBid(bid) }], endSession: false }, call());
  expect(await claim(session, name, VACANT, bid)).toMatchObject({ kind: "beaten", seat: { state: "vacant" } });
});

it("an epoch that somebody else has written to takes nothing from the holder, and is not overwritten", async () => {
  const [session, name] = [await open(), fresh()];
  const hold = await win(session, name);
  await hand.ask(setDataRequest(`/${name}/epoch`, Buffer.from("7"), -1), readStat, signal());
  expect(await lostOf(session, hold)).toEqual([]);
  expect(await claim(await open(), name)).toMatchObject({ kind: "refused", code: "STORE_FOREIGN_DATA" });
  expect((await read(`/${name}/epoch`)).data.toString()).toBe("7");
});
