// Who led when, as a small chart: a row per candidate, time to the right. Of a long demo it shows the last terms.
import type { TermSpan } from "../../testing/index.ts";
import type { Failover } from "./round.ts";

const SHOWN = 9;
const WIDTH = 64;
const LEGEND = "█ leads   x killed   ░ stopped";

export function timeline(
  all: readonly TermSpan[],
  failovers: readonly Failover[],
  names: readonly string[],
  startMs: number,
): readonly string[] {
  const terms = all.slice(-SHOWN);
  const from = terms[0]?.fromMs ?? startMs;
  const until = Math.max(from + 1, ...terms.map(({ untilMs }) => untilMs));
  const column = (atMs: number): number => Math.round(((atMs - from) / (until - from)) * (WIDTH - 1));
  const seconds = (atMs: number): string => `${((atMs - startMs) / 1000).toFixed(1)} s`;
  const label = Math.max(...names.map(({ length }) => length), "token".length);
  const row = (name: string, cells: readonly string[]): string =>
    `  ${name.padEnd(label)}  ${cells.join("").trimEnd()}`;
  const scale = `${seconds(from).padEnd(WIDTH - seconds(until).length)}${seconds(until)}`;
  return [
    row("", [scale]),
    ...names.map((name) => row(name, cellsOf(name, terms, failovers, column))),
    row("token", tokensOf(terms, column)),
    row("", [LEGEND]),
    ...(all.length > terms.length ? [row("", [`the last ${terms.length} of ${all.length} terms`])] : []),
  ];
}

function cellsOf(
  name: string,
  terms: readonly TermSpan[],
  failovers: readonly Failover[],
  column: (atMs: number) => number,
): readonly string[] {
  const cells = Array.from({ length: WIDTH }, () => "·");
  for (const [index, { who, token, fromMs, untilMs }] of terms.entries()) {
    if (who !== name) continue;
    cells.fill("█", column(fromMs), column(untilMs) + 1);
    const how = failovers.find((failover) => failover.fromToken === token)?.how;
    const successor = terms[index + 1];
    if (how === "killed") cells[column(untilMs)] = "x";
    if (how === "stopped" && successor !== undefined)
      cells.fill("░", column(untilMs) + 1, Math.max(column(untilMs) + 1, column(successor.fromMs)));
  }
  return cells;
}

/** Each token stands where its term begins. */
function tokensOf(terms: readonly TermSpan[], column: (atMs: number) => number): readonly string[] {
  const cells = Array.from({ length: WIDTH + 40 }, () => " ");
  for (const { fromMs, token } of terms)
    for (const [index, digit] of `${token}`.split("").entries()) cells[column(fromMs) + index] = digit;
  return cells;
}
