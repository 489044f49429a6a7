// The rules of the ZooKeeper driver on which exclusion rests, one by one, on a real server and beside a hand that writes what others write.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  asBid,
  type Call,
  type Claim,
  type Claimed,
  type FencedStore,
  keepsMemos,
  type Session,
} from "conclave/stores/contract";
import { zookeeper } from "conclave/stores/zookeeper";
import { parseAddress } from "../../../src/clients/zookeeper/address.ts";
import { ZooKeeperClient } from "../../../src/clients/zookeeper/client.ts";
import {
  ANY,
  createRequest,
  deleteRequest,
  EPHEMERAL,
  getChildrenRequest,
  getDataRequest,
  multiRequest,
  OPEN_ACL,
  PERSISTENT,
  readChildren,
  readCreated,
  readData,
} from "../../../src/clients/zookeeper/messages.ts";
import type { ZooKeeperSession } from "../../../src/clients/zookeeper/session.ts";
import { ZooKeeperLink } from "../../../src/stores/zookeeper/link.ts";
import { HeldSession } from "../../../src/stores/zookeeper/sessions.ts";
import { join } from "../../../src/stores/zookeeper/stand.ts";
import * as server from "../../../scripts/servers/zookeeper.mjs";
import { useServers } from "../../support/servers.ts";
import { urlOf, wordOf } from "./zookeeper.ts";

const servers = useServers(server);
let store: FencedStore;
let hand: ZooKeeperSession;
let names = 0;
const signal = (): AbortSignal => AbortSignal.timeout(10_000);
const call = (): Call => ({ signal: signal(), sentAtMs: performance.now() });
const fresh = (): string => `rule-${++names}`;

beforeEach(async () => {
  store = zookeeper(urlOf(servers()));
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

async function claim(session: Session, name: string, bid = `b-${name}`): Promise<Claimed> {
  const one: Claim = { session, name, bid: asBid(bid), value: "" };
  const [answer] = await store.claim([one], call());
  if (answer === undefined) throw new Error("no answer");
  return answer;
}

const make = (path: string, flags: number, data: Buffer = Buffer.alloc(0)): Promise<unknown> =>
  hand.ask(createRequest(path, data, OPEN_ACL, flags), readCreated, signal());
const childrenOf = async (path: string): Promise<readonly string[]> =>
  (await hand.ask(getChildrenRequest(path, false), readChildren, signal())).names;

describe("a line that cannot be judged is refused, and nothing is written", () => {
  it.each([
    ["kazoo's", `${"a".repeat(32)}__lock__0000000001`, "STORE_FOREIGN_DATA"],
    [
      "Curator's other recipe's",
      `_c_${"0".repeat(8)}-0000-0000-0000-${"0".repeat(12)}-lock-0000000001`,
      "STORE_FOREIGN_DATA",
    ],
    ["nobody's", "config", "STORE_FOREIGN_DATA"],
    ["one whose number comes after the last", "_c_x-latch--2147483648", "STORE_UNSUPPORTED"],
    ["one with the last number", "_c_x-latch-2147483647", "STORE_UNSUPPORTED"],
  ])("with a child that is %s", async (_, child, code) => {
    const name = fresh();
    await make(`/${name}`, PERSISTENT);
    await make(`/${name}/${child}`, EPHEMERAL);
    expect(await claim(await open(), name)).toMatchObject({ kind: "refused", code, retryable: false });
    expect(await childrenOf(`/${name}`)).toEqual([child]);
  });
});

it("an entry of one's own name that is bound to another session is not believed, whatever it contains", async () => {
  const [session, name] = [await open(), fresh()];
  expect(await claim(session, name)).toMatchObject({ kind: "granted" });
  const [node = ""] = await childrenOf(`/${name}`);
  const path = `/${name}/${node}`;
  const { data } = await hand.ask(getDataRequest(path, false), readData, signal());
  await hand.ask(deleteRequest(path), () => undefined, signal());
  await make(path, EPHEMERAL, data);
  expect(await claim(session, name)).toMatchObject({ kind: "refused", code: "STORE_FOREIGN_DATA" });
});

it("a memo is not written when the entry of its term is gone, whatever this process remembers of it", async () => {
  const [session, name] = [await open(), fresh()];
  const granted = await claim(session, name);
  if (granted.kind !== "granted" || !keepsMemos(store)) throw new Error(granted.kind);
  const { hold } = granted;
  const write = { session, hold, key: "k", value: "v", n: 1, over: undefined };
  expect(await store.writeMemo(write, call())).toMatchObject({ kind: "written" });
  const [node = ""] = await childrenOf(`/${name}`);
  await hand.ask(deleteRequest(`/${name}/${node}`), () => undefined, signal());
  expect(await store.writeMemo({ ...write, key: "late" }, call())).toEqual({ kind: "seat-lost" });
  const read = await store.readMemos(name, undefined, call());
  expect(read.kind === "memos" && read.memos.map(({ key }) => key)).toEqual(["k"]);
});

it("a multi of checks is a write of its own, also if it is refused", async () => {
  const multi = async (path: string): Promise<bigint> =>
    await hand.ask(multiRequest("keep", [{ check: path, version: ANY }]), (_, zxid) => zxid, signal());
  const [first, second, refused, last] = [
    await multi("/"),
    await multi("/"),
    await multi("/nowhere"),
    await multi("/"),
  ];
  expect([second - first, refused - second, last - refused].every((step) => step >= 1n)).toBe(true);
});

it("a claim whose answer was lost finds its entry again by its GUID, and makes no second one", async () => {
  const [session, name] = [await open(), fresh()];
  const granted = await claim(session, name);
  // One that has heard no answer knows nothing of the entry: as another handle on the same session.
  const elsewhere = zookeeper(urlOf(servers()));
  const again: Claim = { session, name, bid: asBid(`b-${name}`), value: "" };
  expect(await elsewhere.claim([again], call())).toEqual([granted]);
  expect(await childrenOf(`/${name}`)).toHaveLength(1);
  await elsewhere.close();
});

it("a claim reads no older copy than the hint that led to it: it syncs before it lists", async () => {
  const [leader, name] = [await open(), fresh()];
  await claim(leader, name);
  const own = await new ZooKeeperClient(parseAddress(servers().urls[0] ?? "", ["tickMs"])).begin(4000, signal());
  const link = new ZooKeeperLink(own, await own.connection(signal()), OPEN_ACL, signal());
  const held = new HeldSession(own);
  const place = { chroot: "", shape: "line", layout: "latch", domain: "d" } as const;
  const session = { id: own.id.toString(16).padStart(16, "0"), candidate: "web-2", ttlMs: 4000 };
  const again: Claim = { session, name, bid: asBid(fresh()), value: "" };
  expect(await join(link, held, place, again)).toMatchObject({ kind: "waiting", ahead: 1 });
  // From here on, a server that is behind: what it shows is from before the leader left, until it is asked to catch up.
  const [list, sync] = [link.children.bind(link), link.sync.bind(link)];
  const old = await list(`/${name}`);
  let isBehind = true;
  link.sync = async (path) => {
    isBehind = false;
    await sync(path);
  };
  link.children = async (path) => (isBehind ? old : await list(path));
  await store.release({ session: leader, holds: [{ name, bid: asBid(`b-${name}`) }], endSession: false }, call());
  expect(await join(link, held, place, again)).toMatchObject({ kind: "granted" });
  await own.end(signal());
});

it("a line that was listed before is joined by one write and one list, and foreign children are found then, too", async () => {
  const [session, name] = [await open(), fresh()];
  const bid = asBid(`b-${name}`);
  await claim(session, name);
  await store.release({ session, holds: [{ name, bid }], endSession: false }, call());
  const received = async (): Promise<number> =>
    Number(/^Received: (\d+)$/m.exec(await wordOf(servers().urls[0] ?? "", "srvr"))?.[1]);
  const before = await received();
  expect(await claim(session, name, "another")).toMatchObject({ kind: "granted" });
  // And the question itself, which is a connection and a word.
  expect((await received()) - before).toBeLessThanOrEqual(3);
  await store.release({ session, holds: [{ name, bid: asBid("another") }], endSession: false }, call());
  await make(`/${name}/config`, EPHEMERAL);
  expect(await claim(session, name)).toMatchObject({ kind: "refused", code: "STORE_FOREIGN_DATA" });
  expect(await childrenOf(`/${name}`)).toEqual(["config"]);
});

it("a keep goes over one road while its connection lasts, and says so when it is another", async () => {
  const session = await open();
  const roadOf = async (): Promise<string | undefined> => {
    const kept = await store.keep(session, [], call());
    return kept.kind === "kept" ? kept.road : kept.kind;
  };
  const first = await roadOf();
  expect(first).toBeDefined();
  expect(await roadOf()).toBe(first);
  // Whoever names a session takes its connection away, also with a wrong password.
  const elsewhere = zookeeper(urlOf(servers()));
  await elsewhere.keep({ ...session, secret: "00".repeat(16) }, [], call());
  let road = await roadOf();
  while (road === "unknown" || road === "refused") road = await roadOf();
  expect(road).not.toBe(first);
  await elsewhere.close();
});

it("a session that goes on at another handle goes by another road there", async () => {
  const session = await open();
  const roadAt = async (handle: FencedStore): Promise<string | undefined> => {
    const kept = await handle.keep(session, [], call());
    return kept.kind === "kept" ? kept.road : kept.kind;
  };
  const first = await roadAt(store);
  // As the main loop takes a session over from a renewal thread that is lost: both count their connections from one.
  const elsewhere = zookeeper(urlOf(servers()));
  const second = await roadAt(elsewhere);
  expect(second).toMatch(/\/1$/);
  expect(first).toMatch(/\/1$/);
  expect(second).not.toBe(first);
  await elsewhere.close();
});

it("a session whose paths are longer than a server can remove at once takes no further entry", async () => {
  const session = await open();
  const long = "x".repeat(190);
  const many = Array.from({ length: 4200 }, (_, index): Claim => {
    const name = `${long}${index}`;
    return { session, name, bid: asBid(name), value: "" };
  });
  const claimed = await store.claim(many, { signal: AbortSignal.timeout(60_000), sentAtMs: 0 });
  const refused = claimed.filter(({ kind }) => kind === "refused");
  expect(claimed.filter(({ kind }) => kind === "granted").length).toBeGreaterThan(3000);
  expect(refused[0]).toMatchObject({ code: "STORE_FULL", retryable: false });
  expect(
    await store.release({ session, holds: [], endSession: true }, { signal: AbortSignal.timeout(30_000), sentAtMs: 0 }),
  ).toEqual({ kind: "released" });
}, 90_000);

it("a session is ended from another process by its id and password, and nobody else's is", async () => {
  const [session, name] = [await open(), fresh()];
  await claim(session, name);
  const elsewhere = zookeeper(urlOf(servers()));
  await elsewhere.release({ session: { ...session, secret: "00".repeat(16) }, holds: [], endSession: true }, call());
  expect(await childrenOf(`/${name}`)).toHaveLength(1);
  expect(await elsewhere.release({ session, holds: [], endSession: true }, call())).toEqual({ kind: "released" });
  expect(await childrenOf(`/${name}`)).toEqual([]);
  expect(await store.keep(session, [], call())).toEqual({ kind: "session-lost" });
  await elsewhere.close();
});

it("a session that is taken over is lost if the server grants it less time than its terms count on, and can still be ended", async () => {
  const [opened, name] = [await open(), fresh()];
  await claim(opened, name);
  const elsewhere = zookeeper(urlOf(servers()));
  // The server grants two minutes at most.
  const session = { ...opened, ttlMs: 300_000 };
  expect(await elsewhere.keep(session, [], call())).toEqual({ kind: "session-lost" });
  expect(await elsewhere.release({ session, holds: [], endSession: true }, call())).toEqual({ kind: "released" });
  expect(await childrenOf(`/${name}`)).toEqual([]);
  await elsewhere.close();
});

it("the tick that was given counts where the server does not tell its own", async () => {
  const kept = await store.keep({ nonce: fresh(), candidate: "web-1", ttlMs: 6000 }, [], call());
  expect(kept).toMatchObject({
    met: { server: expect.stringMatching(/^ZooKeeper \d/), proofWithinMs: 250, proofApartMs: 500 },
  });
  const other = zookeeper(urlOf(servers()).replace("tickMs=500", "tickMs=800"));
  const told = await other.keep({ nonce: fresh(), candidate: "web-1", ttlMs: 6000 }, [], call());
  expect(told).toMatchObject({ met: { proofWithinMs: 400, proofApartMs: 800 } });
  await other.close();
});
