// Bans on a real ZooKeeper, beside the suite: what comes between the look of a request and its multi, sessions that move, and the end of a node's sessions.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createCandidate } from "conclave";
import {
  asBid,
  type Claim,
  type FencedStore,
  type Hold,
  keepsBans,
  type MemoWrite,
  type MemoWritten,
  type NodeIdentity,
  type Session,
  VACANT,
} from "conclave/stores/contract";
import { zookeeper } from "conclave/stores/zookeeper";
import { parseAddress } from "../../../src/clients/zookeeper/address.ts";
import { ZooKeeperClient } from "../../../src/clients/zookeeper/client.ts";
import type { ZooKeeperConnection } from "../../../src/clients/zookeeper/connection.ts";
import { ZooKeeperError } from "../../../src/clients/zookeeper/errors.ts";
import { EPHEMERAL, OPEN_ACL, type Part, PERSISTENT } from "../../../src/clients/zookeeper/messages.ts";
import type { ZooKeeperSession } from "../../../src/clients/zookeeper/session.ts";
import { Banned } from "../../../src/stores/banned.ts";
import { enrol } from "../../../src/stores/zookeeper/bans.ts";
import { ZooKeeperLink } from "../../../src/stores/zookeeper/link.ts";
import { writeMemo } from "../../../src/stores/zookeeper/memos.ts";
import type { TreePlace } from "../../../src/stores/zookeeper/place.ts";
import { take } from "../../../src/stores/zookeeper/race.ts";
import { idOfSession } from "../../../src/stores/zookeeper/record.ts";
import { outcomeOf } from "../../../src/stores/zookeeper/refusals.ts";
import { HeldSession } from "../../../src/stores/zookeeper/sessions.ts";
import { join } from "../../../src/stores/zookeeper/stand.ts";
import * as server from "../../../scripts/servers/zookeeper.mjs";
import { useServers } from "../../support/servers.ts";
import { call, hold } from "../moves.ts";
import { urlOf } from "./zookeeper.ts";

const servers = useServers(server);
const TTL_MS = 8000;
const signal = (): AbortSignal => AbortSignal.timeout(20_000);
let count = 0;
const onEvent = (): void => {};
const fresh = (label: string): string => `${label}-${++count}`;

/** A connection before one of whose multis something else happens. */
class Meddled extends ZooKeeperLink {
  #countdown = 0;
  #meddle: (() => Promise<void>) | undefined;

  /** Before the next multi, or a later one. */
  before(meddle: () => Promise<void>, nth = 1): void {
    this.#countdown = nth;
    this.#meddle = meddle;
  }

  /** The others are sent at once, in the order in which they are asked for. */
  override multi(path: string, parts: readonly Part[]): ReturnType<ZooKeeperLink["multi"]> {
    const meddle = this.#meddle;
    if (meddle === undefined || --this.#countdown > 0) return super.multi(path, parts);
    this.#meddle = undefined;
    return meddle().then(() => super.multi(path, parts));
  }
}

let store: FencedStore;
const sessions: ZooKeeperSession[] = [];
beforeEach(() => {
  store = zookeeper(urlOf(servers()));
});
afterEach(async () => {
  await Promise.all(sessions.splice(0).map((session) => session.end(signal())));
  await store.close();
});

async function begin(): Promise<{ readonly session: ZooKeeperSession; readonly link: Meddled }> {
  const session = await new ZooKeeperClient(parseAddress(servers().urls[0] ?? "", ["tickMs"])).begin(TTL_MS, signal());
  sessions.push(session);
  const connection: ZooKeeperConnection = await session.connection(signal());
  return { session, link: new Meddled(session, connection, OPEN_ACL, signal()) };
}

const speakerOf = ({ id, password }: ZooKeeperSession) => ({
  id: idOfSession(id),
  secret: password.toString("hex"),
  ttlMs: TTL_MS,
});

/** A session that speaks for this node, in the hands of the test. */
async function speak(node: NodeIdentity) {
  const { session, link } = await begin();
  const enrolled = await enrol(link, "", node, speakerOf(session));
  if (enrolled.kind !== "enrolled") throw new Error(enrolled.code);
  const held = new HeldSession(session, enrolled.pass);
  const { id, secret, ttlMs } = speakerOf(session);
  return { link, held, session: { id, secret, ttlMs, candidate: id, node: node.name } satisfies Session };
}

const here = (shape: TreePlace["shape"]): TreePlace => ({ chroot: "", shape, layout: "latch", domain: "d" });
const claimOf = (session: Session, name: string): Claim => ({
  session,
  name,
  bid: asBid(fresh("bid")),
  over: VACANT,
  value: "",
});

async function openFor(at: FencedStore, node: NodeIdentity): Promise<Session> {
  const kept = await at.keep({ nonce: fresh("nonce"), candidate: "x", ttlMs: TTL_MS, node }, [], call());
  if (kept.kind !== "kept") throw new Error(kept.kind);
  return { ...kept.session, node: node.name };
}

/** A term that bans and lifts. */
class Shooter {
  readonly session: Session;
  readonly hold: Hold;
  readonly #over = new Map<string, MemoWrite["over"]>();
  #n = 0;

  constructor(session: Session, held: Hold) {
    this.session = session;
    this.hold = held;
  }

  static async take(): Promise<Shooter> {
    const session = await openFor(store, { name: fresh("shooter"), machine: "m0" });
    return new Shooter(session, await hold(store, session, fresh("ledger")));
  }

  write(node: string, ban: Omit<NonNullable<MemoWrite["ban"]>, "node">): MemoWrite {
    const { session, hold: held } = this;
    const value = JSON.stringify(ban);
    return { session, hold: held, key: node, value, n: this.#n + 1, over: this.#over.get(node), ban: { node, ...ban } };
  }

  async send(write: MemoWrite): Promise<MemoWritten> {
    if (!keepsBans(store)) throw new Error("it keeps bans");
    const written = await store.writeMemo(write, call());
    if (written.kind === "written") {
      this.#n = write.n;
      this.#over.set(write.key, written.version);
    }
    return written;
  }

  async ban(node: string, stands = true): Promise<void> {
    expect((await this.send(this.write(node, { stands }))).kind).toBe("written");
  }
}

const nodeOf = (machine = "m1"): NodeIdentity => ({ name: fresh("db"), machine });
const keepOf = async (at: FencedStore, session: Session): Promise<string> => (await at.keep(session, [], call())).kind;

describe("a ban that comes between the look and the multi", () => {
  it("an opening is refused, and nothing is recorded", async () => {
    const [shooter, node, { session, link }] = [await Shooter.take(), nodeOf(), await begin()];
    await speak(node);
    link.before(() => shooter.ban(node.name));
    expect(await enrol(link, "", node, speakerOf(session))).toMatchObject({ kind: "refused", code: "NODE_BANNED" });
    expect((await link.children(`/.conclave/node/${node.name}/sessions`)).found?.names).toHaveLength(1);
  });

  it("no entry of a line is made", async () => {
    const [shooter, node, name] = [await Shooter.take(), nodeOf(), fresh("line")];
    const { link, held, session } = await speak(node);
    link.before(() => shooter.ban(node.name));
    await expect(join(link, held, here("line"), claimOf(session, name))).rejects.toThrow(Banned);
    expect((await link.children(`/${name}`)).found?.names ?? []).toEqual([]);
  });

  it("an entry that was made before it is not granted the seat", async () => {
    const [shooter, node, name] = [await Shooter.take(), nodeOf(), fresh("line")];
    const { link, held, session } = await speak(node);
    link.before(() => shooter.ban(node.name), 2);
    await expect(join(link, held, here("line"), claimOf(session, name))).rejects.toThrow(Banned);
    expect((await link.children(`/${name}`)).found?.names).toHaveLength(1);
  });

  it("no seat of a race is taken", async () => {
    const [shooter, node, name] = [await Shooter.take(), nodeOf(), fresh("race")];
    const { link, held, session } = await speak(node);
    link.before(() => shooter.ban(node.name));
    await expect(take(link, held, here("race"), claimOf(session, name))).rejects.toThrow(Banned);
    expect(await link.exists(`/${name}/seat`)).toBeUndefined();
  });

  it("the ban of another election is written beside it", async () => {
    const [one, other, node] = [await Shooter.take(), await speak(nodeOf()), nodeOf()];
    const granted = await join(other.link, other.held, here("line"), claimOf(other.session, fresh("ledger")));
    if (granted.kind !== "granted") throw new Error(granted.kind);
    const ban = { node: node.name, stands: true };
    const write = { session: other.session, hold: granted.hold, key: "b", value: "", n: 1, over: undefined, ban };
    other.link.before(() => one.ban(node.name), 2); // the first multi makes the gate
    expect(await writeMemo(other.link, other.held, "", write, async () => {})).toMatchObject({ kind: "written" });
    const gate = await other.link.data(`/.conclave/node/${node.name}`);
    expect(JSON.parse(gate?.data.toString() ?? "")).toEqual({ machine: "", bans: [one.hold.name, granted.hold.name] });
  });
});

it("another machine that comes at the same moment does not get the name of a node", async () => {
  const [node, { session, link }] = [nodeOf("m1"), await begin()];
  await (await speak(node)).held.session.end(signal());
  link.before(async () => void (await speak(node)));
  const refused = await enrol(link, "", { ...node, machine: "m2" }, speakerOf(session));
  expect(refused).toMatchObject({ kind: "refused", code: "NODE_DUPLICATE" });
});

it("a session from before a ban gets nothing after its lift either", async () => {
  const [shooter, node] = [await Shooter.take(), nodeOf()];
  const session = await openFor(store, node);
  expect(await keepOf(store, session)).toBe("kept");
  await shooter.ban(node.name);
  await shooter.ban(node.name, false);
  expect(await keepOf(store, session)).toBe("session-lost");
  expect(await keepOf(store, await openFor(store, node))).toBe("kept");
});

it("a session that has moved to another process obeys the ban there", async () => {
  const [shooter, node, name] = [await Shooter.take(), nodeOf(), fresh("line")];
  const session = await openFor(store, node);
  const elsewhere = zookeeper(urlOf(servers()));
  expect(await keepOf(elsewhere, session)).toBe("kept");
  await shooter.ban(node.name);
  expect(await keepOf(elsewhere, session)).toBe("session-lost");
  expect((await elsewhere.claim([claimOf(session, name)], call())).map(({ kind }) => kind)).toEqual(["session-lost"]);
  await elsewhere.close();
});

it("a gate that was deleted by hand, and made anew, lets no old session through", async () => {
  const [node, { link }] = [nodeOf(), await begin()];
  const gate = `/.conclave/node/${node.name}`;
  const session = await openFor(store, node);
  await speak(node); // the gate has its first version again when two have come in
  for (const id of (await link.children(`${gate}/sessions`)).found?.names ?? [])
    await link.delete(`${gate}/sessions/${id}`);
  await link.delete(`${gate}/sessions`);
  await link.delete(gate);
  await speak(node);
  expect(await keepOf(store, session)).toBe("session-lost");
});

it("foreign data in the place of a gate is refused, and not overwritten", async () => {
  const [node, { link }] = [nodeOf(), await begin()];
  await openFor(store, nodeOf());
  await link.create(`/.conclave/node/${node.name}`, Buffer.from("mine"), PERSISTENT);
  const spec = { nonce: fresh("nonce"), candidate: "x", ttlMs: TTL_MS, node };
  expect(await store.keep(spec, [], call())).toMatchObject({ kind: "refused", code: "STORE_FOREIGN_DATA" });
  expect((await link.data(`/.conclave/node/${node.name}`))?.data.toString()).toBe("mine");
});

describe("the end of a node's sessions", () => {
  it("a waiter gets the seat of a node that is off, long before its ttl", async () => {
    const candidate = (name: string, ttlMs = TTL_MS) =>
      createCandidate({ store: zookeeper(urlOf(servers())), node: { name, machine: `of ${name}` }, ttlMs, onEvent });
    const [dead, next, shooter] = [candidate("db-1", 10_000), candidate("db-3"), candidate("db-2")];
    await dead.election("reports").campaign();
    const waits = next.election("reports").campaign();
    const term = await shooter.election("ledger").campaign();
    await term.ban("db-1", "silent");
    const begins = performance.now();
    await term.endSessionsOf("db-1");
    await waits;
    expect(performance.now() - begins).toBeLessThan(6000);
    expect(term.isHeld()).toBe(true);
    await Promise.all([dead, next, shooter].map((each) => each.close()));
  });

  it("a request that is sent again ends the sessions that the first try has left", async () => {
    const [shooter, node, { session, link }] = [await Shooter.take(), nodeOf(), await begin()];
    await shooter.ban(node.name);
    const end = shooter.write(node.name, { stands: true, endsSessions: true });
    const first = await shooter.send(end);
    expect(first.kind).toBe("written");
    // As if the end of this session had not arrived.
    const { id, ...data } = { ...speakerOf(session), version: 0 };
    await link.create(`/.conclave/node/${node.name}/sessions/${id}`, Buffer.from(JSON.stringify(data)), EPHEMERAL);
    expect(await shooter.send(end)).toEqual(first);
    await expect(link.sync("/")).rejects.toThrow();
    await expect(session.connection(signal())).rejects.toThrow("is over");
  });

  it("ends nothing that the node has opened after a lift which came between the look and the multi", async () => {
    const [node, other] = [nodeOf(), await speak(nodeOf())];
    const granted = await join(other.link, other.held, here("line"), claimOf(other.session, fresh("ledger")));
    if (granted.kind !== "granted") throw new Error(granted.kind);
    const of = { session: other.session, hold: granted.hold, key: "b", value: "" };
    const ended: string[] = [];
    const write = async (n: number, over: MemoWrite["over"], ban: object): Promise<MemoWritten> =>
      await writeMemo(
        other.link,
        other.held,
        "",
        { ...of, n, over, ban: { node: node.name, stands: true, ...ban } },
        async ({ id }) => {
          ended.push(id);
        },
      );
    const banned = await write(1, undefined, {});
    if (banned.kind !== "written") throw new Error(banned.kind);
    let later: Session | undefined;
    const gate = `/.conclave/node/${node.name}`;
    other.link.before(async () => {
      // As the lift does it. Its memo is left as it is, so that only the gate shows it.
      await other.link.setData(gate, Buffer.from(JSON.stringify({ machine: "", bans: [] })));
      later = (await speak(node)).session;
    });
    const late = await write(2, banned.version, { endsSessions: true });
    expect(late).toMatchObject({ kind: "refused", code: "STORE_DENIED" });
    expect(later).toBeDefined();
    expect(ended).toEqual([]);
  });

  it("an end that fails half-way leaves the outcome unknown, and never refused", async () => {
    const [node, other] = [nodeOf(), await speak(nodeOf())];
    const granted = await join(other.link, other.held, here("line"), claimOf(other.session, fresh("ledger")));
    if (granted.kind !== "granted") throw new Error(granted.kind);
    await speak(node);
    const of = { session: other.session, hold: granted.hold, key: "b", value: "" };
    const ban = { node: node.name, stands: true };
    const banned = await writeMemo(other.link, other.held, "", { ...of, n: 1, over: undefined, ban }, async () => {});
    if (banned.kind !== "written") throw new Error(banned.kind);
    const end: MemoWrite = { ...of, n: 2, over: banned.version, ban: { ...ban, endsSessions: true } };
    const unreachable = async (): Promise<void> => {
      throw new ZooKeeperError("unreachable", "not-applied", "nobody is there");
    };
    const failed: unknown = await writeMemo(other.link, other.held, "", end, unreachable).catch(
      (error: unknown) => error,
    );
    expect(outcomeOf(failed, { chroot: "", user: undefined }).kind).toBe("unknown");
  });
});
