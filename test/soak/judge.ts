// Judges a soak from outside: by the log that the candidates have written (who held when, on one clock), and by what the guarded resource has accepted, in
// the order in which it was committed.
import { type FencingToken, parseToken } from "conclave";
import { judgeLog, readTerms } from "conclave/testing";

/** `overlap`: two terms at once are forged into the log. `stale-write`: a write of an older term is forged into what was accepted. */
export type Sabotage = "overlap" | "stale-write";

export interface SoakVerdict {
  readonly terms: number;
  readonly writes: number;
  /** A sentence for everything that must not be. */
  readonly findings: readonly string[];
}

/** `accepted`: the tokens of the writes, as text, the first one first. */
export function judgeSoak(log: string, accepted: readonly string[]): SoakVerdict {
  const { terms, overlaps, regressions, unread } = judgeLog(log);
  const findings = [...overlaps, ...regressions, ...unread.map((line) => `a line that cannot be read: ${line}`)];
  let newest: FencingToken | undefined;
  for (const text of accepted) {
    const token = parseToken(text);
    if (newest !== undefined && token.domain !== newest.domain)
      findings.push(`a write of domain ${token.domain} was accepted after one of ${newest.domain}`);
    else if (newest !== undefined && token.value < newest.value)
      findings.push(`a write with token ${token.value} was accepted after one with ${newest.value}`);
    else if (newest !== undefined && token.value === newest.value && token.bid !== newest.bid)
      findings.push(`two terms with token ${token.value} have written`);
    newest = token;
  }
  if (terms === 0) findings.push("nobody ever led");
  if (accepted.length === 0) findings.push("nothing was ever written");
  return { terms, writes: accepted.length, findings };
}

/** What a judge must find: without that, its silence means nothing. */
export function forge(
  sabotage: Sabotage | undefined,
  log: string,
  accepted: readonly string[],
): readonly [log: string, accepted: readonly string[]] {
  if (sabotage === "stale-write") return [log, [...accepted, accepted[0] ?? "d:1:b"]];
  if (sabotage === undefined) return [log, accepted];
  const longest = readTerms(log).terms.toSorted((a, b) => b.untilMs - b.fromMs - (a.untilMs - a.fromMs))[0];
  if (longest === undefined) return [log, accepted];
  const { fromMs, untilMs, token } = longest;
  return [`${log}${(fromMs + untilMs) / 2} forged/1 begin ${token + 1n}\n`, accepted];
}
