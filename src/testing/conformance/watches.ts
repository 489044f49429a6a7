// Watches give hints, where the guarantee promises them, and end when the watcher says so.
import type { Hint, Question, Session } from "../../lease/exchange.ts";
import type { Bench, Case } from "./bench.ts";
import { check, checkEqual, checkKind } from "./check.ts";

export const watchCases: readonly Case[] = [
  { name: "a waiting candidate is woken when its turn may have come, or the guarantee says poll", run: wakesWaiter },
  { name: "an onlooker is woken by a change of leader, or the guarantee says poll", run: wakesOnlooker },
  { name: "a watch ends when its signal aborts", run: endsOnAbort },
];

/** The time that a watch gets to take hold before the change: a hint may be lost until then, and on a busy machine that takes longer. If one time was too short, the next is tried. */
const TAKES_HOLD_MS = [20, 250, 1500] as const;
const HINT_WITHIN_MS = 3_000;
const END_WITHIN_MS = 5_000;

interface Change {
  readonly question: Question;
  readonly make: () => Promise<void>;
}

/** Starts a watch, lets it take hold, makes the change and waits for a hint. `prepare` sets everything up, anew for each try. */
async function checkWoken(bench: Bench, prepare: () => Promise<Change>): Promise<void> {
  let woken = "";
  for (const takesHoldMs of TAKES_HOLD_MS) {
    woken = await wokenBy(bench, await prepare(), takesHoldMs);
    if (woken === "a hint" || bench.guarantee.wakes === "poll") return;
  }
  check(false, "where the guarantee says watch, a change is hinted at", `a hint within ${HINT_WITHIN_MS} ms`, woken);
}

async function wokenBy(bench: Bench, { question, make }: Change, takesHoldMs: number): Promise<string> {
  const controller = new AbortController();
  const hints = bench.hints(question, controller.signal);
  const first = readHint(hints, question.name);
  await bench.sleep(takesHoldMs);
  await make();
  const woken = await bench.within(first, bench.guarantee.wakes === "watch" ? HINT_WITHIN_MS : 0);
  controller.abort();
  return woken;
}

async function readHint(hints: AsyncIterator<Hint>, name: string): Promise<string> {
  for (;;) {
    const result = await hints.next();
    if (result.done === true) return "the watch ended";
    if (result.value.name === name) return "a hint";
  }
}

async function wakesWaiter(bench: Bench): Promise<void> {
  await checkWoken(bench, async () => {
    const [holder, waiter] = [await bench.open(), await bench.open()];
    const name = bench.name();
    const { version } = await bench.seat(name);
    const hold = await bench.win(holder, name);
    const bid = bench.bid();
    checkKind(
      await bench.claim(waiter, name, bid, version),
      bench.isLine ? "waiting" : "beaten",
      "a held name is not granted to a rival",
    );
    const question = bench.isLine ? { name, bid, session: waiter } : { name };
    return { question, make: () => bench.giveBack(holder, [hold]) };
  });
}

async function wakesOnlooker(bench: Bench): Promise<void> {
  await checkWoken(bench, async () => {
    const session = await bench.open();
    const name = bench.name();
    await bench.win(session, name);
    return { question: { name }, make: () => bench.giveBack(session, [], true) };
  });
  await checkWoken(bench, async () => {
    const name = bench.name();
    await bench.giveBack(await winner(bench, name), [], true);
    return { question: { name }, make: async () => void (await winner(bench, name)) };
  });
}

async function winner(bench: Bench, name: string): Promise<Session> {
  const session = await bench.open();
  await bench.win(session, name);
  return session;
}

async function endsOnAbort(bench: Bench): Promise<void> {
  const line = "a watch goes on until its signal aborts or its source breaks";
  const controller = new AbortController();
  const end = drain(bench.hints({ name: bench.name() }, controller.signal));
  await bench.sleep(5);
  controller.abort();
  checkEqual(await bench.within(end, END_WITHIN_MS), "ended", line);
  const aborted = drain(bench.hints({ name: bench.name() }, AbortSignal.abort()));
  checkEqual(await bench.within(aborted, END_WITHIN_MS), "ended", line);
}

/** A source that breaks with an error has ended too. */
async function drain(hints: AsyncIterator<Hint>): Promise<string> {
  try {
    while ((await hints.next()).done !== true);
  } catch {
    return "ended";
  }
  return "ended";
}
