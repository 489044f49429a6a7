// What the demo says at its end, and whether it is true: judged from what the candidates noted themselves, by the judge that tests use too
// (conclave/testing), and from the ledger.
import { readFileSync } from "node:fs";
import { judgeLog, readTerms, type TermSpan } from "../../testing/index.ts";
import { Ledger } from "./ledger.ts";
import type { Round, StaleWrite } from "./round.ts";
import { count } from "./simulated.ts";

export interface DemoVerdict {
  /** Whether everything that was shown is true. */
  readonly ok: boolean;
  readonly terms: readonly TermSpan[];
  readonly failovers: number;
  readonly overlaps: number;
  readonly entries: number;
  /** A sentence for everything that is wrong. */
  readonly problems: readonly string[];
  readonly summary: string;
}

export function judge(rounds: readonly Round[], files: { readonly log: string; readonly ledger: string }): DemoVerdict {
  const text = readFileSync(files.log, "utf8");
  const log = text.slice(0, text.lastIndexOf("\n") + 1); // the last line may not be complete yet
  const { overlaps, regressions, unread } = judgeLog(log);
  const { terms } = readTerms(log);
  const { entries, problems: ofLedger } = readLedger(files.ledger);
  const problems = [
    ...rounds.flatMap((round) => round.problems),
    ...overlaps,
    ...regressions,
    ...unread.map((line) => `this line of the log cannot be read: ${line}`),
    ...ofLedger,
    ...rounds.flatMap(({ staleWrites }) => staleWrites).flatMap(notOlder),
  ];
  const failovers = Math.max(0, terms.length - 1);
  return {
    ok: problems.length === 0 && rounds.length > 0,
    terms,
    failovers,
    overlaps: overlaps.length,
    entries,
    problems,
    summary: `${count(overlaps.length, "overlap")} in ${count(failovers, "failover")}, judged from the children's own log: ${files.log}`,
  };
}

function notOlder({ who, token, newest }: StaleWrite): readonly string[] {
  return token < newest ? [] : [`${who} was refused with token ${token}, which is not older than ${newest}`];
}

function readLedger(file: string): ReturnType<Ledger["report"]> {
  const ledger = new Ledger(file);
  try {
    return ledger.report();
  } finally {
    ledger.close();
  }
}
