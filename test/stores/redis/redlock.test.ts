// Redlock over three real servers: one may be away; what got no majority is taken back in the same call; a server that has started again votes for nobody until what it may have forgotten
// has run out; a server that missed something is told with the next renewal.
import { afterEach, beforeAll, expect, it } from "vitest";
import { asBid, type Claimed, type Session, type UnfencedStore, VACANT } from "conclave/stores/contract";
import { redis } from "conclave/stores/redis";
import * as server from "../../../scripts/servers/redis.mjs";
import { useServers } from "../../support/servers.ts";
import { call, hold, open } from "../moves.ts";
import { byHand, severalUrl, untilItVotes } from "./stage.ts";

const MAX_TTL_MS = 3000;
const servers = useServers(server, { nodes: 3 });
const stores: UnfencedStore[] = [];
const store = (layout: "ours" | "redlock" = "redlock"): UnfencedStore => {
  const made = redis(severalUrl(servers()), { maxTtlMs: MAX_TTL_MS, layout });
  stores.push(made);
  return made;
};
afterEach(async () => {
  for (const node of servers().nodes) node.resume();
  for (const each of stores.splice(0)) await each.close();
});
beforeAll(async () => await untilItVotes(store()), 30_000);

const at = (server: number): string => servers().urls[server] ?? "";
const ask = async (of: UnfencedStore, session: Session, name: string, bid: string): Promise<Claimed> => {
  const [claimed] = await of.claim([{ session, name, bid: asBid(bid), over: VACANT, value: "" }], call());
  if (claimed === undefined) throw new Error("no answer");
  return claimed;
};

it("what a claim got from a minority is taken back in the same call", async () => {
  const mine = store();
  const session = await open(mine, 2500);
  for (const server of [1, 2]) await byHand(at(server), "SET", "split", "another's", "PX", "60000");
  expect(await ask(mine, session, "split", "a.1")).toMatchObject({ kind: "beaten", seat: { state: "held" } });
  expect(await byHand(at(0), "EXISTS", "split")).toBe(0);
});

it("one server may be away: names are granted, renewed and given back by the other two", async () => {
  const mine = store();
  const session = await open(mine, 2500);
  servers().nodes[2]?.pause();
  const held = await hold(mine, session, "two of three");
  expect(await mine.keep(session, [held], call())).toMatchObject({ kind: "kept", lost: [], unsure: [] });
  const rival = await open(store(), 2500);
  expect((await ask(store(), rival, "two of three", "r.1")).kind).toBe("beaten");
  expect(await mine.release({ session, holds: [held], endSession: true }, call())).toEqual({ kind: "released" });
  expect((await ask(store(), rival, "two of three", "r.2")).kind).toBe("granted");
});

it("with two away nothing is granted, and nothing is certain", async () => {
  const mine = store();
  const session = await open(mine, 2500);
  servers().nodes[1]?.pause();
  servers().nodes[2]?.pause();
  const claim = { session, name: "alone", bid: asBid("l.1"), over: VACANT, value: "" };
  const [claimed] = await mine.claim([claim], call(AbortSignal.timeout(400)));
  expect(claimed?.kind).toBe("unknown");
  expect((await mine.keep(session, [], call(AbortSignal.timeout(400)))).kind).toBe("unknown");
});

it("a claim counts from its own send also at a server that the last renewal has not reached", async () => {
  const mine = store("ours");
  const session = await open(mine, 2500);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const held = await hold(mine, session, "counts from the claim");
  for (const url of servers().urls) {
    const until = Number(await byHand(url, "HGET", `{conclave}:session:${session.id}`, "until"));
    expect(until - Date.now()).toBeGreaterThan(1600);
  }
  await mine.release({ session, holds: [held], endSession: true }, call());
});

it("a server that has missed a claim is told with the next renewal, unless it was given back there", async () => {
  const mine = store();
  const session = await open(mine, 2500);
  const held = await hold(mine, session, "missed");
  await settled();
  await byHand(at(0), "DEL", "missed");
  expect(await mine.keep(session, [held], call())).toMatchObject({ lost: [], unsure: [] });
  await settled();
  expect(await byHand(at(0), "EXISTS", "missed")).toBe(1);
  await mine.release({ session, holds: [held], endSession: false }, call());
  await mine.keep(session, [held], call());
  await settled();
  for (const url of servers().urls) expect(await byHand(url, "EXISTS", "missed")).toBe(0);
});

/** A majority has answered; the third server has been sent the same, and does it before what is sent to it now. */
async function settled(): Promise<void> {
  for (const each of stores) await Promise.all([0, 1, 2].map(() => each.look([{ name: "settled" }], call())));
  await new Promise((resolve) => setTimeout(resolve, 100));
}

it("a server that has started again votes for nobody until what it may have forgotten has run out", async () => {
  const mine = store();
  const session = await open(mine, 2500);
  const held = await hold(mine, session, "restarted");
  const rivals = store();
  const rival = await open(rivals, 2500);
  await byHand(at(1), "SET", "restarted", "another's", "PX", "1"); // the holder has exactly two: 0 and 2
  await servers().nodes[0]?.restart();
  expect(await byHand(at(0), "EXISTS", "restarted")).toBe(0);
  await rivals.keep(rival, [], call());
  expect((await ask(rivals, rival, "restarted", "r.1")).kind).not.toBe("granted");
  expect(await byHand(at(0), "EXISTS", "restarted")).toBe(0);
  await mine.release({ session, holds: [held], endSession: true }, call());
  await untilItVotes(store());
}, 20_000);
