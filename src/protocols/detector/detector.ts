// Failure detectors decide from the heartbeats that arrive when to believe that a peer has crashed. They are pure; there is one state for each peer that is watched.
//
// Chandra and Toueg (1996) judge a detector by two properties. *Completeness*: a crashed peer is suspected in the end, and for ever. *Accuracy*: a live peer is not suspected. Completeness is easy,
// because silence grows. Accuracy needs a bound on delay. Where the bound is known, `heartbeat` with a longer timeout is perfect. Where there is a bound that nobody knows, a timeout that grows with
// every mistake is right in the end (◇P). Where there is none, no detector is accurate: with `phi` at least the chance of a mistake can be chosen.
//
//   told        hears nothing and suspects nobody by itself: an operator, or a test, says who is dead
//   heartbeat   suspects after `timeoutMs` of silence; each mistake makes its timeout half as long again
//   phi         Hayashibara and others (2004): suspects when the chance that the next heartbeat still comes has fallen to 10^−threshold
import { assert } from "../../base/assert.ts";
import { numberOf, type Parameter, type NodeSettings } from "../node.ts";
import { quantileOfTail } from "./normal.ts";

/** The way to notice that a peer is dead: somebody says so, a timeout since its last heartbeat, or a chance computed from its heartbeats. */
export type DetectorKind = "told" | "heartbeat" | "phi";

/** The settings by which a peer is watched. */
export interface DetectorSettings {
  readonly kind: DetectorKind;
  /** The interval at which a watched peer sends heartbeats. */
  readonly everyMs: number;
  /** `heartbeat` suspects a peer after this silence. */
  readonly timeoutMs: number;
  /** For `phi`: 1 is one mistake in ten, 3 one in a thousand. */
  readonly threshold: number;
}

/** The state of one watch over one peer. */
export interface Watch {
  readonly settings: DetectorSettings;
  /** The time when the peer was last heard, or when the watch began. */
  heardAt: number;
  /** `heartbeat`: the timeout, which grows with mistakes. */
  timeoutMs: number;
  /** `phi`: the intervals seen, oldest overwritten first. */
  readonly intervals: number[];
  next: number;
}

/** This is few enough to forget how the network was a while ago. */
const INTERVALS_MAX = 100;
/** While few intervals are seen, their mean says little: two made-up intervals stand in at first, as in Akka's and Cassandra's detectors. */
const SPREAD_AT_FIRST = 0.25;
/** A network that shows no jitter at all has not been watched long enough. */
const DEVIATION_MIN = 0.1;
const AFTER_MISTAKE = 1.5;

/** For protocols that take a detector: merge these into `parameters`. */
export const DETECTOR_PARAMETERS: Readonly<Record<string, Parameter>> = {
  detector: { default: "told", choices: ["told", "heartbeat", "phi"], help: "who notices that a leader is dead" },
  heartbeatEveryMs: { default: 50, help: "how often a leader says that it lives; not with detector=told" },
  heartbeatTimeoutMs: { default: 150, help: "silence after which detector=heartbeat suspects" },
  phiThreshold: { default: 8, help: "detector=phi suspects when a mistake has the chance 10^-phi" },
};

export function detectorOf(settings: NodeSettings): DetectorSettings {
  const { detector } = settings;
  assert(detector === "told" || detector === "heartbeat" || detector === "phi", "detector is told, heartbeat or phi");
  return {
    kind: detector,
    everyMs: numberOf(settings, "heartbeatEveryMs"),
    timeoutMs: numberOf(settings, "heartbeatTimeoutMs"),
    threshold: numberOf(settings, "phiThreshold"),
  };
}

/** Begins to watch a peer. The beginning counts as having heard it. */
export function watch(settings: DetectorSettings, now: number): Watch {
  const { everyMs, timeoutMs } = settings;
  const spread = everyMs * SPREAD_AT_FIRST;
  return { settings, heardAt: now, timeoutMs, intervals: [everyMs - spread, everyMs + spread], next: 0 };
}

/** The peer was heard. */
export function heard(watch: Watch, now: number): void {
  if (suspects(watch, now)) watch.timeoutMs *= AFTER_MISTAKE;
  const interval = now - watch.heardAt;
  if (watch.settings.kind === "phi" && interval > 0) learn(watch, interval);
  watch.heardAt = now;
}

/** Returns the time, on the watcher's clock, at which the peer will be suspected if nothing is heard until then. Infinity: never by itself. */
export function suspectsAt(watch: Watch): number {
  const { kind, threshold } = watch.settings;
  if (kind === "told") return Infinity;
  if (kind === "heartbeat") return watch.heardAt + watch.timeoutMs;
  const { mean, deviation } = describe(watch);
  return watch.heardAt + Math.max(mean + deviation * quantileOfTail(10 ** -threshold), mean);
}

/** Tells whether the peer is taken for dead at `now`. */
export function suspects(watch: Watch, now: number): boolean {
  return now >= suspectsAt(watch);
}

function learn(watch: Watch, interval: number): void {
  if (watch.intervals.length < INTERVALS_MAX) watch.intervals.push(interval);
  else watch.intervals[watch.next] = interval;
  watch.next = (watch.next + 1) % INTERVALS_MAX;
}

function describe({ intervals }: Watch): { readonly mean: number; readonly deviation: number } {
  const mean = intervals.reduce((sum, interval) => sum + interval, 0) / intervals.length;
  const variance = intervals.reduce((sum, interval) => sum + (interval - mean) ** 2, 0) / intervals.length;
  return { mean, deviation: Math.max(Math.sqrt(variance), mean * DEVIATION_MIN) };
}
