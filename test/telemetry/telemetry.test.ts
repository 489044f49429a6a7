// One union of events, in its other shapes: lines and metrics.
import { expect, it } from "vitest";
import { ConclaveError, type ConclaveEvent, createCandidate } from "conclave";
import { createMetrics, levelOf, logLine } from "conclave/telemetry";
import { fakeStore } from "conclave/testing";

async function story(): Promise<{
  readonly events: readonly ConclaveEvent[];
  readonly text: string;
  readonly whileLeading: string;
}> {
  const store = fakeStore();
  const candidate = createCandidate({ store, id: "web", ttlMs: 10_000 });
  const events: ConclaveEvent[] = [];
  const metrics = createMetrics();
  candidate.subscribe((event) => events.push(event));
  candidate.subscribe(metrics.record);
  candidate.election('a "name"').start();
  await store.advance(1);
  const whileLeading = metrics.text();
  store.hang();
  await store.advance(20_000);
  return { events, text: metrics.text(), whileLeading };
}

it("an event is one line, with its kind first and its facts after it", async () => {
  const { events } = await story();
  const lines = events.map(logLine);
  expect(lines[0]).toBe('standing election="a \\"name\\""');
  expect(lines.find((line) => line.startsWith("elected"))).toMatch(
    /^elected election="a \\"name\\"" token=1 domain="fake" bid="[^"]+" ttlMs=10000$/,
  );
  expect(lines.some((line) => line.startsWith('lost election="a \\"name\\"" reason="expired"'))).toBe(true);
  expect(
    lines.some((line) =>
      line.startsWith('error during="renew" code="STORE_TIMEOUT" retryable=true message="fake: no answer'),
    ),
  ).toBe(true);
  expect(lines.every((line) => !line.includes("\n"))).toBe(true);
});

it("a message is whole, however long: what to do stands at its end", () => {
  const message = `${"long ".repeat(100)}Run: npm install pg`;
  const error = new ConclaveError("STORE_UNSUPPORTED", message);
  expect(logLine({ type: "error", error })).toBe(
    `error code="STORE_UNSUPPORTED" retryable=false message=${JSON.stringify(message)}`,
  );
});

it("a level says how much attention an event deserves", async () => {
  const { events } = await story();
  const levels = new Map(events.map((event) => [event.type === "state" ? event.state : event.type, levelOf(event)]));
  expect(Object.fromEntries(levels)).toMatchObject({
    standing: "debug",
    elected: "info",
    jeopardy: "warn",
    lost: "warn",
    error: "warn",
  });
});

it("metrics follow the term: leading while it leads, then not, with the reason counted", async () => {
  const { text, whileLeading } = await story();
  expect(whileLeading).toContain('conclave_leading{election="a \\"name\\""} 1\n');
  expect(whileLeading).toContain('conclave_token{election="a \\"name\\""} 1\n');
  expect(text).toContain('conclave_leading{election="a \\"name\\""} 0\n');
  expect(text).toContain('conclave_terms_total{election="a \\"name\\""} 1\n');
  expect(text).toContain('conclave_losses_total{election="a \\"name\\"",reason="expired"} 1\n');
  expect(text).toMatch(/conclave_errors_total\{code="STORE_TIMEOUT"\} [1-9]/);
  expect(text).toMatch(/^# HELP conclave_leading .*\n# TYPE conclave_leading gauge\n/);
});
