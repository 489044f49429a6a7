// A renewal thread on ZooKeeper: a session has one connection, so the thread has it, and the main loop's requests go through the thread. When the thread is lost, the main
// loop takes the session over. The package is bundled as for the processes of other tests, because a thread is started from a file.
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Worker } from "node:worker_threads";
import { createClient } from "node-zookeeper-client";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import type * as conclave from "conclave";
import { zookeeper } from "conclave/stores/zookeeper";
import * as server from "../../../scripts/servers/zookeeper.mjs";
import { Stage } from "../../support/processes.ts";
import { useServers } from "../../support/servers.ts";
import { urlOf, wordOf } from "./zookeeper.ts";

/** Long enough for a renewal on a busy machine, and four ticks of the server. */
const TTL_MS = 4000;
const servers = useServers(server);
const stage = new Stage();
afterAll(() => stage.end());
const modules = await stage.modules();
const { createCandidate, openStore } = (await import(
  pathToFileURL(path.join(modules, "index.js")).href
)) as typeof conclave;
let threads: Worker[] = [];
const note = (worker: Worker): void => void threads.push(worker);
beforeEach(() => {
  threads = [];
  process.on("worker", note);
});
afterEach(() => void process.off("worker", note));

async function candidate(id: string, renewal: "loop" | "thread" = "thread", ttlMs = TTL_MS) {
  const store = (await openStore(urlOf(servers()))) as conclave.FencedStore;
  const made = createCandidate({ store, id, ttlMs, renewal });
  const events: conclave.ConclaveEvent[] = [];
  made.subscribe((event) => events.push(event));
  return { made, events, codes: () => events.flatMap((event) => (event.type === "error" ? [event.error.code] : [])) };
}

/** Connections that are open now, without that of the question. */
async function connections(): Promise<number> {
  return Number(/^Connections: (\d+)$/m.exec(await wordOf(servers().urls[0] ?? "", "srvr"))?.[1]) - 1;
}

describe("a candidate with a thread", () => {
  it("wins, remembers, waits for its turn and gives back over the thread's connection, and has no other", async () => {
    // No ttl runs out here: a long one gives every request time on a busy machine.
    const ttlMs = 4 * TTL_MS;
    const [first, second] = [await candidate("first", "thread", ttlMs), await candidate("second", "thread", ttlMs)];
    const before = await connections();
    const term = await first.made.election("all").campaign();
    await term.memo("where", "here");
    // The session's, and at most one of the thread's for looking on: none of the main loop's.
    expect((await connections()) - before).toBeLessThanOrEqual(2);
    const next = second.made.election("all").campaign();
    await expect.poll(() => second.events.map(({ type }) => type)).toContain("waiting");
    await term.resign();
    expect((await next).token.value > term.token.value).toBe(true);
    expect([...first.codes(), ...second.codes()]).toEqual([]);
    await Promise.all([first.made.close(), second.made.close()]);
  });

  it("may have a store that was made from a client, because the thread opens the place that the client names", async () => {
    const host = new URL(servers().urls[0] ?? "").host;
    const client = createClient(`${host}/of-a-client`);
    client.addAuthInfo("digest", Buffer.from("anna:geheim@"));
    const made = createCandidate({ store: zookeeper(client, { tickMs: 500 }), ttlMs: TTL_MS, renewal: "thread" });
    await made.election("x").campaign();
    expect(threads).toHaveLength(1);
    const at = `zookeeper://anna:geheim%40@${host}/of-a-client?tickMs=500`;
    const other = zookeeper(at);
    const seen = await other.look([{ name: "x" }], { signal: AbortSignal.timeout(5000), sentAtMs: 0 });
    await other.close();
    expect(seen).toMatchObject({ kind: "seen", seats: [{ state: "held" }] });
    await made.close();
  });

  it("goes on leading in the main loop when the thread is lost, and its rival waits", async () => {
    const [leader, rival] = [await candidate("leader"), await candidate("rival", "loop")];
    const term = await leader.made.election("lost").campaign();
    const next = rival.made.election("lost").campaign();
    await expect.poll(() => rival.events.map(({ type }) => type)).toContain("waiting");
    await threads[0]?.terminate();
    await expect.poll(leader.codes).toContain("THREAD_LOST");
    const renewals = (): number => leader.events.filter(({ type }) => type === "renewed").length;
    const already = renewals();
    // Two over the new connection are needed before anything is proven.
    await expect.poll(() => renewals() - already).toBeGreaterThanOrEqual(2);
    expect(term.isHeld()).toBe(true);
    expect(rival.events.map(({ type }) => type)).not.toContain("elected");
    await term.resign();
    await next;
    await Promise.all([leader.made.close(), rival.made.close()]);
  });

  it("has a thread that ends by itself when the candidate is closed, and is not terminated", async () => {
    const { made } = await candidate("ending");
    const term = await made.election("ended").campaign();
    await term.resign();
    const [thread] = threads;
    const exitCode = new Promise((resolve) => thread?.once("exit", resolve));
    await made.close();
    expect(await exitCode, "1 is the code of a thread that was terminated").toBe(0);
  });

  it("resigns when its process is asked to, and leaves nothing at the server", async () => {
    const before = await connections();
    const { made } = await candidate("leaving");
    await made.election("gone").campaign();
    await made.close();
    await expect.poll(connections).toBeLessThanOrEqual(before);
  });
});
