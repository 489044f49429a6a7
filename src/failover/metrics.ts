// Counts the events of a monitor or a guard, in Prometheus' text format. Present state (the step, the primary, which servers answer) is read at each scrape; events are counted when they happen.
import { textOf } from "../telemetry/prometheus.ts";
import type { Labels, MetricFamily } from "../telemetry/index.ts";
import type { Views } from "./choice.ts";
import type { GuardEvent } from "./guard.ts";
import type { MonitorEvent } from "./monitor.ts";
import type { FailoverRecord, Step } from "./record.ts";
import type { FailoverNews } from "./state.ts";

const STEPS: readonly Step["at"][] = ["steady", "fencing", "handing-over", "choosing", "promoting", "repointing"];

/** The knowledge of a monitor at the moment of a scrape. */
export interface MonitorSight {
  readonly record: FailoverRecord | undefined;
  readonly views: Views;
}

type Family = readonly [type: "gauge" | "counter", help: string, ...labelNames: string[]];

/** The names of the metrics of a failover. docs/FAILOVER.md says what each counts. */
export type FailoverMetricName =
  | "conclave_failover_step"
  | "conclave_failover_epoch"
  | "conclave_failover_paused"
  | "conclave_failover_primary"
  | "conclave_failover_server_up"
  | "conclave_failover_server_position"
  | "conclave_failover_sees_down"
  | "conclave_failover_switches_total"
  | "conclave_failover_refused_total"
  | "conclave_failover_not_fenced_total"
  | "conclave_failover_two_writable_total"
  | "conclave_failover_lost_bytes_total"
  | "conclave_failover_troubles_total"
  | "conclave_failover_guard_state"
  | "conclave_failover_service_starts_total"
  | "conclave_failover_service_ends_total";

const FAMILIES: Readonly<Record<FailoverMetricName, Family>> = {
  conclave_failover_step: ["gauge", "1 for the step at which a change of the primary stands", "step"],
  conclave_failover_epoch: ["gauge", "grows by one whenever a change of the primary begins"],
  conclave_failover_paused: ["gauge", "1 while an operator has paused automatic failovers"],
  conclave_failover_primary: ["gauge", "1 for the server that the record names as the primary", "server"],
  conclave_failover_server_up: ["gauge", "1 while that server answers this monitor", "server"],
  conclave_failover_server_position: ["gauge", "position of that server in the stream of writes", "server"],
  conclave_failover_sees_down: ["gauge", "1 while this monitor votes that the primary is down"],
  conclave_failover_switches_total: ["counter", "changes from one primary to another that this process has seen"],
  conclave_failover_refused_total: ["counter", "failovers that were refused, such as by the limit of failovers"],
  conclave_failover_not_fenced_total: ["counter", "old primaries that a device did not power off", "outcome"],
  conclave_failover_two_writable_total: ["counter", "how often two servers were seen to take writes at once"],
  conclave_failover_lost_bytes_total: ["counter", "bytes of writes that only a second writable server had, at least"],
  conclave_failover_troubles_total: ["counter", "what went wrong, and is tried again"],
  conclave_failover_guard_state: ["gauge", "1 for the state of this guard", "state"],
  conclave_failover_service_starts_total: ["counter", "how often this guard has started its service"],
  conclave_failover_service_ends_total: ["counter", "how often the service of this guard has ended"],
};

/** Metrics of one monitor or one guard. */
export interface FailoverMetrics {
  /** Counts one event: pass it as `tell`. Events of elections are counted by `createMetrics` of conclave/telemetry. */
  readonly record: (event: MonitorEvent | GuardEvent) => void;
  readonly collect: () => readonly MetricFamily[];
  /** Prometheus' text format. */
  readonly text: () => string;
}

/** For a monitor, `sight` returns what it knows now. Every sample has the label `group` and the labels of its family. */
export function createFailoverMetrics(group: string, sight?: () => MonitorSight): FailoverMetrics {
  const book = new FailoverSamples(group);
  const collect = (): readonly MetricFamily[] => {
    if (sight !== undefined) book.look(sight());
    return book.collect();
  };
  return { record: (event) => book.record(event), collect, text: () => collect().map(textOf).join("") };
}

class FailoverSamples {
  readonly #group: string;
  readonly #samples = new Map<string, Map<string, { readonly labels: Labels; value: number }>>();
  #guardState: string | undefined;

  constructor(group: string) {
    this.#group = group;
  }

  #sample(name: FailoverMetricName, labels: Labels): { value: number } {
    const samples = this.#samples.get(name) ?? new Map<string, { readonly labels: Labels; value: number }>();
    this.#samples.set(name, samples);
    const key = JSON.stringify(labels);
    const sample = samples.get(key) ?? { labels: { group: this.#group, ...labels }, value: 0 };
    samples.set(key, sample);
    return sample;
  }

  #add(name: FailoverMetricName, labels: Labels = {}, more = 1): void {
    this.#sample(name, labels).value += more;
  }

  #set(name: FailoverMetricName, value: number | boolean, labels: Labels = {}): void {
    this.#sample(name, labels).value = Number(value);
  }

  look({ record, views }: MonitorSight): void {
    for (const step of STEPS) this.#set("conclave_failover_step", record?.step.at === step, { step });
    this.#set("conclave_failover_epoch", record?.epoch ?? 0);
    this.#set("conclave_failover_paused", record?.isPaused === true);
    for (const [server, view] of Object.entries(views)) {
      this.#set("conclave_failover_primary", record?.primary === server, { server });
      this.#set("conclave_failover_server_up", view.is === "up", { server });
      if (view.is === "up") this.#set("conclave_failover_server_position", view.position, { server });
    }
  }

  record(event: MonitorEvent | GuardEvent): void {
    if (event.type === "failover") return this.#recordNews(event.news);
    if (event.type === "vote") return this.#set("conclave_failover_sees_down", event.isDown);
    if (event.type === "trouble") return this.#add("conclave_failover_troubles_total");
    if (event.type === "switched" && event.from !== undefined) return this.#add("conclave_failover_switches_total");
    if (event.type === "service" && event.state === "started")
      return this.#add("conclave_failover_service_starts_total");
    if (event.type === "service" && event.state === "ended") return this.#add("conclave_failover_service_ends_total");
    if (event.type === "guard") this.#enter(event.state);
  }

  #enter(state: string): void {
    if (this.#guardState !== undefined) this.#set("conclave_failover_guard_state", 0, { state: this.#guardState });
    this.#guardState = state;
    this.#set("conclave_failover_guard_state", 1, { state });
  }

  #recordNews(news: FailoverNews): void {
    if (news.is === "refused") this.#add("conclave_failover_refused_total");
    if (news.is === "not-fenced") this.#add("conclave_failover_not_fenced_total", { outcome: news.outcome });
    if (news.is !== "two-writable") return;
    this.#add("conclave_failover_two_writable_total");
    const lost = Object.values(news.lost).reduce((sum, bytes) => sum + bytes, 0);
    this.#add("conclave_failover_lost_bytes_total", {}, lost);
  }

  collect(): readonly MetricFamily[] {
    return Object.entries(FAMILIES).map(([name, [type, help, ...labelNames]]) => ({
      name,
      help,
      type,
      labelNames: ["group", ...labelNames],
      samples: [...(this.#samples.get(name)?.values() ?? [])].map((sample) => ({ ...sample })),
    }));
  }
}
