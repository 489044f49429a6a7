// Services that are left by a guard which was killed together with its keeper. They are found by their cgroup, or by the mark in their environment, and are ended before anything is started. Redis writes its title over its
// environment, so without a cgroup it is not found: then its address is in use, and the guard says so.
//
// A mark is SERVER:GUARD:NONCE. SERVER is a hash, and GUARD is the process id and start time of the guard. Only services whose guard is gone are ended, so two guards that were started by mistake do not end each
// other's services: the second guard finds that the address is in use.
import { createHash, randomBytes } from "node:crypto";
import { nap } from "../election/nap.ts";
import { MARKS } from "../keeper/mark.ts";
import { identify, isGone, livingWithEnvironment, send } from "../keeper/processes.ts";
import { enclosuresOf, killEnclosure } from "../supervisor/cgroup.ts";

export function childMark(name: string, server: string): string {
  const self = identify(process.pid);
  return `${hashOf(name, server)}:${process.pid}.${self?.startedAt ?? ""}:${randomBytes(8).toString("hex")}`;
}

export function marksWith(mark: string): Readonly<Record<string, string>> {
  return { [MARKS]: [process.env[MARKS], mark].filter(Boolean).join(" ") };
}

/** Resolves with their process ids when none of these processes lives any more. */
export async function endLeftovers(name: string, server: string, signal: AbortSignal): Promise<readonly number[]> {
  const found = new Set<number>();
  const hash = hashOf(name, server);
  while (!signal.aborted) {
    const cells = enclosuresOf(hash).filter(({ name }) => isDead(name.split("-")[0] ?? ""));
    for (const cell of cells) killEnclosure(cell);
    const marked = livingWithEnvironment((text) => marksIn(text).some((mark) => isLeft(mark, hash)));
    for (const pid of marked) send(pid, "SIGKILL");
    for (const pid of [...cells.flatMap(({ pids }) => pids), ...marked]) found.add(pid);
    if (cells.length + marked.length === 0) break;
    await nap(5, signal);
  }
  return [...found];
}

function hashOf(name: string, server: string): string {
  return createHash("sha256").update(`guard\n${name}\n${server}`).digest("hex").slice(0, 16);
}

function marksIn(environment: string): readonly string[] {
  const entry = environment.split("\0").find((each) => each.startsWith(`${MARKS}=`));
  return entry?.slice(MARKS.length + 1).split(" ") ?? [];
}

function isLeft(mark: string, hash: string): boolean {
  const [server, guard = ""] = mark.split(":");
  return server === hash && isDead(guard);
}

/** `guard` is its process id and start time. */
function isDead(guard: string): boolean {
  const [pid = "", startedAt = ""] = guard.split(".");
  return /^\d+$/.test(pid) && isGone({ pid: Number(pid), startedAt });
}
