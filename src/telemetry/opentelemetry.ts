// conclave/telemetry/opentelemetry: the metrics of conclave/telemetry as instruments of OpenTelemetry, and each term as a span.
//
// Names are those of conclave/telemetry: conclave_terms_total is the counter conclave.terms, conclave_renewal_seconds is conclave.renewal_seconds. Exporters
// to Prometheus spell them as conclave/telemetry does, so that the same dashboard serves both. The unit stays in the name, because some of them add it
// and some do not.
// Spans: `conclave.term`, from the election until the work has settled. Its status is an error if the term was lost rather than given up.
import { isWished } from "../base/errors.ts";
import {
  type Attributes,
  type BatchObservableResult,
  type Meter,
  metrics as metricsApi,
  type Observable,
  type Span,
  SpanStatusCode,
  trace as traceApi,
  type Tracer,
} from "@opentelemetry/api";
import type { ConclaveEvent } from "../lease/events.ts";
import { countingOnly, createMetrics, type Metrics, type MetricsOptions, RENEWAL_BOUNDS } from "./metrics.ts";

/** Options of `openTelemetryBridge`. */
export interface OpenTelemetryOptions extends MetricsOptions {
  /** @default the global meter provider's meter "conclave" */
  readonly meter?: Meter | undefined;
  /** @default the global tracer provider's tracer "conclave" */
  readonly tracer?: Tracer | undefined;
  /** Added to every measurement and span. Several candidates in one process need different ones, e.g. `{ candidate: "jobs" }`. */
  readonly attributes?: Attributes | undefined;
}

/** Turns the events of one candidate into instruments and spans of OpenTelemetry. */
export interface OpenTelemetryBridge extends Pick<Metrics, "record" | "countRefusals"> {
  /** Ends open spans, and reports nothing any more. */
  readonly stop: () => void;
}

/** Give `record` to `onEvent` or `subscribe` of one candidate. */
export function openTelemetryBridge(options: OpenTelemetryOptions = {}): OpenTelemetryBridge {
  const { meter = metricsApi.getMeter("conclave"), tracer = traceApi.getTracer("conclave"), attributes = {} } = options;
  const metrics = createMetrics({ nowMs: options.nowMs });
  const stopObserving = observe(metrics, meter, attributes);
  const renewals = meter.createHistogram(nameOf("conclave_renewal_seconds"), {
    unit: "s",
    description: helpOf(metrics, "conclave_renewal_seconds"),
    advice: { explicitBucketBoundaries: [...RENEWAL_BOUNDS] },
  });
  const spans = new Spans(tracer, attributes);
  const record = countingOnly((event: ConclaveEvent) => {
    metrics.record(event);
    if (event.type === "renewed") renewals.record(event.roundTripMs / 1000, attributes);
    spans.record(event);
  });
  const stop = (): void => {
    stopObserving();
    spans.stop();
  };
  return { record, countRefusals: metrics.countRefusals, stop };
}

/** One callback for all gauges and counters, so that a collection shows one instant. Returns how to stop. */
function observe(metrics: Metrics, meter: Meter, attributes: Attributes): () => void {
  const instruments = new Map<string, Observable>();
  for (const { name, help, type } of metrics.collect()) {
    if (type === "histogram") continue;
    const described = { description: help, ...(name.endsWith("_seconds") ? { unit: "s" } : {}) };
    const make = type === "gauge" ? "createObservableGauge" : "createObservableCounter";
    instruments.set(name, meter[make](nameOf(name), described));
  }
  const observables = [...instruments.values()];
  const report = (result: BatchObservableResult): void => {
    for (const family of metrics.collect()) {
      const instrument = instruments.get(family.name);
      if (instrument === undefined || family.type === "histogram") continue;
      for (const { labels, value } of family.samples) result.observe(instrument, value, { ...labels, ...attributes });
    }
  };
  meter.addBatchObservableCallback(report, observables);
  return () => meter.removeBatchObservableCallback(report, observables);
}

/** conclave_handed_back_total → conclave.handed_back */
function nameOf(name: string): string {
  return name.replace(/^conclave_/, "conclave.").replace(/_total$/, "");
}

function helpOf(metrics: Metrics, name: string): string {
  return metrics.collect().find((family) => family.name === name)?.help ?? "";
}

/** At most one span an election: a candidate has one term of a name at a time. */
class Spans {
  readonly #tracer: Tracer;
  readonly #attributes: Attributes;
  readonly #open = new Map<string, Span>();

  constructor(tracer: Tracer, attributes: Attributes) {
    this.#tracer = tracer;
    this.#attributes = attributes;
  }

  record(event: ConclaveEvent): void {
    if (!("election" in event) || event.election === undefined) return;
    if (event.type === "elected") return this.#begin(event);
    const span = this.#open.get(event.election);
    if (span === undefined) return;
    switch (event.type) {
      case "state":
        span.addEvent(`conclave.${event.state}`, event.reason === undefined ? {} : { reason: event.reason });
        return;
      case "lost":
        span.addEvent("conclave.lost", { reason: event.reason });
        return;
      case "overstayed":
        span.addEvent("conclave.overstayed", { byMs: event.byMs });
        return;
      case "error":
        span.recordException(event.error);
        return;
      case "settled":
        span.setAttribute("conclave.reason", event.reason);
        if (!isWished(event.reason)) span.setStatus({ code: SpanStatusCode.ERROR, message: event.reason });
        return this.#end(event.election);
      case "standing":
      case "waiting":
      case "released":
      case "handed-back":
      case "leader":
      case "recovered":
      case "schedule":
      case "warning":
        return;
    }
  }

  stop(): void {
    for (const election of this.#open.keys()) this.#end(election);
  }

  #begin({ election, token, bid, ttlMs }: Extract<ConclaveEvent, { type: "elected" }>): void {
    this.#end(election);
    const attributes: Attributes = {
      ...this.#attributes,
      "conclave.election": election,
      "conclave.bid": bid,
      "conclave.ttl_ms": ttlMs,
      // As text: a token may exceed what a number holds exactly.
      ...(token === undefined ? {} : { "conclave.token": String(token.value), "conclave.domain": token.domain }),
    };
    this.#open.set(election, this.#tracer.startSpan("conclave.term", { root: true, attributes }));
  }

  #end(election: string): void {
    this.#open.get(election)?.end();
    this.#open.delete(election);
  }
}
