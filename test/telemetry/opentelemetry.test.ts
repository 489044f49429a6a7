// The bridge to OpenTelemetry, with its real SDK: metrics as its exporter for Prometheus spells them, spans as its tracer hands them on.
import { SpanStatusCode } from "@opentelemetry/api";
import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { createCandidate } from "conclave";
import type { Bid } from "conclave/stores/contract";
import { memory } from "conclave/stores/memory";
import { createMetrics } from "conclave/telemetry";
import { openTelemetryBridge } from "conclave/telemetry/opentelemetry";
import { afterEach, describe, expect, it } from "vitest";

function stage() {
  const reader = new PrometheusExporter({ preventServerStart: true });
  const meters = new MeterProvider({ readers: [reader] });
  const spans = new InMemorySpanExporter();
  const tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
  const scrape = async (): Promise<string> => {
    const { resourceMetrics, errors } = await reader.collect();
    expect(errors).toEqual([]);
    return new PrometheusSerializer("", false).serialize(resourceMetrics);
  };
  const options = { meter: meters.getMeter("test"), tracer: tracers.getTracer("test") };
  return { options, scrape, spans, end: () => Promise.all([meters.shutdown(), tracers.shutdown()]) };
}

/** `name{a="1",b="2"}` → the same with sorted labels, and without those that name the library. */
function keysOf(text: string): readonly string[] {
  const lines = text.split("\n").filter((line) => line.startsWith("conclave_"));
  return lines
    .map((line) => {
      const [, name = "", labels = ""] = /^(\w+)(?:\{(.*)\})? /.exec(line) ?? [];
      const kept = labels.split(",").filter((label) => label !== "" && !label.startsWith("otel_"));
      return `${name}{${kept.toSorted().join()}}`;
    })
    .toSorted();
}

describe("openTelemetryBridge", () => {
  let ends: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    await Promise.all(ends.map((end) => end()));
    ends = [];
  });

  it("exports to Prometheus the same series as conclave/telemetry itself", async () => {
    const { options, scrape, end } = stage();
    ends.push(end);
    const bridge = openTelemetryBridge(options);
    const own = createMetrics();
    const candidate = createCandidate({ store: memory() });
    candidate.subscribe(bridge.record);
    candidate.subscribe(own.record);
    const term = await candidate.election("billing").campaign();
    await term.renew();
    const scraped = await scrape();
    expect(scraped).toMatch(/^conclave_leading\{.*election="billing".*\} 1\b/m);
    expect(scraped).toMatch(/^conclave_terms_total\{.*election="billing".*\} 1\b/m);
    expect(scraped).toMatch(/^conclave_renewal_seconds_count.* 1\b/m);
    expect(keysOf(scraped)).toEqual(keysOf(own.text()));
    await candidate.close();
    expect(await scrape()).toMatch(/^conclave_leading\{.*election="billing".*\} 0\b/m);
    bridge.stop();
  });

  it("makes a span of each term, from the election until the work has settled", async () => {
    const { options, spans, end } = stage();
    ends.push(end);
    const bridge = openTelemetryBridge({ ...options, attributes: { candidate: "jobs" } });
    const candidate = createCandidate({ store: memory() });
    candidate.subscribe(bridge.record);
    await candidate.election("billing").lead(async () => {
      expect(spans.getFinishedSpans()).toEqual([]);
    });
    await candidate.close();
    const [span, ...others] = spans.getFinishedSpans();
    expect(others).toEqual([]);
    expect(span?.name).toBe("conclave.term");
    expect(span?.attributes).toMatchObject({
      candidate: "jobs",
      "conclave.election": "billing",
      "conclave.token": "1",
      "conclave.reason": "resigned",
    });
    expect(span?.status.code).toBe(SpanStatusCode.UNSET);
    expect(span?.events.map(({ name }) => name)).toEqual(["conclave.ending"]);
  });

  it("marks the span of a lost term as an error, and ends what is open when it is stopped", () => {
    const { options, spans, end } = stage();
    ends.push(end);
    const bridge = openTelemetryBridge(options);
    const elected = (election: string) =>
      bridge.record({ type: "elected", election, bid: "n.1" as Bid, token: undefined, ttlMs: 1000, remainingMs: 900 });
    elected("x");
    bridge.record({ type: "state", election: "x", state: "jeopardy" });
    bridge.record({ type: "lost", election: "x", reason: "expired" });
    bridge.record({ type: "overstayed", election: "x", byMs: 12 });
    expect(spans.getFinishedSpans()).toEqual([]);
    bridge.record({ type: "settled", election: "x", reason: "expired" });
    elected("y");
    bridge.stop();
    const [lost, stopped] = spans.getFinishedSpans();
    expect(lost?.status).toEqual({ code: SpanStatusCode.ERROR, message: "expired" });
    expect(lost?.events.map(({ name }) => name)).toEqual(["conclave.jeopardy", "conclave.lost", "conclave.overstayed"]);
    expect(stopped?.attributes["conclave.election"]).toBe("y");
  });
});
