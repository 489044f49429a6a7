// The keeper of an app that uses the library: a small process beside it that gives its seats back as soon as it is dead, so that nobody waits for the ttl.
//
//   the app is dead (fate.ts)      once nothing that it started lives (kin.ts) and `quietMs` has passed since, it gives the seats back, and ends
//   a child of the app lives, or   it waits for that child. After 9.5 s it gives up: nothing was given back, and the ttl decides
//     cannot be looked at
//   the app is stopped, or hangs   it does nothing; a stopped app is not dead
//   stdin has ended                it asks at once whether the app is dead. A closed pipe is no death: any code of the app can close it
//   told farewell                  it ends, and does nothing
//
// SAFETY  Why nothing is given back before the last act of the app. (1) Nothing is done before `fateOf` has said `dead`, which is said only of a process
//   that never runs again. (2) A process that acts in its place afterwards was started by it, directly or not. Such a process has the app's mark, or is a fork
//   that has none yet, or was seen below the app, or is in its session, or may not be looked at. While there is one, or while looking fails, nothing is done.
//   Once none is left no new one can appear, because only such processes start others. (3) The kernel may still carry what they have sent. So the user has to
//   say that every effect compares tokens (`effectsAreFenced`), or how long a request may be on its way (`quietMs`, counted from (2)). This is law 13: a fast
//   takeover needs fencing. (4) A will names session and bid: a term that was granted to anybody else, the app's own successor included, is not touched (will.ts).
//   Not covered, and said in docs/KEEPER.md: a descendant with a clean environment and a session of its own, whose parents ended within half a second.
//
// Where rivals watch a descriptor (`sqlite:`) the kernel tells them of a death by itself. There this process holds the descriptor as well, so that rivals hear
// nothing before it lets go; a claim is not sent before it has it (kept-store.ts). If it gives up it removes the file by which they find the descriptor: what is not
// found proves nothing to them. If app AND keeper are killed, rivals hear of it at once, as they do without a keeper.
//
// The keeper has a session of its own; SIGHUP, SIGINT and SIGTERM are for the app. If process 1 of a container dies, or a whole cgroup is killed, the keeper dies too.
import { closeSync, unlinkSync } from "node:fs";
import { openStore } from "../drivers/open-store.ts";
import type { Store } from "../stores/contract.ts";
import { type SessionEstate, Estates, willOf } from "./estates.ts";
import { fateOf, whatRemains } from "./fate.ts";
import { type Family, follow } from "./kin.ts";
import { readLines } from "./lines.ts";
import { monotonicMs } from "./monotonic.ts";
import { lookAt, type ProcessId } from "./processes.ts";
import { leaveStderr, shareStderr } from "./stderr.ts";
import { executeWill, WILL_TIMEOUT_MS } from "./will.ts";
import type { FromAppKeeper, ToAppKeeper } from "./messages.ts";

const FIRST_LIFE = 3;
/** This process ends less than ten seconds after its app. */
const OUTLIVES_MOST_MS = 9500;
/** How often the keeper looks. A descendant of the app may live unseen for so long. The end of stdin tells of a death sooner, unless another process has stdin open. */
const LOOK_EVERY_MS = 500;
/** How often the keeper asks after a death, and after a pipe has ended: a process needs a moment to become a zombie. Later it asks less often. */
const EAGER_MS = 3;
const EAGER_FOR_MS = 500;
const PATIENT_MS = 50;
/** The lines that a dead app has written are read within this time; missing the last of them does no harm. */
const READ_WITHIN_MS = 200;
const AGAIN_AFTER_MS = 100;

const estates = new Estates();
const stores = new Map<string, Promise<Store>>();
const peers = new Set<number>();
/** Index of a descriptor → the file by which rivals find it. */
const lives = new Map<number, string>();
const wills = new Map<SessionEstate, Promise<void>>();

let family: Family | undefined;
let looksForChildren = true;
let cutAtMs: number | undefined;
let deadAtMs: number | undefined;
let clearAtMs: number | undefined;
let hasLeft = false;
let reported = "";
let nap: NodeJS.Timeout | undefined;

function hear(word: ToAppKeeper): void {
  if (word.word === "farewell") process.exit(0);
  if (word.word === "peer") peers.add(word.peer);
  else if (word.word === "hello") greet(word);
  else {
    estates.enter(word);
    if (word.word === "claimed") rehearse(word.key);
  }
}

function greet(hello: Extract<ToAppKeeper, { word: "hello" }>): void {
  family = { child: hello.app, mark: hello.mark, sharesGroup: true, image: imageOf(hello.app), known: [] };
  ({ looksForChildren } = hello);
  hello.lives.forEach((file, index) => lives.set(index, file));
  if (hello.peer !== undefined) peers.add(hello.peer);
  look(); // from here on the keeper knows the children that exist already
  say({ word: "ready" });
}

/** Undefined if the process is gone already. */
function imageOf({ pid, startedAt }: ProcessId): string | undefined {
  const found = lookAt(pid);
  return found?.startedAt === startedAt ? found.image : undefined;
}

function say(word: FromAppKeeper): void {
  process.stdout.write(`${JSON.stringify(word)}\n`);
}

/** A driver that cannot be loaded now may be loadable later, so a failure is not remembered. */
function storeOf(url: string): Promise<Store> {
  const opened = stores.get(url) ?? openStore(url);
  stores.set(url, opened);
  opened.catch(() => stores.delete(url));
  return opened;
}

/** Looks at the store once, so that the store's client is loaded before it is needed: loading takes longer than all the rest. The connection is closed again. */
function rehearse(key: number): void {
  const estate = estates.of(key);
  if (estate === undefined || estate.life !== undefined || stores.has(estate.url)) return;
  const questions = [...estate.holds.keys()].slice(0, 1).map((name) => ({ name }));
  const call = { signal: AbortSignal.timeout(WILL_TIMEOUT_MS), sentAtMs: monotonicMs() };
  const rehearsed = storeOf(estate.url).then(async (store) => {
    await store.look(questions, call);
    if (deadAtMs === undefined) await store.close();
  });
  rehearsed.catch(() => {}); // the will is carried out even if the rehearsal failed
}

/** Does what is due, and sleeps until something is. */
function look(): void {
  clearTimeout(nap);
  try {
    if (deadAtMs === undefined) watch();
    if (deadAtMs !== undefined) settle(deadAtMs);
  } catch (error) {
    report(error instanceof Error ? error.message : String(error));
  }
  nap = setTimeout(look, napMs());
}

function watch(): void {
  if (family === undefined) return cutAtMs === undefined ? undefined : process.exit(0);
  if (fateOf(family.child) === "dead") deadAtMs = monotonicMs();
  else if (looksForChildren) follow(family);
}

function napMs(): number {
  const since = deadAtMs ?? cutAtMs;
  if (since === undefined) return LOOK_EVERY_MS;
  return monotonicMs() - since < EAGER_FOR_MS ? EAGER_MS : PATIENT_MS;
}

/** What is to be done once the app is dead. */
function settle(deadAt: number): void {
  const now = monotonicMs();
  if (now - deadAt > OUTLIVES_MOST_MS && isHidden()) process.exit(0);
  if (cutAtMs === undefined && now - deadAt < READ_WITHIN_MS) return;
  if (clearAtMs === undefined) {
    const why = looksForChildren && family !== undefined ? whatRemains(family, peers) : undefined;
    if (why !== undefined) {
      report(`the app has died, but ${why}: its terms are not given back while that is so`);
      return leave();
    }
    clearAtMs = monotonicMs(); // read after the look: what the look found gone was gone by then, and perhaps not before
  }
  const quietMs = monotonicMs() - clearAtMs;
  if (estates.all().some((estate) => estate.quietMs > quietMs)) leave();
  for (const estate of estates.all())
    if (estate.life === undefined && estate.quietMs <= quietMs && !wills.has(estate))
      wills.set(estate, giveBack(estate));
  for (const life of lives.keys()) if (estates.quietMsOf(life) <= quietMs) letGo(life);
  if (lives.size === 0 && estates.all().every((estate) => estate.life !== undefined || wills.has(estate)))
    void Promise.all(wills.values()).then(() => process.exit(0));
}

/** Gives everything back and ends; this may take a while. */
function leave(): void {
  if (!hasLeft) leaveStderr();
  hasLeft = true;
}

function letGo(life: number): void {
  lives.delete(life);
  closeSync(FIRST_LIFE + life);
}

/** Repeats the request until the store has answered: sending it twice does no harm. */
async function giveBack(estate: SessionEstate): Promise<void> {
  for (;;) {
    const why = await tryToGiveBack(estate);
    if (why === undefined) return;
    report(
      `a term of the dead app could not be given back (${why}); it ends with its ttl, unless the next try succeeds`,
    );
    await sleep(AGAIN_AFTER_MS);
  }
}

async function tryToGiveBack(estate: SessionEstate): Promise<string | undefined> {
  try {
    const store = await storeOf(estate.url);
    const why = await executeWill(store, willOf(estate));
    if (why !== undefined || store.guarantee.keep !== "per-hold") return why;
    // There is no session to end. The request is sent once more, for the sake of a renewal that was under way.
    await sleep(WILL_TIMEOUT_MS);
    return await executeWill(store, willOf(estate));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Nobody may take the end of this process for the end of the app's children. If a file cannot be removed, this process has to stay while a child may live. */
function isHidden(): boolean {
  for (const [life, file] of lives) {
    if (isRemoved(file)) lives.delete(life);
    else report(`${file} cannot be removed, so that this keeper stays`);
  }
  return lives.size === 0;
}

function isRemoved(file: string): boolean {
  try {
    unlinkSync(file);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Says each thing once until something else is to be said: what fails is tried again and again. */
function report(text: string): void {
  if (text !== reported) process.stderr.write(`conclave keeper: ${text}\n`);
  reported = text;
}

for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) process.on(signal, () => {});
shareStderr();
for (const stream of [process.stdin, process.stdout]) stream.on("error", () => {});
process.on("uncaughtException", (error) => report(error.message));
readLines(process.stdin, (line) => hear(JSON.parse(line) as ToAppKeeper));
process.stdin.on("close", () => {
  cutAtMs = monotonicMs();
  look();
});
look();
