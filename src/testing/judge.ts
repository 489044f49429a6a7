// Judges real processes from outside: each process appends a line to one log when its term begins, while it acts, and when the term ends. This module reads the log and says where two terms were held at
// once, or a later term had no greater token.
//
//   MILLISECONDS WHO begin|act|end TOKEN        such as   7170817.80 web-1 begin 41
//
// The stamp is the clock that all of them share (`process.hrtime`, one host), read BEFORE `term.isHeld()` said yes: so the term was held at that instant. A line is written with one append, so that lines
// do not mix. A process that was killed has no `end`: its last line counts.
// A term counts as held between two of its lines, and as not held after the last one.
import { invalidConfig } from "../base/errors.ts";
import { show } from "../base/show.ts";

/** The findings of `judgeLog` in a log. */
export interface LogVerdict {
  /** The number of terms that the log shows. */
  readonly terms: number;
  /** A sentence for every two terms that were held at one instant. */
  readonly overlaps: readonly string[];
  /** A sentence for every term whose token is not greater than that of the term before. */
  readonly regressions: readonly string[];
  /** Lines that cannot be read. */
  readonly unread: readonly string[];
}

/** A term as the log shows it: it was held at both instants. */
export interface TermSpan {
  readonly who: string;
  readonly token: bigint;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Finds two leaders in the lines that processes have written to a log. */
export function judgeLog(log: string): LogVerdict {
  const { terms, unread } = readTerms(log);
  return { terms: terms.length, overlaps: findOverlaps(terms), regressions: findRegressions(terms), unread };
}

/** Returns the terms in the order of their beginning, and the lines that cannot be read. */
export function readTerms(log: string): { readonly terms: readonly TermSpan[]; readonly unread: readonly string[] } {
  if (typeof log !== "string") throw invalidConfig("judgeLog", [`the log ${show(log)} is not a text`]);
  const spans = new Map<string, OpenSpan>();
  const unread: string[] = [];
  for (const line of log.split("\n").filter((text) => text !== "")) if (!readLine(line, spans)) unread.push(line);
  return { terms: [...spans.values()].toSorted((a, b) => a.fromMs - b.fromMs), unread };
}

interface OpenSpan extends TermSpan {
  untilMs: number;
}

function readLine(line: string, spans: Map<string, OpenSpan>): boolean {
  const match = /^(\d+(?:\.\d+)?) (\S+) (begin|act|end) (\d+)$/.exec(line);
  if (match === null) return false;
  const [, stamp = "", who = "", what, token = ""] = match;
  const atMs = Number(stamp);
  const key = `${who} ${token}`;
  const span = spans.get(key);
  if (what === "begin" && span === undefined)
    spans.set(key, { who, token: BigInt(token), fromMs: atMs, untilMs: atMs });
  else if (what !== "begin" && span !== undefined) span.untilMs = Math.max(span.untilMs, atMs);
  else return false;
  return true;
}

/** `terms` are in the order of their beginning: each is compared with the one so far that ended last. */
function findOverlaps(terms: readonly TermSpan[]): readonly string[] {
  const overlaps: string[] = [];
  let last: TermSpan | undefined;
  for (const term of terms) {
    if (last !== undefined && term.fromMs <= last.untilMs)
      overlaps.push(
        `${term.who} (token ${term.token}) began ${(last.untilMs - term.fromMs).toFixed(3)} ms before ${last.who} (token ${last.token}) had ended`,
      );
    if (last === undefined || term.untilMs > last.untilMs) last = term;
  }
  return overlaps;
}

function findRegressions(terms: readonly TermSpan[]): readonly string[] {
  return terms.flatMap((term, index) => {
    const before = terms[index - 1];
    return before === undefined || term.token > before.token
      ? []
      : [`${term.who} has token ${term.token} after ${before.who} had ${before.token}`];
  });
}
