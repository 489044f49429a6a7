// Words for people at a terminal: help that fits, and what somebody who mistyped may have meant.

const COLUMNS = 100;
/** A line that begins so far to the right of a row goes on with what that row says; an option of a verb is less far away. */
const CONTINUED = 6;

/**
 * Help as it is shown: no line wider than `columns`. Prose that was written wider is wrapped as one text; a row of a table, which begins with a space, goes
 * on below the beginning of what it says. Lines that continue such a row are joined to it first, so that no word is left alone on a line.
 */
export function fit(help: string, columns: number = COLUMNS): string {
  const lines: string[] = [];
  let open: number | undefined; // the last line was too wide, and began in this column: the next one belongs to it
  for (const line of help.split("\n")) {
    const margin = marginOf(line);
    if (line !== "" && open !== undefined && continues(margin, open))
      lines.push(`${lines.pop() ?? ""} ${line.trimStart()}`);
    else {
      lines.push(line);
      open = undefined;
    }
    if (line.length > columns) open ??= margin;
    else if (open === 0) open = undefined;
  }
  return lines.flatMap((line) => wrap(line, columns)).join("\n");
}

/** Prose goes on with prose. A row goes on with lines far to the right of it, and a line that was such a one goes on with its like. */
function continues(margin: number, open: number): boolean {
  return margin >= open + CONTINUED ? open > 0 : margin === open && (open === 0 || open > CONTINUED);
}

function wrap(line: string, columns: number): readonly string[] {
  if (line.length <= columns) return [line];
  const indent = " ".repeat(indentOf(line, columns));
  const wrapped: string[] = [];
  let rest = line;
  while (rest.length > columns) {
    const least = wrapped.length === 0 ? (/^\s*\S*/.exec(rest)?.[0].length ?? 0) : indent.length;
    const at = rest.lastIndexOf(" ", columns);
    if (at <= least) break; // one word that is too wide
    wrapped.push(rest.slice(0, at).trimEnd());
    rest = `${indent}${rest.slice(at).trimStart()}`;
  }
  return [...wrapped, rest];
}

/** Where a row says something after its flag: behind the first gap of two spaces or more. Not too far to the right. */
function indentOf(line: string, columns: number): number {
  const row = /^(\s+\S.*?\s{2,})\S/.exec(line)?.[1]?.length;
  return row !== undefined && row <= columns / 2 ? row : marginOf(line);
}

function marginOf(line: string): number {
  return /^\s*/.exec(line)?.[0].length ?? 0;
}

/** The word that was meant, if one is near enough: a third of its letters may be wrong. */
export function nearest(typed: string, words: readonly string[]): string | undefined {
  const [best] = words
    .map((word) => ({ word, distance: distanceOf(typed, word) }))
    .filter(({ word, distance }) => distance <= Math.max(1, Math.floor(word.length / 3)))
    .toSorted((a, b) => a.distance - b.distance);
  return best?.word;
}

/** How many letters were changed, left out, added, or exchanged with their neighbour (Damerau and Levenshtein, adjacent ones only). */
function distanceOf(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  const at = (row: number, column: number): number => rows[row]?.[column] ?? Infinity;
  for (let i = 1; i <= a.length; i++) {
    rows.push([i]);
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isExchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const options = [at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (isSame ? 0 : 1)];
      rows[i]?.push(Math.min(...options, isExchanged ? at(i - 2, j - 2) + 1 : Infinity));
    }
  }
  return at(a.length, b.length);
}

/** ` Did you mean X?`, or nothing. */
export function didYouMean(meant: string | undefined): string {
  return meant === undefined ? "" : ` Did you mean ${meant}?`;
}
