// Events counted, and who leads now: as data (`collect`), for a bridge into whatever exports metrics, and as text in Prometheus' exposition format.
// Give `record` to `onEvent` or `subscribe` of one candidate; serve `text()`. Several candidates need one `createMetrics()` each, because a renewal is one candidate's. FAMILIES below is the whole list; docs/EVENTS.md has the same.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ConclaveEvent } from "../lease/events.ts";
import { textOf } from "./prometheus.ts";

/** The labels of a sample: name and value. */
export type Labels = Readonly<Record<string, string>>;

/** One metric with its samples. */
export type MetricFamily = {
  readonly name: string;
  readonly help: string;
  /** The names of the labels that its samples have. */
  readonly labelNames: readonly string[];
} & (
  | {
      readonly type: "gauge" | "counter";
      readonly samples: readonly { readonly labels: Labels; readonly value: number }[];
    }
  | {
      readonly type: "histogram";
      readonly samples: readonly HistogramSample[];
    }
);

/** One sample of a histogram. */
export interface HistogramSample {
  readonly labels: Labels;
  readonly count: number;
  readonly sum: number;
  /** Upper bounds, in seconds, and how many were at or below each; the last bound is Infinity. */
  readonly buckets: readonly { readonly le: number; readonly count: number }[];
}

/** Options of `createMetrics`. */
export interface MetricsOptions {
  /** The clock by which seconds of certainty pass, in milliseconds. @default the monotonic clock of the process */
  readonly nowMs?: (() => number) | undefined;
}

/** Metrics of one candidate. */
export interface Metrics {
  /** Takes note of one event. */
  readonly record: (event: ConclaveEvent) => void;
  /** Counts what guards of this process refuse (`conclave_refusals_total`), until the returned function is called. */
  readonly countRefusals: () => () => void;
  /** What has been recorded, as data. Every family is there, also one without samples. */
  readonly collect: () => readonly MetricFamily[];
  /** What has been recorded, in Prometheus' text format. */
  readonly text: () => string;
}

type Kind = MetricFamily["type"];

/** The names of all metrics. docs/EVENTS.md says what each counts. */
export type MetricName =
  | "conclave_leading"
  | "conclave_jeopardy"
  | "conclave_certainty_seconds"
  | "conclave_token"
  | "conclave_trouble"
  | "conclave_terms_total"
  | "conclave_losses_total"
  | "conclave_failovers_total"
  | "conclave_overstays_total"
  | "conclave_handed_back_total"
  | "conclave_sessions_total"
  | "conclave_errors_total"
  | "conclave_failed_requests_total"
  | "conclave_refusals_total"
  | "conclave_renewal_seconds"
  | "conclave_schedule_last_slot_seconds"
  | "conclave_schedule_next_slot_seconds"
  | "conclave_schedule_running_since_seconds"
  | "conclave_schedule_runs_total"
  | "conclave_schedule_missed_total"
  | "conclave_schedule_unfinished_total";

const FAMILIES: Readonly<Record<MetricName, readonly [Kind, string, ...labelNames: string[]]>> = {
  conclave_leading: ["gauge", "1 while this candidate leads that election, 0 while it does not", "election"],
  conclave_jeopardy: ["gauge", "1 while the last proven renewal of a held term is overdue", "election"],
  conclave_certainty_seconds: [
    "gauge",
    "seconds for which this candidate is certain to lead, if no further renewal is proven",
    "election",
  ],
  conclave_token: ["gauge", "token of the present or last term", "election"],
  conclave_trouble: ["gauge", "1 while requests to the store fail, by the code with which it began", "code"],
  conclave_terms_total: ["counter", "terms won", "election"],
  conclave_losses_total: ["counter", "terms ended, by reason", "election", "reason"],
  conclave_failovers_total: ["counter", "changes from one leader to another that this candidate has seen", "election"],
  conclave_overstays_total: ["counter", "works that ran on after their term was lost", "election"],
  conclave_handed_back_total: ["counter", "grants given back, by why", "election", "why"],
  conclave_sessions_total: ["counter", "sessions, by what became of them", "state"],
  conclave_errors_total: ["counter", "errors, by code; an outage counts once", "code"],
  conclave_failed_requests_total: [
    "counter",
    "requests to the store that failed, by the code of their outage; counted when it is over",
    "code",
  ],
  conclave_refusals_total: [
    "counter",
    "operations that a guard of this process refused, by resource and code",
    "resource",
    "code",
  ],
  conclave_renewal_seconds: ["histogram", "how long the answer to a proven renewal took"],
  conclave_schedule_last_slot_seconds: ["gauge", "last slot begun here, in Unix time", "election", "schedule"],
  conclave_schedule_next_slot_seconds: [
    "gauge",
    "next slot, in Unix time, as this leader awaits it; 0 while it does not",
    "election",
    "schedule",
  ],
  conclave_schedule_running_since_seconds: [
    "gauge",
    "when the work that runs here was begun, in Unix time; 0 while none runs",
    "election",
    "schedule",
  ],
  conclave_schedule_runs_total: [
    "counter",
    "works of slots that have settled here, by outcome",
    "election",
    "schedule",
    "outcome",
  ],
  conclave_schedule_missed_total: ["counter", "slots that this leader has left out", "election", "schedule"],
  conclave_schedule_unfinished_total: [
    "counter",
    "slots that an earlier term has begun and whose end nobody noted",
    "election",
    "schedule",
  ],
};

/** Upper bounds of `conclave_renewal_seconds`, without the last, which is Infinity. */
export const RENEWAL_BOUNDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
const BUCKETS: readonly number[] = [...RENEWAL_BOUNDS, Infinity];

/** Counts the events of one candidate: give `record` to `onEvent` or `subscribe`, and serve `text()`. */
export function createMetrics(options?: MetricsOptions): Metrics {
  const { nowMs = () => performance.now() } = options ?? {};
  const book = new MetricSamples(nowMs);
  const record = countingOnly((event) => book.record(event));
  const countRefusals = (): (() => void) => {
    const count = (message: unknown): void => {
      const { resource, code } = message as { readonly resource: string; readonly code: string };
      book.add("conclave_refusals_total", { resource, code });
    };
    subscribe("conclave:refused", count);
    return () => void unsubscribe("conclave:refused", count);
  };
  const collect = (): readonly MetricFamily[] => book.collect();
  return { record, countRefusals, collect, text: () => collect().map(textOf).join("") };
}

/** Marks a listener. Nobody reads a metric as it happens: a candidate that only such a listener hears still warns. */
export function countingOnly(listener: (event: ConclaveEvent) => void): (event: ConclaveEvent) => void {
  return Object.assign(listener, { [Symbol.for("conclave.counts-only")]: true });
}

interface Sample {
  readonly labels: Labels;
  value: number;
}

/** Whom a candidate knows to lead: itself, or another by its id. */
const SELF = Symbol("self");

class MetricSamples {
  readonly #nowMs: () => number;
  readonly #samples = new Map<MetricName, Map<string, Sample>>();
  readonly #renewals = { count: 0, sum: 0, buckets: BUCKETS.map(() => 0) };
  /** Elections that are led now, and until when that is certain. */
  readonly #certainUntil = new Map<string, number>();
  readonly #leaders = new Map<string, string | typeof SELF>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  add(name: MetricName, labels: Labels, by = 1): void {
    this.#sample(name, labels).value += by;
  }

  #set(name: MetricName, labels: Labels, value: number): void {
    this.#sample(name, labels).value = value;
  }

  #sample(name: MetricName, labels: Labels): Sample {
    const samples = this.#samples.get(name) ?? new Map<string, Sample>();
    this.#samples.set(name, samples);
    const key = JSON.stringify(labels);
    const sample = samples.get(key) ?? { labels, value: 0 };
    samples.set(key, sample);
    return sample;
  }

  collect(): readonly MetricFamily[] {
    const now = this.#nowMs();
    for (const [election, until] of this.#certainUntil)
      this.#set("conclave_certainty_seconds", { election }, Math.max(0, until - now) / 1000);
    return Object.entries(FAMILIES).map(([name, [type, help, ...labelNames]]): MetricFamily => {
      if (type === "histogram")
        return { name, help, labelNames, type, samples: this.#renewals.count === 0 ? [] : [this.#renewal()] };
      const samples = [...(this.#samples.get(name as MetricName)?.values() ?? [])].map((sample) => ({ ...sample }));
      return { name, help, labelNames, type, samples };
    });
  }

  #renewal(): HistogramSample {
    const { count, sum, buckets } = this.#renewals;
    return { labels: {}, count, sum, buckets: BUCKETS.map((le, index) => ({ le, count: buckets[index] ?? 0 })) };
  }

  record(event: ConclaveEvent): void {
    switch (event.type) {
      case "standing":
        return this.#follow(event.election);
      case "elected":
        return this.#lead(event);
      case "state":
        this.#set("conclave_jeopardy", { election: event.election }, event.state === "jeopardy" ? 1 : 0);
        if (event.state !== "ending") return;
        this.#follow(event.election);
        return this.add("conclave_losses_total", { election: event.election, reason: event.reason ?? "expired" });
      case "renewed":
        return this.#renewed(event.roundTripMs / 1000, event.remainingMs);
      case "leader":
        return event.leader === undefined ? undefined : this.#seeLeader(event.election, event.leader.candidate);
      case "overstayed":
        return this.add("conclave_overstays_total", { election: event.election });
      case "handed-back":
        return this.add("conclave_handed_back_total", { election: event.election, why: event.why });
      case "session":
        return this.add("conclave_sessions_total", { state: event.state });
      case "error":
        if (event.during !== undefined) this.#set("conclave_trouble", { code: event.error.code }, 1);
        return this.add("conclave_errors_total", { code: event.error.code });
      case "recovered":
        this.#set("conclave_trouble", { code: event.code }, 0);
        return this.add("conclave_failed_requests_total", { code: event.code }, event.failures);
      case "schedule":
        return this.#scheduled(event);
      case "waiting":
      case "warning":
      case "lost":
      case "settled":
      case "released":
        return;
    }
  }

  #lead(event: Extract<ConclaveEvent, { type: "elected" }>): void {
    const named = { election: event.election };
    this.add("conclave_terms_total", named);
    this.#set("conclave_leading", named, 1);
    this.#set("conclave_jeopardy", named, 0);
    this.#certainUntil.set(event.election, this.#nowMs() + event.remainingMs);
    this.#seeLeader(event.election, SELF);
    // Exact up to 2^53, which no counter of terms reaches; etcd's revisions neither.
    if (event.token !== undefined) this.#set("conclave_token", named, Number(event.token.value));
  }

  #scheduled(event: Extract<ConclaveEvent, { type: "schedule" }>): void {
    const labels = { election: event.election, schedule: event.key };
    switch (event.state) {
      case "waiting":
        return this.#set("conclave_schedule_next_slot_seconds", labels, secondsOf(event.next));
      case "begun":
        this.#set("conclave_schedule_last_slot_seconds", labels, secondsOf(event.slot));
        return this.#set("conclave_schedule_running_since_seconds", labels, secondsOf(event.at));
      case "ended":
        this.#set("conclave_schedule_running_since_seconds", labels, 0);
        return this.add("conclave_schedule_runs_total", { ...labels, outcome: event.outcome });
      case "missed":
        return this.add("conclave_schedule_missed_total", labels, event.count);
      case "unfinished":
        return this.add("conclave_schedule_unfinished_total", labels);
    }
  }

  /** Does not lead: a follower exports 0, not nothing. */
  #follow(election: string): void {
    this.#set("conclave_leading", { election }, 0);
    this.#set("conclave_certainty_seconds", { election }, 0);
    this.#certainUntil.delete(election);
    for (const sample of this.#samples.get("conclave_schedule_next_slot_seconds")?.values() ?? [])
      if (sample.labels["election"] === election) sample.value = 0;
  }

  #seeLeader(election: string, leader: string | typeof SELF): void {
    const before = this.#leaders.get(election);
    this.#leaders.set(election, leader);
    this.add("conclave_failovers_total", { election }, before === undefined || before === leader ? 0 : 1);
  }

  #renewed(seconds: number, remainingMs: number): void {
    const until = this.#nowMs() + remainingMs;
    for (const election of this.#certainUntil.keys()) this.#certainUntil.set(election, until);
    this.#renewals.count++;
    this.#renewals.sum += seconds;
    BUCKETS.forEach((le, index) => {
      if (seconds <= le) this.#renewals.buckets[index] = (this.#renewals.buckets[index] ?? 0) + 1;
    });
  }
}

function secondsOf(iso: string | undefined): number {
  return iso === undefined ? 0 : Date.parse(iso) / 1000;
}
