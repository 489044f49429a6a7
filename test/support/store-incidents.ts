// Incidents of test/incidents that a server takes part in, as they are tried on every store: the same story, told with whatever that store is asked for and does.
// Which file tries which on which store: docs/INCIDENTS.md.
import { readFileSync } from "node:fs";
import type { ExpectStatic } from "vitest";
import type { ConclaveEvent } from "conclave";
import { judgeLog } from "conclave/testing";
import { WallClock } from "./faketime.ts";
import { nowMs, type Player, sleep, Stage } from "./processes.ts";
import { candidateOn, isNewer, type RealStore, tokenOf } from "./real-stores.ts";
import { Wire } from "./wire.ts";

type Incident = (store: RealStore, expect: ExpectStatic) => Promise<void>;
/** One of which only the store itself is needed, not its server. */
type Opened = Pick<RealStore, "open" | "hasTokens">;

/** Runs `work` with a wire to the store's server. */
async function overWire(store: RealStore, work: (wire: Wire) => Promise<void>): Promise<void> {
  const wire = await Wire.to(store.server());
  try {
    await work(wire);
  } finally {
    wire.end();
  }
}

// ---- black-hole

/** As many connections as it ever has, all of them in use at once. */
async function openAll(candidate: ReturnType<typeof candidateOn>, name: string): Promise<void> {
  await Promise.allSettled(Array.from({ length: 8 }, () => candidate.election(name).leader())); // a busy server may have no answer in time
}

export const deadConnection: Incident = (store, expect) =>
  overWire(store, async (wire) => {
    await using candidate = candidateOn(store, { url: wire.url, ttlMs: 6000, drainMs: 200 });
    await using rival = candidateOn(store, { ttlMs: 6000, drainMs: 200 });
    const term = await candidate.election("swallowed").campaign();
    let elected = false;
    const over = new AbortController();
    rival
      .election("swallowed")
      .campaign({ signal: over.signal })
      .then(() => (elected = true))
      .catch(() => {});
    await openAll(candidate, "swallowed");
    const before = wire.opened;
    wire.swallow();
    await sleep(9000);
    const story = { held: term.isHeld(), aborted: term.signal.aborted, elected };
    expect(story).toEqual({ held: true, aborted: false, elected: false });
    expect(wire.opened).toBeGreaterThan(before);
    over.abort();
  });

export const everythingSwallowed: Incident = (store, expect) =>
  overWire(store, async (wire) => {
    await using candidate = candidateOn(store, { url: wire.url, ttlMs: 3000, drainMs: 200 });
    await using rival = candidateOn(store, { ttlMs: 3000, drainMs: 200 });
    const term = await candidate.election("cut off").campaign();
    await openAll(candidate, "cut off");
    wire.cut();
    const successor = await rival.election("cut off").campaign();
    expect([term.signal.aborted, term.isHeld()]).toEqual([true, false]);
    expect(isNewer(store, successor, term)).toBe(true);
    // Long enough for every connection that it may have to be used up by requests that nobody answers.
    const again = candidate.election("cut off").campaign();
    await sleep(8000);
    wire.mend();
    await successor.resign();
    expect(isNewer(store, await again, successor)).toBe(true);
  });

export const deafWaiter: Incident = (store, expect) =>
  overWire(store, async (wire) => {
    const ttlMs = 4000;
    await using leader = candidateOn(store, { ttlMs, drainMs: 200 });
    await using waiter = candidateOn(store, { url: wire.url, ttlMs, drainMs: 200 });
    const term = await leader.election("unheard").campaign();
    const next = waiter.election("unheard").campaign();
    await sleep(1000); // it listens, and has not renewed yet
    wire.swallow();
    await term.resign();
    const at = performance.now();
    expect(isNewer(store, await next, term)).toBe(true);
    expect(performance.now() - at).toBeLessThan(3 * ttlMs);
  });

// ---- the server is stopped, or gone

export const stoppedServer: Incident = async (store, expect) => {
  const server = store.node();
  await using candidate = candidateOn(store, { ttlMs: 3000, drainMs: 1000 });
  const election = candidate.election("stopped server");
  election.start();
  await expect.poll(() => election.term()?.isHeld()).toBe(true);
  const term = election.term();
  server.pause();
  const pausedAt = performance.now();
  try {
    await new Promise((resolve) => term?.signal.addEventListener("abort", resolve, { once: true }));
    expect(term?.isHeld()).toBe(true);
    expect(performance.now() - pausedAt).toBeLessThan(3000);
    await expect.poll(() => term?.isHeld()).toBe(false);
  } finally {
    server.resume();
  }
  await expect.poll(() => election.term()?.isHeld()).toBe(true);
  expect(isNewer(store, election.term(), term)).toBe(true);
};

export const killedServer: Incident = async (store, expect) => {
  const server = store.node();
  const ttlMs = 2000;
  await using candidate = candidateOn(store, { ttlMs, drainMs: 200 });
  const events: ConclaveEvent[] = [];
  candidate.subscribe((event) => events.push(event));
  const election = candidate.election("killed server");
  election.start();
  await expect.poll(() => election.term()?.isHeld()).toBe(true);
  const first = election.term();
  await server.kill();
  try {
    await sleep(3 * ttlMs);
    expect([first?.state(), election.term()]).toEqual(["lost", undefined]);
  } finally {
    await server.restart();
  }
  await expect.poll(() => election.term()?.isHeld()).toBe(true);
  expect(isNewer(store, election.term(), first)).toBe(true);
  const errors = events.filter((event) => event.type === "error");
  const lasting = errors.filter(({ error }) => error.code.startsWith("STORE_") && !error.retryable);
  expect(lasting.map(({ error }) => `${error.code}: ${error.message}`)).toEqual([]);
};

// ---- answers that do not come, or come late

export const releaseWithoutAnswer: Incident = (store, expect) =>
  overWire(store, async (wire) => {
    await using leaving = candidateOn(store, { url: wire.url, ttlMs: 2000, drainMs: 100 });
    await using rival = candidateOn(store, { ttlMs: 2000, drainMs: 100 });
    const events: ConclaveEvent[] = [];
    leaving.subscribe((event) => events.push(event));
    const term = await leaving.election("left").campaign();
    wire.cut();
    const resigned = term.resign();
    expect(term.isHeld()).toBe(false);
    const next = rival.election("left").campaign();
    await resigned;
    expect(term.isHeld()).toBe(false);
    expect(events.filter(({ type }) => type === "released")).toEqual([
      { type: "released", election: "left", outcome: "unknown" },
    ]);
    const successor = await next;
    expect(isNewer(store, successor, term)).toBe(true);
    await successor.resign();
  });

export const lateClaim: Incident = (store, expect) =>
  overWire(store, async (wire) => {
    await using slow = candidateOn(store, { url: wire.url, id: "slow", ttlMs: 8000, drainMs: 200 });
    await using other = candidateOn(store, { id: "other", ttlMs: 8000, drainMs: 200 });
    const events: ConclaveEvent[] = [];
    slow.subscribe((event) => events.push(event));
    await slow.election("busy").campaign(); // keeps the session alive
    const holder = await other.election("late").campaign();
    wire.keepBack(store.claimText("late"));
    // Gives up before its request does: that would be asked again, over another connection.
    const locked = slow.withLock("late", async () => "won", { waitMs: store.oneConnection ? 500 : 1500 });
    const refused = expect(locked).rejects.toMatchObject({ code: "LOCK_TIMEOUT" });
    await holder.resign();
    await expect.poll(() => wire.hasKept).toBe(true);
    await refused;
    // Longer than a request waits for an answer: what it gave up it has also released, over another connection, and the store said that nothing is there.
    if (!store.oneConnection) await sleep(3500);
    const before = await store.applied("late");
    wire.deliver();
    await expect.poll(() => store.applied("late")).not.toBe(before);
    // The next renewal finds what was granted to nobody.
    await expect
      .poll(() => other.withLock("late", async () => "free", { waitMs: 1000 }).catch(() => "taken"), {
        timeout: 20_000,
      })
      .toBe("free");
    expect(events.some((event) => event.type === "elected" && event.election === "late")).toBe(false);
  });

// ---- who leads, and who else

export const deposedAgainAndAgain: Incident = async (store, expect) => {
  await using candidate = candidateOn(store, { ttlMs: 2000, drainMs: 100 });
  const tokens: (bigint | undefined)[] = [];
  const over = new AbortController();
  const leading = candidate.election("deposed").lead(
    async (term) => {
      tokens.push(tokenOf(term));
      await term.ended;
    },
    { signal: over.signal },
  );
  for (let round = 1; round <= 3; round++) {
    await expect.poll(() => tokens.length).toBe(round);
    await store.deleteRecord("deposed");
  }
  await expect.poll(() => tokens.length).toBe(4);
  const grows = tokens.every((token, index) => index === 0 || (token ?? 0n) > (tokens[index - 1] ?? 0n));
  expect(grows).toBe(store.hasTokens);
  over.abort();
  await leading.catch(() => {}); // it was told to stop
};

export async function twins(store: Opened, expect: ExpectStatic): Promise<void> {
  await using candidate = candidateOn(store, { ttlMs: 2000 });
  let inside = 0;
  const tokens: (bigint | undefined)[] = [];
  const work = async (term: Parameters<typeof tokenOf>[0]): Promise<void> => {
    expect(++inside).toBe(1);
    tokens.push(tokenOf(term));
    await sleep(5);
    expect(term?.isHeld()).toBe(true);
    inside--;
  };
  await Promise.all([
    candidate.election("twins").lead(work),
    candidate.withLock("twins", work),
    candidate.election("twins").lead(work),
    candidate.withLock("twins", work),
    candidate
      .election("twins")
      .campaign()
      .then(async (term) => {
        await work(term);
        await term.resign();
      }),
  ]);
  expect(tokens).toHaveLength(5);
  expect(new Set(tokens).size).toBe(store.hasTokens ? 5 : 1);
}

export async function slowToStop(store: Opened, expect: ExpectStatic): Promise<void> {
  await using first = candidateOn(store, { id: "first", ttlMs: 2000 });
  await using second = candidateOn(store, { id: "second", ttlMs: 2000 });
  const story: string[] = [];
  const stop = new AbortController();
  const leading = first.election("slow to stop").lead(
    async (term) => {
      story.push("first begins");
      void second.election("slow to stop").lead(async () => void story.push("second begins"));
      setTimeout(() => stop.abort(), 50);
      await term.ended;
      await sleep(250); // slow to stop, but within the ttl
      story.push("first has ended");
    },
    { signal: stop.signal },
  );
  await leading;
  await expect.poll(() => story).toEqual(["first begins", "first has ended", "second begins"]);
}

export async function oneName(store: Opened, expect: ExpectStatic, ttlMs = 2000): Promise<void> {
  await using one = candidateOn(store, { id: "web-1", ttlMs, drainMs: 100 });
  await using two = candidateOn(store, { id: "web-1", ttlMs, drainMs: 100 });
  const [first, second] = [one.election("one name"), two.election("one name")];
  first.start();
  second.start();
  await expect.poll(() => first.term() ?? second.term()).toBeDefined();
  const until = performance.now() + 700 + ttlMs;
  while (performance.now() < until) {
    await sleep(20);
    expect([first.term(), second.term()].filter(Boolean)).toHaveLength(1);
  }
  expect((first.term() ?? second.term())?.candidate).toMatch(/^web-1_[0-9a-f]{16}-\d+$/);
}

/** The session of a waiting candidate is ended, then the leader leaves. */
export const endedWaiter: Incident = async (store, expect) => {
  await using leader = candidateOn(store, { ttlMs: 30_000, drainMs: 100 });
  await using waiter = candidateOn(store, { ttlMs: 30_000, drainMs: 100 });
  const sessions: string[] = [];
  waiter.subscribe((event) => event.type === "session" && event.state === "opened" && sessions.push(event.session));
  const term = await leader.election("phantom").campaign();
  const next = waiter.election("phantom").campaign({ signal: AbortSignal.timeout(8000) });
  await expect.poll(() => sessions.length).toBe(1);
  await sleep(300); // it stands
  await store.endSession(sessions[0] ?? "");
  expect(term.isHeld()).toBe(true);
  await term.resign(); // long before the renewal that would tell the waiter
  const successor = await next;
  expect(sessions).toHaveLength(2);
  expect(isNewer(store, successor, term)).toBe(true);
  // By a session that is there: the next renewal finds its record.
  expect(successor.isHeld()).toBe(true);
  await successor.resign();
};

export const deletedRecord: Incident = async (store, expect) => {
  const ttlMs = 3000;
  await using holder = candidateOn(store, { ttlMs, drainMs: 100 });
  await using rival = candidateOn(store, { ttlMs, drainMs: 100 });
  const term = await holder.election("record").campaign();
  const next = rival.election("record").campaign();
  await sleep(500);
  await store.deleteRecord("record");
  const deletedAt = performance.now();
  const lost = term.ended.then((reason) => ({ reason, afterMs: performance.now() - deletedAt }));
  const successor = await next;
  const waitedMs = performance.now() - deletedAt;
  const { reason, afterMs } = await lost;
  expect(reason).toBe("superseded");
  expect(afterMs).toBeLessThan(ttlMs);
  if (store.whenDeleted === "ttl") expect(waitedMs).toBeGreaterThanOrEqual(0.9 * ttlMs);
  expect(isNewer(store, successor, term)).toBe(true);
};

/** A leads, B and C wait in line, B goes. */
export async function middleGoes(store: Opened, expect: ExpectStatic): Promise<void> {
  const [a, b, c] = ["a", "b", "c"].map((id) => candidateOn(store, { id, ttlMs: 2000, drainMs: 100 }));
  if (a === undefined || b === undefined || c === undefined) throw new Error("three");
  const term = await a.election("middle").campaign();
  const [second, third] = [b.election("middle"), c.election("middle")];
  second.start();
  await sleep(300);
  third.start();
  await sleep(300);
  await b.close();
  const until = performance.now() + 2500;
  while (performance.now() < until) {
    await sleep(20);
    expect([term.isHeld(), third.term() === undefined]).toEqual([true, true]);
  }
  await term.resign();
  await expect.poll(() => third.term()?.isHeld()).toBe(true);
  await Promise.all([a.close(), c.close()]);
}

// ---- processes

/** The wall clock of the leader is set back, and that of a waiter forward, each by an hour; then the leader is stopped past its ttl, and its late write is refused. */
export const jumpingClocks: Incident = async (store, expect) => {
  const stage = new Stage();
  try {
    const shared = {
      store: store.url(),
      name: "clocks",
      log: stage.file("log"),
      ttlMs: 2000,
      unfenced: !store.hasTokens,
    };
    const clocks = [new WallClock(stage.file("clock of the leader")), new WallClock(stage.file("clock of the waiter"))];
    const leader = await stage.start({ ...shared, id: "leader", under: clocks[0]?.under ?? [] });
    await leader.hears("elected");
    const waiter = await stage.start({ ...shared, id: "waiter", under: clocks[1]?.under ?? [] });
    await waiter.hears("leader");
    clocks[0]?.set("-3600");
    clocks[1]?.set("+3600");
    expect((await wallOf(leader)) - Date.now()).toBeCloseTo(-3_600_000, -4);
    expect((await wallOf(waiter)) - Date.now()).toBeCloseTo(3_600_000, -4);
    await sleep(1.25 * shared.ttlMs + 500);
    expect(leader.heard.filter(({ event }) => event === "lost")).toEqual([]);
    expect(waiter.heard.filter(({ event }) => event === "elected")).toEqual([]);
    const killedAt = nowMs();
    await leader.kill();
    await waiter.hears("elected", killedAt);
    expect(judgeLog(readFileSync(shared.log, "utf8"))).toMatchObject({ overlaps: [], regressions: [], unread: [] });
  } finally {
    await stage.end();
  }
};

async function wallOf(player: Player): Promise<number> {
  const askedAt = nowMs();
  player.tell("time");
  return (await player.hears("time", askedAt)).wall ?? 0;
}

export const stoppedWriter: Incident = async (store, expect) => {
  const stage = new Stage();
  try {
    const files = { log: stage.file("log"), ledger: stage.file("ledger.db") };
    const shared = { store: store.url(), name: "writer", ttlMs: 2000, drainMs: 200, ...files };
    const leader = await stage.start({ ...shared, id: "leader" });
    await leader.hears("wrote");
    const waiter = await stage.start({ ...shared, id: "waiter" });
    await waiter.hears("leader");
    const at = nowMs();
    leader.signal("SIGSTOP");
    leader.tell("block 0"); // its first question when it goes on
    leader.tell("write"); // and a write that asks nobody but the fence
    await waiter.hears("wrote", at);
    leader.signal("SIGCONT");
    expect(await leader.hears("unblocked", at)).toMatchObject({ held: false });
    expect(await leader.hears("refused", at)).toMatchObject({ code: "TOKEN_STALE" });
    expect(judgeLog(readFileSync(shared.log, "utf8"))).toMatchObject({ overlaps: [], regressions: [], unread: [] });
  } finally {
    await stage.end();
  }
};
