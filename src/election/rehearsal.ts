// A process that has begun to wait, or to lead, plays one change of leaders through: it waits, is elected, resigns and ends its session, at a store that is only played (played-store.ts).
//
// Why. V8 compiles a function when it is called for the first time. Most of what a change of leaders needs is called for the first time in the middle of one: in the leader that leaves, and in the
// candidate that follows. These are about a hundred functions, and nobody leads while they are compiled. With a rehearsal a clean exit on etcd takes a sixth less (docs/adr/0106).
//
// Why it does no harm. A rehearsal has a runner, a machine, a session and a store of its own, and shares no state with those of the candidate. It sends nothing. Its events go to a narrator that tells
// nobody, so nothing is reported, logged or counted. Its timers do not keep the process alive. If it fails, the functions are compiled when they are needed, as they would be without it.
import type { Clock, Timer } from "../base/clock.ts";
import { LONGEST_TIMER_MS } from "../base/longest-timer.ts";
import type { Settings } from "../lease/settings.ts";
import { nodeClock } from "./clock.ts";
import type { Arena } from "./contest.ts";
import type { HeldTerm } from "./held-term.ts";
import { HoldContest } from "./hold-contest.ts";
import { Narrator } from "./narrator.ts";
import { nextCandidateNonce, randomSeed } from "./nonce.ts";
import { PlayedStore } from "./played-store.ts";
import { Runner } from "./runner.ts";
import { Turns } from "./turns.ts";

/** A process that ends sooner has no use for a rehearsal. */
const REHEARSE_AFTER_MS = 500;
const NAME = "rehearsal";

/** They are taken when this module is loaded: a test runner may replace them later. */
const { setTimeout, clearTimeout } = globalThis;

let isPlanned = false;

/** Called when a candidate waits or leads. One rehearsal is enough for all candidates of a process. */
export function planRehearsal(settings: Settings, clock: Clock): void {
  if (isPlanned || !isWorthwhile(settings, clock)) return;
  isPlanned = true;
  setTimeout(() => void rehearse(settings).catch(() => {}), REHEARSE_AFTER_MS).unref();
}

/** A store inside the process answers at once, and a test with a clock of its own wants no calls that it has not made. A store without a watch is looked at every second, so that a millisecond is nothing. */
function isWorthwhile({ guarantee }: Settings, clock: Clock): boolean {
  return guarantee.scope !== "process" && guarantee.wakes === "watch" && clock === nodeClock();
}

/** Plays one change of leaders, by the rules of that store. Resolves with the term that was led. */
export async function rehearse(settings: Settings): Promise<HeldTerm | undefined> {
  const { runner, arena } = stageFor(settings);
  const term = await new Promise<HeldTerm | undefined>((resolve, reject) => {
    new HoldContest(arena, NAME, "once", { resolve, reject }).begin();
  });
  await term?.resign();
  await runner.close();
  return term;
}

/** The same settings, without a thread, and without what concerns others: a node and a priority. */
function stageFor(given: Settings): { readonly runner: Runner; readonly arena: Arena } {
  const nonce = nextCandidateNonce();
  const id = `${NAME}_${nonce}`;
  const settings: Settings = { ...given, candidate: id, renewal: "loop", node: undefined, priority: 0 };
  const clock: Clock = { ...nodeClock(), timer };
  const tell = (): void => {};
  const narrator = new Narrator({
    nowMs: () => clock.now().mono,
    ttlMs: settings.ttlMs,
    isDelivered: () => true,
    tell,
  });
  const store = new PlayedStore(settings.guarantee);
  const runner = new Runner({ store, settings, clock, nonce, seed: randomSeed(), narrator });
  const { drainMs } = settings;
  return { runner, arena: { runner, turns: new Turns(), id, drainMs, report: tell, tell, delivered: new WeakMap() } };
}

/** Does not keep the process alive. */
function timer(afterMs: number, wake: () => void): Timer {
  const timeout = setTimeout(wake, Math.min(afterMs, LONGEST_TIMER_MS)).unref();
  return { cancel: () => clearTimeout(timeout) };
}
