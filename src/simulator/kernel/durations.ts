// Durations as people write them: `500ms`, `2s`, `1.5s`, `2m`.

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 };

/** Reads a duration such as `250ms` or `2s`; throws a RangeError for anything else. */
export function parseMs(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m)$/.exec(text.trim());
  const unit = UNITS[match?.[2] ?? ""];
  if (match === null || unit === undefined) throw new RangeError(`${JSON.stringify(text)} is no duration: 500ms, 2s`);
  return Number(match[1]) * unit;
}

/** A duration as `parseMs` reads it. */
export function formatMs(ms: number): string {
  return ms >= 1000 && ms % 100 === 0 ? `${ms / 1000}s` : `${Number(ms.toFixed(3))}ms`;
}
