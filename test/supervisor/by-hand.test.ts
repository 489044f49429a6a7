// A supervisor whose clock, child and keeper are in the hand of the test: when what the command has left is due to be killed, and for how long it is waited for. Elections are real, in a fake store.
import { Supervisor, type SupervisorEvent } from "conclave/supervisor";
import { fakeStore, type FakeStore } from "conclave/testing";
import { beforeEach, expect, it, vi } from "vitest";
import type { Clock } from "../../src/base/clock.ts";
import type { Lives } from "../../src/supervisor/cell.ts";
import { hostClock } from "../../src/stores/host-clock.ts";

interface Ending {
  readonly isDue: () => boolean;
  readonly isWaitedFor: (suspects: readonly number[]) => boolean;
  readonly isOver: () => void;
}

/** What the supervisor has done with its child, its keeper and its orphans, in order; and what the test has in hand. */
const hand = vi.hoisted(() => ({
  clock: undefined as Clock | undefined,
  done: [] as string[],
  orphans: [] as readonly (readonly number[])[],
  lives: { is: "occupied" } as Lives,
  exits: () => {},
  ending: undefined as Ending | undefined,
}));

vi.mock("../../src/election/clock.ts", () => ({ nodeClock: () => hand.clock }));
vi.mock("../../src/supervisor/orphans.ts", async (original) => ({
  ...(await original<object>()),
  findOrphans: () => hand.orphans[0] ?? [],
  killOrphans: (pids: readonly number[]) => {
    hand.done.push(`kill ${pids.join()}`);
    hand.orphans = hand.orphans.slice(1);
  },
}));
vi.mock("../../src/supervisor/keeper-link.ts", () => ({
  KeeperLink: class {
    start(): void {}
    share(): void {}
    extend(): void {}
    guard = async (): Promise<void> => {};
    end = async (): Promise<void> => {};
    leave = async (): Promise<boolean> => (hand.done.push("leave"), false);
  },
}));
vi.mock("../../src/supervisor/child.ts", () => ({
  Child: class {
    static start = async (): Promise<object> => (hand.done.push("gate"), new this());
    pid = 7;
    cell = {};
    hasBegun = false;
    hasExited = false;
    wasEnded = false;
    exited = new Promise<object>((resolve) => {
      hand.exits = () => {
        this.hasExited = true;
        resolve({ code: 0 });
      };
    });
    lives = (): Lives => hand.lives;
    begin(): void {
      this.hasBegun = true;
      hand.done.push("begin");
    }
    terminate(): void {
      hand.done.push("terminate");
    }
    gone(isDue: Ending["isDue"], isWaitedFor: Ending["isWaitedFor"]): Promise<void> {
      return new Promise((resolve) => (hand.ending = { isDue, isWaitedFor, isOver: resolve }));
    }
  },
}));

const TTL_MS = 10_000;
const STEP_MS = 5;
let store: FakeStore;
let told: SupervisorEvent[];

beforeEach(() => {
  store = fakeStore();
  told = [];
  const lives: Lives = { is: "occupied" };
  Object.assign(hand, { clock: store[hostClock], done: [], orphans: [], lives, exits: () => {}, ending: undefined });
});

const nowMs = (): number => store[hostClock].now().mono;

/** It leads, and its command runs. */
async function running(drainMs: number, stop: AbortSignal): Promise<{ readonly over: Promise<unknown> }> {
  const tell = (event: SupervisorEvent): void => void told.push(event);
  const supervisor = new Supervisor({ election: "x", command: ["none"], store, ttlMs: TTL_MS, drainMs, tell });
  const over = supervisor.run(stop);
  await store.advance(1000);
  expect(hand.done).toContain("begin");
  return { over };
}

/** The store answers nothing any more: when the child is to be ended, when it is due to be killed, and when the term is over. */
async function losing(): Promise<{ readonly toldAtMs: number; readonly dueAtMs: number; readonly lostAtMs: number }> {
  store.hang();
  let [toldAtMs, dueAtMs] = [Infinity, Infinity];
  while (!told.some(({ type }) => type === "lost")) {
    await store.advance(STEP_MS);
    if (hand.ending !== undefined) toldAtMs = Math.min(toldAtMs, nowMs());
    if (hand.ending?.isDue() === true) dueAtMs = Math.min(dueAtMs, nowMs());
  }
  return { toldAtMs, dueAtMs, lostAtMs: nowMs() };
}

async function ended(over: Promise<unknown>, stop: AbortController): Promise<void> {
  hand.lives = { is: "empty" };
  hand.exits();
  stop.abort();
  await store.advance(1);
  hand.ending?.isOver();
  store.heal();
  await store.advance(20_000);
  await over;
}

it("what is left of a command is due to be killed before the deadline of a term that is lost, not at it", async () => {
  const stop = new AbortController();
  const { over } = await running(2000, stop.signal);
  const { toldAtMs, dueAtMs, lostAtMs } = await losing();
  expect(lostAtMs - toldAtMs).toBeGreaterThan(1900);
  expect(lostAtMs - dueAtMs).toBeGreaterThanOrEqual(500 - 2 * STEP_MS);
  expect(dueAtMs - toldAtMs).toBeGreaterThan(1000);
  await ended(over, stop);
});

it("without a drain, too: the signal of the term comes as long before as SIGKILL needs", async () => {
  const stop = new AbortController();
  const { over } = await running(0, stop.signal);
  const { toldAtMs, dueAtMs, lostAtMs } = await losing();
  expect(lostAtMs - toldAtMs).toBeGreaterThanOrEqual(20 - STEP_MS);
  expect(dueAtMs).toBe(toldAtMs);
  await ended(over, stop);
});

it("a drain that is over is over, also while the term goes on", async () => {
  const stop = new AbortController();
  const { over } = await running(2000, stop.signal);
  const stoppedAtMs = nowMs();
  stop.abort();
  await store.advance(1995);
  expect(hand.ending?.isDue()).toBe(false);
  await store.advance(5);
  expect([hand.ending?.isDue(), nowMs() - stoppedAtMs]).toEqual([true, 2000]);
  await ended(over, stop);
});

it("processes that may belong to the command are waited for as long as the term is held, for a ttl at most", async () => {
  const stop = new AbortController();
  const { over } = await running(2000, stop.signal);
  hand.exits();
  await store.advance(1);
  const { isWaitedFor } = hand.ending as Ending;
  expect(isWaitedFor([1])).toBe(true);
  await store.advance(TTL_MS - 1);
  expect(isWaitedFor([1])).toBe(true); // the store answers: it is held
  expect(hand.done).not.toContain("leave");
  await store.advance(1);
  expect(isWaitedFor([1])).toBe(false);
  await ended(over, stop);
});

it("of a term that is lost nothing is left to give back, so that nobody is waited for", async () => {
  const stop = new AbortController();
  const { over } = await running(2000, stop.signal);
  store.hang();
  await store.advance(5000);
  hand.exits();
  await store.advance(1);
  expect(hand.ending?.isWaitedFor([1])).toBe(true);
  await store.advance(6000);
  expect(told.map(({ type }) => type)).toContain("lost");
  expect(hand.ending?.isWaitedFor([1])).toBe(false);
  await ended(over, stop);
});

it("what earlier terms have left is ended, until nothing of it is found, before the gate of the next command", async () => {
  hand.orphans = [[4, 5], [5]];
  const stop = new AbortController();
  const { over } = await running(2000, stop.signal);
  expect(hand.done).toEqual(["kill 4,5", "kill 5", "gate", "begin"]);
  await ended(over, stop);
});
