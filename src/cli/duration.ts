// Durations as the command line writes them: `500ms`, `2s`, `1.5m`, `1h`.
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** In milliseconds. Throws, with `flag` in the message. */
export function parseDuration(text: string, flag: string): number {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? [];
  const ms = Number(number) * (UNITS[unit] ?? Number.NaN);
  if (unit === "" || !Number.isFinite(ms))
    throw new Error(`${flag} ${text} is not a duration: write 500ms, 2s, 1m or 1h`);
  return Math.round(ms);
}
