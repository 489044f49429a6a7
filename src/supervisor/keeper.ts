// The keeper of `conclave run`: a process of its own that ends the child when the supervisor cannot. It imports only built-ins, and a few files that do the same,
// so that an error which breaks a supervisor does not break the keeper.
//
//   supervisor stopped, hung     at killAt every process of the cell is killed, stopped ones too. Nothing is released; the ttl runs
//   supervisor dead              the cell is killed at once, seen empty, and only then is the term given up
//   stdin ended, not dead        as if stopped: a closed pipe is no death. A supervisor is dead when its process id with its start time is gone
//   told farewell                it ends, and does nothing
//
// Why a successor never meets the child of a dead supervisor: the socket that waiters watch (the store's, descriptor LIFE here) is open in the supervisor, in
// this process and in the child. It refuses connections only when all of them are gone or have closed it; this process closes it last, after it has seen the cell empty.
// Where there is no such socket, the will is executed (releaser.ts) under the same condition. While something of the cell cannot be killed, neither happens.
// Assumption: every process that can act for the term is in the cell (cell.ts says what escapes).
//
// The keeper has a session of its own; SIGHUP, SIGINT and SIGTERM are for the supervisor. When process 1 of a container dies, the kernel kills the keeper too.
import { closeSync } from "node:fs";
import type { Reading } from "../base/clock.ts";
import { nodeClock } from "../election/clock.ts";
import { type Cell, followCell, isEmpty, killCell, livesIn, terminateCell } from "./cell.ts";
import { discard } from "./cgroup.ts";
import type { Estate, FromKeeper, ToKeeper } from "./keeper-messages.ts";
import { readLines } from "../keeper/lines.ts";
import { isGone, type ProcessId } from "../keeper/processes.ts";
import { type Instants, isPast, later, msUntil } from "./schedule.ts";
import { shareStderr } from "../keeper/stderr.ts";
import { Standby } from "./standby.ts";

/** Where the supervisor put the descriptor that waiters watch. */
const LIFE = 3;
/** A suspended host stops the clock of timers, so the keeper never sleeps for longer than this. */
const LONGEST_NAP_MS = 200;
const SHORTEST_NAP_MS = 5;
/** How long one turn of the loop takes if nothing comes between. The second number is how often this is tried, so that a host that is always slow does not keep a child alive. */
const PROMPT_MS = 30;
const TRIES_MOST = 2;
const NEVER: Reading = { mono: Infinity, boot: Infinity };
/** How long a descendant of the command may live unseen. */
const FOLLOW_EVERY_MS = 500;

const clock = nodeClock();
const standby = new Standby();

let supervisor: ProcessId | undefined;
let hasLife = false;
let releaser = "";
let estate: Estate | undefined;
let guarded: { readonly cell: Cell; instants: Instants; isTold: boolean; isKilled: boolean } | undefined;
let followedAt: Reading = { mono: -Infinity, boot: -Infinity };
let isCut = false;
let isSettling = false;
let reported = "";
let nap: NodeJS.Timeout | undefined;
let listening: NodeJS.Immediate | undefined;

function hear(word: ToKeeper): void {
  switch (word.word) {
    case "hello":
      ({ supervisor, hasLife, releaser } = word);
      break;
    case "estate":
      estate = word.estate;
      break;
    case "guard":
      guarded = { cell: word.cell, instants: word.instants, isTold: word.isTold, isKilled: false };
      break;
    case "extend":
      if (guarded !== undefined) Object.assign(guarded, { instants: word.instants, isTold: word.isTold });
      break;
    case "leave":
      guarded = undefined;
      break;
    case "farewell":
      process.exit(0);
  }
  say({ word: "heard", number: word.number });
  look();
  if (guarded !== undefined && !hasLife && estate !== undefined) standby.prepare(releaser, estate.url);
}

function say(word: FromKeeper): void {
  if (!isCut) process.stdout.write(`${JSON.stringify(word)}\n`);
}

/** Does what is due, and sleeps until something is. */
function look(): void {
  clearTimeout(nap);
  // The keeper uses built-ins only, but if it threw it would be gone; so every error is caught.
  try {
    if (isCut && (supervisor === undefined || isGone(supervisor))) return void settle();
    if (isPast(clock.now(), guarded?.instants.termAt ?? NEVER)) return listen(TRIES_MOST);
    if (guarded !== undefined && isPast(clock.now(), later(followedAt, FOLLOW_EVERY_MS))) {
      followCell(guarded.cell);
      followedAt = clock.now();
    }
  } catch (error) {
    report(error);
  }
  nap = setTimeout(look, napMs());
}

/**
 * Something seems due. But if this process was stopped, or got no processor time, the supervisor may have said otherwise long ago, and this process has not read it yet. So the
 * loop turns once more, reads whatever waits, and only then acts. If that took so long that this process may have been stopped again, it does not count.
 */
function listen(triesLeft: number): void {
  clearImmediate(listening);
  listening = setImmediate(() => {
    const before = clock.now();
    listening = setImmediate(() => {
      if (triesLeft > 0 && isPast(clock.now(), later(before, PROMPT_MS))) return listen(triesLeft - 1);
      guard();
      nap = setTimeout(look, napMs());
    });
  });
}

function guard(): void {
  if (guarded === undefined) return;
  const { cell, instants } = guarded;
  const now = clock.now();
  if (isPast(now, instants.killAt)) {
    if (!guarded.isKilled && !isEmpty(cell)) tellOf("killed", cell);
    guarded.isKilled = true;
    killCell(cell);
  } else if (isPast(now, instants.termAt) && !guarded.isTold) {
    guarded.isTold = true;
    if (isEmpty(cell)) return;
    tellOf("terminated", cell);
    terminateCell(cell, "SIGTERM");
  }
}

/** Is said before the signal is sent. So the supervisor never takes a command for finished that the keeper ended, not even if this process dies in between. */
function tellOf(word: "terminated" | "killed", cell: Cell): void {
  say({ word, child: cell.child.pid, ran: runs(cell.child) });
}

/** A child that cannot be looked at may run. */
function runs(child: ProcessId): boolean {
  try {
    return !isGone(child);
  } catch {
    return true;
  }
}

function napMs(): number {
  if (isCut) return SHORTEST_NAP_MS * 4;
  if (guarded === undefined) return LONGEST_NAP_MS * 5;
  const now = clock.now();
  const { instants, isTold, isKilled } = guarded;
  const nextMs = msUntil(now, isTold ? instants.killAt : instants.termAt);
  // The cell was killed, and the supervisor has said nothing since: it is stopped. The next look finds a process of the cell that appears late.
  return isKilled ? LONGEST_NAP_MS : Math.min(LONGEST_NAP_MS, Math.max(SHORTEST_NAP_MS, Math.ceil(nextMs)));
}

/** The supervisor is dead: ends its child, and only then lets others know. */
async function settle(): Promise<void> {
  if (isSettling) return;
  isSettling = true;
  const isSeenEmpty = guarded === undefined || (await empty(guarded.cell, guarded.instants.deadline));
  if (isSeenEmpty && !hasLife && estate !== undefined) await release(estate);
  if (hasLife) closeSync(LIFE); // a few milliseconds before the exit would close it
  process.exit(0);
}

/** True when nothing of the cell lives. While there are only suspects (kin.ts) the ttl decides: false when the deadline has passed, and nothing was given back before. */
async function empty(cell: Cell, deadline: Reading): Promise<boolean> {
  for (let round = 0; ; round++) {
    killCell(cell);
    const found = livesIn(cell);
    if (found.is === "empty") break;
    if (found.is === "unsure") {
      report(new Error(`process ${found.suspects.join(", ")} cannot be looked at: the term ends with its ttl`));
      if (isPast(clock.now(), deadline)) return false;
    }
    await new Promise((resolve) => setTimeout(resolve, Math.min(LONGEST_NAP_MS, 1 + round)));
  }
  if (cell.cgroup !== undefined) discard(cell.cgroup);
  return true;
}

/** Runs in a process of its own, because only there a store's client is loaded. */
async function release(will: Estate): Promise<void> {
  await standby.execute(releaser, will);
}

/** Says each thing once until something else is to be said: what fails is tried again and again. */
function report(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  if (text !== reported) process.stderr.write(`conclave keeper: ${text}\n`);
  reported = text;
}

for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) process.on(signal, () => {});
shareStderr();
for (const stream of [process.stdin, process.stdout]) stream.on("error", () => {});
process.on("uncaughtException", report);
// Plain lines are used, not Node's own channel: that channel forgets what was said before this process was ready, if the supervisor has died meanwhile.
readLines(process.stdin, (line) => hear(JSON.parse(line) as ToKeeper));
process.stdin.on("close", () => {
  isCut = true;
  look();
});
