// A guarded election on a real ZooKeeper, which has a quorum and keeps bans: nothing is allowed only for tests here. Machines are objects, and the shooter does as it is told.
import { createCandidate } from "conclave";
import { type GuardedElection, guardedElection, parseStonithConfig, stonithStatus } from "conclave/stonith";
import type { Store } from "conclave/stores/contract";
import { zookeeper } from "conclave/stores/zookeeper";
import { afterEach, describe, expect, it } from "vitest";
import * as server from "../../scripts/servers/zookeeper.mjs";
import { urlOf } from "../stores/zookeeper/zookeeper.ts";
import { useServers } from "../support/servers.ts";

const servers = useServers(server);
const TTL_MS = 8000;
const POLL = { timeout: 90_000, interval: 50 };
const LEVELS = { levels: [[{ kind: "command", off: ["/bin/true"], status: ["/bin/true"] }]] };
const configOf = (election: string) =>
  parseStonithConfig(
    JSON.stringify({ election, nodes: { a: LEVELS, b: LEVELS, c: LEVELS }, ttlMs: TTL_MS, delayMs: 100, spreadMs: 50 }),
    "the test",
  );

let elections = 0;

/** Who is at work, and what happened. */
class Room {
  readonly election: string;
  readonly shape: "line" | "race";
  readonly works = new Set<string>();
  readonly log: string[] = [];
  readonly machines = new Map<string, Machine>();

  constructor(shape: "line" | "race") {
    this.shape = shape;
    this.election = `ledger-${++elections}`;
  }

  store(): ReturnType<typeof zookeeper> {
    return zookeeper(urlOf(servers()), { shape: this.shape });
  }
}

class Machine {
  readonly guarded: GuardedElection;
  readonly identity: { readonly name: string; readonly machine: string };
  readonly #room: Room;
  readonly #off = new AbortController();
  /** Nothing of it reaches the store. */
  isCut = false;
  /** How often it has looked who obeys no ban. */
  looks = 0;
  /** Whether a claim of it was answered: it leads, or waits in the line. */
  hasClaimed = false;

  constructor(room: Room, name: string) {
    this.#room = room;
    this.identity = { name, machine: `machine of ${name}` };
    room.machines.set(name, this);
    this.guarded = guardedElection({
      config: configOf(room.election),
      node: this.identity,
      store: this.link(room.store()),
      shooter: {
        nodes: ["a", "b", "c"],
        shoot: async ({ node, mayShoot }) => {
          const refusal = await mayShoot();
          room.log.push(refusal === undefined ? `${name} shoots ${node}` : `${name} may not shoot ${node}`);
          if (refusal !== undefined) return { outcome: "failed", said: refusal, isGone: true };
          room.machines.get(node)?.powerOff();
          return { outcome: "off", said: "it is off", isGone: true };
        },
        look: async () => ({ is: "on" }),
        whenGone: async () => {},
        close: async () => {},
      },
      lookEveryMs: 100,
      tell: () => {},
    });
  }

  lead(): void {
    void this.guarded.lead(() => this.#work(), { signal: this.#off.signal }).catch(() => {});
  }

  /** Whatever its term says, it works until its machine is off. */
  async #work(): Promise<void> {
    const { works, log } = this.#room;
    const { name } = this.identity;
    log.push(works.size === 0 ? `${name} works` : `${name} works beside ${[...works].join(", ")}`);
    works.add(name);
    await new Promise<void>((resolve) => this.#off.signal.addEventListener("abort", () => resolve(), { once: true }));
    works.delete(name);
    await new Promise(() => {}); // a machine that is off says nothing more
  }

  powerOff(): void {
    this.isCut = true;
    this.#off.abort();
  }

  link<S extends Store>(store: S): S {
    return new Proxy(store, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key);
        if (typeof value !== "function") return value;
        if (key === "watch")
          return (...args: unknown[]): unknown => (value as (...all: unknown[]) => unknown).apply(target, args);
        if (key === "showNodeless") this.looks++;
        return async (...args: unknown[]): Promise<unknown> => {
          if (this.isCut) return await new Promise(() => {});
          const answer: unknown = await (value as (...all: unknown[]) => unknown).apply(target, args);
          if (key === "claim") this.hasClaimed = true;
          return answer;
        };
      },
    });
  }
}

const rooms: Room[] = [];
afterEach(async () => {
  const all = rooms.splice(0).flatMap(({ machines }) => [...machines.values()]);
  for (const machine of all) machine.powerOff();
  await Promise.race([
    Promise.all(all.map(({ guarded }) => guarded.close())),
    new Promise((resolve) => setTimeout(resolve, 500)),
  ]);
});

describe.each(["line", "race"] as const)("a guarded election on ZooKeeper, a %s", (shape) => {
  it(
    "begins when the last leader's machine is off, and frees what that machine held elsewhere",
    { timeout: 200_000 },
    async () => {
      const room = new Room(shape);
      rooms.push(room);
      const [a, b] = [new Machine(room, "a"), new Machine(room, "b")];
      const reader = createCandidate({ store: room.store(), onEvent: () => {} });
      const reports = createCandidate({
        store: a.link(room.store()),
        node: a.identity,
        ttlMs: 10_000,
        onEvent: () => {},
      });
      await reports.election(`reports-${shape}`).campaign();
      a.lead();
      await expect.poll(() => room.log, POLL).toEqual(["a works"]);
      a.isCut = true;
      b.lead();
      await expect.poll(() => room.log, POLL).toEqual(["a works", "b shoots a", "b works"]);
      expect([...room.works]).toEqual(["b"]);
      await expect.poll(async () => (await stonithStatus(reader, room.election)).bans, POLL).toEqual([]);
      expect(await reader.election(`reports-${shape}`).leader()).toBeUndefined();
      await reader.close();
    },
  );
});

it(
  "neither shoots nor begins while a candidate without a node waits in the same line",
  { timeout: 200_000 },
  async () => {
    const room = new Room("line");
    rooms.push(room);
    const [a, b] = [new Machine(room, "a"), new Machine(room, "b")];
    a.lead();
    await expect.poll(() => room.log, POLL).toEqual(["a works"]);
    b.lead();
    await expect.poll(() => b.hasClaimed, POLL).toBe(true);
    const reader = createCandidate({ store: room.store(), onEvent: () => {} });
    const stranger = createCandidate({ store: room.store(), ttlMs: 10_000, onEvent: () => {} });
    const stop = new AbortController();
    const waits = stranger
      .election(room.election)
      .campaign({ signal: stop.signal })
      .catch(() => {});
    const first = await reader.election(room.election).leader();
    a.isCut = true;
    // The ttl of a has run out, and its seat was granted to b.
    await expect
      .poll(async () => (await reader.election(room.election).leader())?.token !== first?.token, POLL)
      .toBe(true);
    const before = b.looks;
    await expect.poll(() => b.looks > before + 10 || room.log.length > 1, POLL).toBe(true);
    expect(room.log).toEqual(["a works"]);
    stop.abort();
    await waits;
    await stranger.close();
    await expect.poll(() => room.log, POLL).toEqual(["a works", "b shoots a", "b works"]);
    await reader.close();
  },
);
