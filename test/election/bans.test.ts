// Bans as a user meets them: what is refused before anything is sent, what a banned candidate sees, and that it comes back after the lift.
import { type ConclaveEvent, createCandidate, isConclaveError } from "conclave";
import type { FencedStore } from "conclave/stores/contract";
import { memory } from "conclave/stores/memory";
import { type FakeStore, fakeStore } from "conclave/testing";
import { afterEach, describe, expect, it } from "vitest";

const closes: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closes.splice(0)) await close();
});

function candidate(store: FencedStore, node: string, machine = node, events: ConclaveEvent[] = []) {
  const made = createCandidate({
    store,
    id: node,
    ttlMs: 1000,
    node: { name: node, machine },
    onEvent: (event) => void events.push(event),
  });
  closes.push(() => ended(store, made.close()));
  return made;
}

/** A store with time in hand needs some for the last release. */
async function ended(store: object, closing: Promise<void>): Promise<void> {
  if ("advance" in store) await (store as FakeStore).advance(20_000);
  await closing;
}

const codesOf = (events: readonly ConclaveEvent[]): readonly string[] =>
  events.flatMap((event) => (event.type === "error" ? [event.error.code] : []));

const codeOf = (refused: Promise<void>): Promise<unknown> =>
  refused.then(
    () => "nothing",
    (error: unknown) => (isConclaveError(error) ? error.code : error),
  );

describe("a ban", () => {
  it("is shown with its reason, keeps the node from leading anything, and after the lift the node leads again", async () => {
    const store = fakeStore();
    const seen: ConclaveEvent[] = [];
    const election = candidate(store, "db-2").election("ledger");
    const target = candidate(store, "db-1", "db-1", seen).election("other");
    const term = await election.campaign();
    await term.ban("db-1", "silent");
    expect(await election.bans()).toMatchObject([{ node: "db-1", why: "silent", token: { value: 1n } }]);
    target.start();
    await store.advance(3000);
    expect(target.isLeading()).toBe(false);
    expect(codesOf(seen)).toContain("NODE_BANNED");
    await term.lift("db-1");
    expect(await election.bans()).toEqual([]);
    await store.advance(10_000);
    expect(target.isLeading()).toBe(true);
  });

  it("that is not known to stand, or that is being lifted, lets nobody end the sessions of the node", async () => {
    const store = fakeStore();
    const election = candidate(store, "db-2").election("ledger");
    const winning = election.campaign();
    await store.advance(1000);
    const term = await winning;
    const atOnce = (asked: Promise<void>): Promise<unknown> =>
      Promise.race([codeOf(asked), store.advance(1).then(() => "it was sent")]);
    store.hang();
    const banning = term.ban("db-1", "silent");
    expect(await atOnce(term.endSessionsOf("db-1"))).toBe("CONFIG_INVALID");
    store.heal();
    await store.advance(400);
    await banning;
    store.hang();
    const lifting = term.lift("db-1");
    expect(await atOnce(term.endSessionsOf("db-1"))).toBe("CONFIG_INVALID");
    store.heal();
    await store.advance(400);
    await lifting;
  });

  it("lets the term that wrote it end the sessions of the node, and no other term, and not after its lift", async () => {
    const store = memory();
    const held = await candidate(store, "db-1").election("other").campaign();
    const election = candidate(store, "db-2").election("ledger");
    const first = await election.campaign();
    expect(await codeOf(first.endSessionsOf("db-1"))).toBe("CONFIG_INVALID");
    await first.ban("db-1", "silent");
    await first.resign();
    const term = await election.campaign();
    expect(await codeOf(term.endSessionsOf("db-1"))).toBe("CONFIG_INVALID");
    expect(held.isHeld()).toBe(true);
    await term.ban("db-1", "silent");
    await term.endSessionsOf("db-1");
    expect(await election.bans()).toMatchObject([{ node: "db-1", why: "silent" }]);
    const next = await candidate(store, "db-3").election("other").campaign();
    expect(next.token.value).toBe(2n);
    await term.lift("db-1");
    expect(await codeOf(term.endSessionsOf("db-1"))).toBe("CONFIG_INVALID");
  });

  it("ends what the node leads by its next renewal, and frees nothing before its ttl", async () => {
    const store = fakeStore();
    const target = candidate(store, "db-1").election("other");
    const held = await target.campaign();
    const rival = candidate(store, "db-3").election("other");
    rival.start();
    const term = await candidate(store, "db-2").election("ledger").campaign();
    await term.ban("db-1", "");
    expect(held.isHeld()).toBe(true);
    await store.advance(500);
    expect(held.isHeld()).toBe(false);
    expect(await held.ended).toBe("session-lost");
    expect(rival.isLeading()).toBe(false);
    await store.advance(2000);
    expect(rival.isLeading()).toBe(true);
  });

  it("of the own node is refused before anything is sent, as is what no store keeps", async () => {
    const term = await candidate(memory(), "db-1").election("ledger").campaign();
    await expect(term.ban("db-1", "")).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    await expect(term.ban("", "")).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    await expect(term.ban("db-2", "x".repeat(2000))).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  });

  it("is refused by a store that keeps none, and so is a node there", async () => {
    const store = memory("memory:?layout=swap");
    const plain = createCandidate({ store });
    closes.push(() => plain.close());
    const term = await plain.election("ledger").campaign();
    await expect(term.ban("db-2", "")).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
    await expect(plain.election("ledger").bans()).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
    expect(() => createCandidate({ store, node: "db-1" })).toThrow(/keeps no bans/);
    await term.resign();
  });

  it("of a term that is over is not written", async () => {
    const store = memory();
    const term = await candidate(store, "db-1").election("ledger").campaign();
    await term.resign();
    await expect(term.ban("db-2", "")).rejects.toMatchObject({ code: "TERM_LOST" });
    expect(await candidate(store, "db-3").election("ledger").bans()).toEqual([]);
  });
});

describe("a node", () => {
  it("has one machine at a time: the second is told, and waits", async () => {
    const store = fakeStore();
    const seen: ConclaveEvent[] = [];
    const first = candidate(store, "db-1", "machine-a");
    await first.election("a").campaign();
    const second = candidate(store, "db-1", "machine-b", seen).election("b");
    second.start();
    await store.advance(1000);
    expect(codesOf(seen)).toContain("NODE_DUPLICATE");
    expect(second.isLeading()).toBe(false);
    await ended(store, first.close());
    expect(second.isLeading()).toBe(true);
  });

  it("may be given by its name alone; the machine id is that of the system", async () => {
    const election = createCandidate({ store: memory(), node: "db-1" }).election("a");
    closes.push(() => election.close());
    expect(election.node).toBe("db-1");
    await using term = await election.campaign();
    expect(term.isHeld()).toBe(true);
  });
});
