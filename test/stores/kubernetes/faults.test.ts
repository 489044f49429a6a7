// What can happen to an API server and to a watch, with real candidates: after each fault one leads again without help, and no two ever did at once.
import { afterEach, describe, expect, it } from "vitest";
import { createCandidate, type Election } from "conclave";
import type { Call, FencedStore, Hint } from "conclave/stores/contract";
import * as server from "../../../scripts/servers/kubernetes.mjs";
import { nowMs, sleep } from "../../support/processes.ts";
import { useServers } from "../../support/servers.ts";
import { Contest } from "../../support/contest.ts";
import { open } from "../moves.ts";
import { aName, call, claimOver, type Ran, seatOf, Stage, win } from "./stage.ts";

const servers = useServers(server, { bookmarkMs: 500 }) as () => Ran;
const stage = new Stage(servers);
afterEach(() => stage.end());

const TTL_MS = 2_000;

describe("an API server that is away for three ttl", () => {
  it("ends the term at its deadline, and one leads again when it is back, with a greater token", async () => {
    const contest = new Contest();
    try {
      for (const id of ["a", "b", "c"]) await contest.join({ store: stage.url, id, ttlMs: TTL_MS, drainMs: 200 });
      const leader = await contest.leader();
      const [node] = servers().nodes;
      const at = nowMs();
      await node?.kill();
      const { at: stopped } = await leader.hears("resigned", at);
      expect(stopped - at).toBeLessThan(TTL_MS);
      await sleep(3 * TTL_MS);
      const back = nowMs();
      await node?.restart();
      await contest.elected(back);
      // Stopped, and going on: nobody's term is over before its deadline, and nobody takes it.
      await contest.leader();
      node?.pause();
      await sleep(TTL_MS / 4);
      node?.resume();
      await sleep(TTL_MS);
      const next = await contest.leader();
      const killed = nowMs();
      await next.kill();
      await contest.elected(killed);
      expect(contest.verdict()).toMatchObject({ overlaps: [], regressions: [], unread: [] });
    } finally {
      await contest.end();
    }
  }, 90_000);
});

describe("a session that has nothing to renew", () => {
  it("is not said to be renewed while the server is away, and costs no request while it is there", async () => {
    const store = stage.store();
    const session = await open(store);
    const hold = await win(store, session, aName());
    const [node] = servers().nodes;
    const short = (): Call => ({ signal: AbortSignal.timeout(300), sentAtMs: 0 });
    node?.pause();
    expect((await store.keep(session, [hold], short())).kind).toBe("unknown");
    expect((await store.keep(session, [], short(), { strays: false })).kind).toBe("unknown");
    node?.resume();
    expect((await store.keep(session, [], call(), { strays: false })).kind).toBe("kept");
    const before = await stage.counts();
    expect((await store.keep(session, [], call(), { strays: false })).kind).toBe("kept");
    expect(await stage.counts()).toEqual(before);
  });
});

describe("a watch", () => {
  it("tells a waiter of every renewal, so that its looks need no request", async () => {
    const [store, waiter, name] = [stage.store(), stage.store(), aName()];
    const session = await open(store);
    const hold = await win(store, session, name);
    const hints = new Hints(waiter, name);
    await hints.next();
    const before = await stage.counts();
    for (let keep = 0; keep < 3; keep++) {
      await store.keep(session, [hold], call(), { strays: false });
      const { seat } = await hints.next();
      expect((await seatOf(waiter, name)).version).toBe(seat?.version);
    }
    const after = await stage.counts();
    expect([after["get"], after["list"]]).toEqual([before["get"], before["list"]]);
    hints.stop();
  });

  it("goes on when the server has forgotten where it was (410), and when it ends it", async () => {
    const [store, waiter, name] = [stage.store(), stage.store(), aName()];
    const session = await open(store);
    const hold = await win(store, session, name);
    const hints = new Hints(waiter, name);
    await hints.next();
    await stage.faults({ watch: true, status: 410 });
    await stage.order({ forget: true, cut: true });
    await hints.untilOver();
    const again = new Hints(waiter, name);
    await again.next();
    await store.keep(session, [hold], call());
    const { version } = await seatOf(store, name);
    while ((await again.next()).seat?.version !== version);
    again.stop();
  });

  it("that goes silent is noticed by a request that shows more, and ended", async () => {
    const [store, waiter, name] = [stage.store(), stage.store(), aName()];
    const session = await open(store);
    const hold = await win(store, session, name);
    const hints = new Hints(waiter, name);
    await hints.next();
    // The first hint may come from the list that precedes the watch: this one shows that the watch is open.
    await store.keep(session, [hold], call());
    const shown = (await seatOf(store, name)).version;
    while ((await hints.next()).seat?.version !== shown);
    await stage.order({ silent: true });
    await store.keep(session, [hold], call());
    // What a waiter does when its silence is over: it asks the server, and finds the holder alive.
    const { version } = await seatOf(waiter, name);
    const beaten = await claimOver(waiter, await open(waiter), name, version);
    expect(beaten).toMatchObject({ kind: "beaten" });
    await hints.untilOver();
  }, 20_000);

  it("that goes silent keeps no waiter from leading: one ttl after the leader has left at the latest, and the ttl of a dead leader counts as ever", async () => {
    const name = aName();
    const [first, second] = [candidate("first"), candidate("second")];
    const leading = started(first);
    await leading.begun;
    const waiting = started(second);
    await sleep(300);
    await stage.order({ silent: true });
    const at = nowMs();
    leading.stop();
    await waiting.begun;
    expect(nowMs() - at).toBeLessThan(2.5 * TTL_MS);
    waiting.stop();
    await Promise.all([leading.over, waiting.over]);

    function candidate(id: string): Election {
      return createCandidate({ store: stage.store(), ttlMs: TTL_MS, id }).election(name);
    }
  }, 30_000);

  it("of many names is one, and a name that is watched later is among them", async () => {
    const [store, waiter] = [stage.store(), stage.store()];
    const names = [aName(), aName(), aName()];
    const session = await open(store);
    const holds = [];
    for (const name of names) holds.push(await win(store, session, name));
    const all = names.map((name) => new Hints(waiter, name));
    await Promise.all(all.map((hints) => hints.next()));
    await sleep(200);
    expect((await stage.order({})).watches).toBe(1);
    await store.release({ session, holds, endSession: true }, call());
    for (const hints of all) while ((await hints.next()).seat?.state !== "vacant");
    for (const hints of all) hints.stop();
  }, 20_000);
});

describe("a server with too many requests (429)", () => {
  it("is left alone for as long as it asks, and the term goes on", async () => {
    const [store, name] = [stage.store(), aName()];
    const session = await open(store);
    const hold = await win(store, session, name);
    await stage.faults({ method: "PUT", status: 429, retryAfter: "1" });
    const refused = await store.keep(session, [hold], call());
    expect(refused).toMatchObject({ kind: "refused", code: "STORE_UNREACHABLE", retryable: true });
    const before = await stage.counts();
    expect(await store.keep(session, [hold], call())).toMatchObject({ kind: "refused", retryable: true });
    expect((await stage.counts())["update"]).toBe(before["update"]);
    await sleep(1_050);
    expect(await store.keep(session, [hold], call())).toMatchObject({ kind: "kept", lost: [], unsure: [] });
  });
});

/** The hints of one watch. */
class Hints {
  readonly #controller = new AbortController();
  readonly #hints: AsyncIterator<Hint>;

  constructor(store: FencedStore, name: string) {
    this.#hints = store.watch([{ name }], { signal: this.#controller.signal, sentAtMs: 0 })[Symbol.asyncIterator]();
  }

  async next(): Promise<Hint> {
    const result = await Promise.race([this.#hints.next(), sleep(10_000)]);
    if (result === undefined || result.done === true) throw new Error("no hint");
    return result.value;
  }

  async untilOver(): Promise<void> {
    const end = (async () => {
      while ((await this.#hints.next()).done !== true);
      return "over";
    })();
    expect(await Promise.race([end, sleep(10_000)])).toBe("over");
  }

  stop(): void {
    this.#controller.abort();
  }
}

function started(election: Election): { readonly begun: Promise<void>; readonly over: Promise<unknown>; stop(): void } {
  const controller = new AbortController();
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const over = election.lead(
    async (term) => {
      begin();
      await term.ended;
    },
    { signal: controller.signal },
  );
  return { begun, over, stop: () => controller.abort() };
}
