// How long a message, or a disk write, takes: a distribution as plain data, its text, and a draw from it.
//
//   10ms            always so long
//   5ms-15ms        evenly between the two
//   exp:2ms+8ms     at least 2 ms, plus an exponential part with mean 8 ms
//   lan             0.2–1 ms
//   wan             30–40 ms; one message in a hundred is sent again after 200 ms
import { nextFraction, type Rng } from "../../base/rng.ts";
import { formatMs, parseMs } from "./durations.ts";

/** How long a message or a write to a disk takes. */
export interface Latency {
  readonly minMs: number;
  /** Evenly spread over so much more. */
  readonly spreadMs: number;
  /** The mean of an exponential part. */
  readonly tailMs: number;
  /** Sometimes a message takes so much longer: a packet was lost below, and sent again. */
  readonly againChance: number;
  readonly againMs: number;
}

const NONE: Latency = { minMs: 0, spreadMs: 0, tailMs: 0, againChance: 0, againMs: 0 };
const NAMED: Readonly<Record<string, Latency>> = {
  lan: { ...NONE, minMs: 0.2, spreadMs: 0.8 },
  wan: { ...NONE, minMs: 30, spreadMs: 10, againChance: 0.01, againMs: 200 },
};

/** Always `ms`. */
export function fixedLatency(ms: number): Latency {
  return { ...NONE, minMs: ms };
}

/** Evenly between `minMs` and `maxMs`. */
export function uniformLatency(minMs: number, maxMs: number): Latency {
  return { ...NONE, minMs, spreadMs: maxMs - minMs };
}

/** At least `minMs`, and an exponential part with a mean of `meanMs` on top. */
export function exponentialLatency(minMs: number, meanMs: number): Latency {
  return { ...NONE, minMs, tailMs: meanMs };
}

/** A part that is zero draws nothing, so that a simpler distribution is a faster one. */
export function drawLatency(rng: Rng, latency: Latency): number {
  let ms = latency.minMs;
  if (latency.spreadMs > 0) ms += nextFraction(rng) * latency.spreadMs;
  if (latency.tailMs > 0) ms -= Math.log(1 - nextFraction(rng)) * latency.tailMs;
  if (latency.againChance > 0 && nextFraction(rng) < latency.againChance) ms += latency.againMs;
  return ms;
}

/** Reads `10ms`, `5ms-15ms`, `exp:2ms+8ms`, `lan` or `wan`; throws a RangeError for anything else. */
export function parseLatency(text: string): Latency {
  const named = Object.hasOwn(NAMED, text) ? NAMED[text] : undefined;
  if (named !== undefined) return named;
  const exponential = /^exp:(.+)\+(.+)$/.exec(text);
  if (exponential !== null) return exponentialLatency(parseMs(exponential[1] ?? ""), parseMs(exponential[2] ?? ""));
  const [low = "", high = low, ...more] = text.split("-");
  const [minMs, maxMs] = [parseMs(low), parseMs(high)];
  if (more.length > 0 || maxMs < minMs)
    throw new RangeError(`latency ${text}: 10ms, 5ms-15ms, exp:2ms+8ms, lan or wan`);
  return uniformLatency(minMs, maxMs);
}

/** As `parseLatency` reads it. */
export function formatLatency(latency: Latency): string {
  const named = Object.entries(NAMED).find(([, other]) => JSON.stringify(other) === JSON.stringify(latency));
  if (named !== undefined) return named[0];
  const { minMs, spreadMs, tailMs } = latency;
  if (tailMs > 0) return `exp:${formatMs(minMs)}+${formatMs(tailMs)}`;
  return spreadMs > 0 ? `${formatMs(minMs)}-${formatMs(minMs + spreadMs)}` : formatMs(minMs);
}
