// conclave/telemetry/prom-client: the metrics of conclave/telemetry inside a registry of prom-client that a program already serves. Same names, same labels.
// Gauges and counters are read when the registry is scraped; only the duration of a renewal is written when it happens, because a histogram of
// prom-client cannot be filled later.
import { Counter, Gauge, Histogram, register as defaultRegister, type Registry } from "prom-client";
import { ConclaveError } from "../base/errors.ts";
import type { ConclaveEvent } from "../lease/events.ts";
import {
  countingOnly,
  createMetrics,
  type Labels,
  type MetricFamily,
  type Metrics,
  type MetricsOptions,
  RENEWAL_BOUNDS,
} from "./metrics.ts";

/** Options of `promClientMetrics`. */
export interface PromClientOptions extends MetricsOptions {
  /** Where they are registered. @default the global `register` of prom-client */
  readonly register?: Registry | undefined;
  /** Added to every sample. Several candidates in one registry need different values of the same labels, e.g. `{ candidate: "jobs" }`. */
  readonly labels?: Labels | undefined;
}

/** Keeps the metrics of one candidate in a registry of prom-client. */
export interface PromClientMetrics extends Pick<Metrics, "record" | "countRefusals"> {
  /** Takes the samples of this candidate out of the registry again. */
  readonly stop: () => void;
}

/** Give `record` to `onEvent` or `subscribe` of one candidate. Throws CONFIG_INVALID if the labels do not tell it from another candidate of that registry. */
export function promClientMetrics(options: PromClientOptions = {}): PromClientMetrics {
  const { register = defaultRegister, labels = {}, nowMs } = options;
  const families = familiesOf(register, Object.keys(labels));
  const metrics = createMetrics({ nowMs });
  const source = { metrics, labels };
  families.add(source);
  const record = countingOnly((event: ConclaveEvent) => {
    metrics.record(event);
    if (event.type === "renewed") families.renewals.observe(labels, event.roundTripMs / 1000);
  });
  return { record, countRefusals: metrics.countRefusals, stop: () => families.remove(source) };
}

interface Source {
  readonly metrics: Metrics;
  readonly labels: Labels;
}

const known = new WeakMap<Registry, Families>();

/** Those of the registry; made anew if it was cleared meanwhile. */
function familiesOf(register: Registry, ownLabels: readonly string[]): Families {
  const found = known.get(register);
  if (found !== undefined && register.getSingleMetric("conclave_leading") !== undefined) {
    if (found.ownLabels.toSorted().join() !== ownLabels.toSorted().join())
      throw invalid(
        `this registry has conclave's metrics with the labels [${found.ownLabels.join(", ")}], not [${ownLabels.join(", ")}]`,
      );
    return found;
  }
  const made = new Families(register, ownLabels);
  known.set(register, made);
  return made;
}

class Families {
  readonly ownLabels: readonly string[];
  readonly renewals: Histogram;
  readonly #sources = new Set<Source>();

  constructor(register: Registry, ownLabels: readonly string[]) {
    this.ownLabels = ownLabels;
    const made = createMetrics()
      .collect()
      .map((family) => this.#make(family, register));
    const renewals = made.find((metric) => metric instanceof Histogram);
    if (renewals === undefined) throw new Error("there is no histogram among the metrics");
    this.renewals = renewals;
  }

  /** prom-client calls `collect` as a method of the metric, before it reads it. */
  #make({ name, help, type, labelNames }: MetricFamily, register: Registry): Gauge | Counter | Histogram {
    const shared = { name, help, registers: [register], labelNames: [...labelNames, ...this.ownLabels] };
    const samples = (): readonly Sample[] => this.#samples(name);
    if (type === "histogram") return new Histogram({ ...shared, buckets: [...RENEWAL_BOUNDS] });
    if (type === "counter")
      return new Counter({
        ...shared,
        collect() {
          this.reset();
          for (const { labels, value } of samples()) this.inc(labels, value);
        },
      });
    return new Gauge({
      ...shared,
      collect() {
        this.reset();
        for (const { labels, value } of samples()) this.set(labels, value);
      },
    });
  }

  add(source: Source): void {
    for (const { labels } of this.#sources)
      if (Object.entries(labels).every(([name, value]) => source.labels[name] === value))
        throw invalid(
          'another candidate writes to this registry with the same labels: give each its own, e.g. labels: { candidate: "jobs" }',
        );
    this.#sources.add(source);
  }

  remove(source: Source): void {
    if (this.#sources.delete(source)) this.renewals.remove(source.labels);
  }

  #samples(name: string): readonly Sample[] {
    return [...this.#sources].flatMap(({ metrics, labels }) => {
      const family = metrics.collect().find((each) => each.name === name);
      return samplesOf(family).map((sample) => ({ labels: { ...sample.labels, ...labels }, value: sample.value }));
    });
  }
}

interface Sample {
  readonly labels: Record<string, string>;
  readonly value: number;
}

function samplesOf(family: MetricFamily | undefined): readonly { readonly labels: Labels; readonly value: number }[] {
  return family === undefined || family.type === "histogram" ? [] : family.samples;
}

function invalid(problem: string): ConclaveError {
  return new ConclaveError("CONFIG_INVALID", `promClientMetrics: ${problem}`);
}
