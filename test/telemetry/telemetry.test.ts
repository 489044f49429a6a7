// One union of events, in its other shapes: lines and metrics.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ConclaveError, type ConclaveEvent, createCandidate } from "conclave";
import { createMetrics, levelOf, logLine } from "conclave/telemetry";
import { memoryFence } from "conclave/fencing";
import { fakeStore, fakeTerm } from "conclave/testing";

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

it("a follower exports 0, and says that the leader has changed", async () => {
  const store = fakeStore();
  const first = createCandidate({ store, id: "first", ttlMs: 10_000 });
  const second = createCandidate({ store, id: "second", ttlMs: 10_000 });
  const metrics = createMetrics();
  second.subscribe(metrics.record);
  first.election("x").start();
  await store.advance(1);
  second.election("x").start();
  await store.advance(1);
  expect(metrics.text()).toContain('conclave_leading{election="x"} 0\n');
  expect(metrics.text()).toContain('conclave_failovers_total{election="x"} 0\n');
  const closed = first.close();
  await store.advance(10_000);
  await closed;
  expect(metrics.text()).toContain('conclave_leading{election="x"} 1\n');
  expect(metrics.text()).toContain('conclave_failovers_total{election="x"} 1\n');
});

it("renewals are timed, and certainty runs down with the clock until the next one", async () => {
  const store = fakeStore();
  let elapsedMs = 0;
  const candidate = createCandidate({ store, ttlMs: 10_000 });
  const metrics = createMetrics({ nowMs: () => elapsedMs });
  candidate.subscribe(metrics.record);
  candidate.election("x").start();
  await store.advance(1);
  const certainty = (): number | undefined => {
    const family = metrics.collect().find(({ name }) => name === "conclave_certainty_seconds");
    return family?.type === "gauge" ? family.samples[0]?.value : undefined;
  };
  const first = certainty() ?? 0;
  expect(first).toBeGreaterThan(9);
  expect(first).toBeLessThan(10);
  elapsedMs = 4000;
  expect(certainty()).toBeCloseTo(first - 4, 5);
  await store.advance(4000);
  expect(certainty()).toBeGreaterThan(9);
  elapsedMs = 60_000;
  expect(certainty()).toBe(0);
  const renewals = metrics.collect().find(({ name }) => name === "conclave_renewal_seconds");
  expect(renewals).toMatchObject({ type: "histogram", samples: [{ count: expect.any(Number) as number }] });
  expect(metrics.text()).toMatch(/conclave_renewal_seconds_bucket\{le="\+Inf"\} [1-9]/);
  expect(metrics.text()).toMatch(/conclave_renewal_seconds_count [1-9]/);
});

it("an outage is a trouble while it lasts, and its requests are counted when it is over", async () => {
  const store = fakeStore();
  const candidate = createCandidate({ store, ttlMs: 10_000 });
  const metrics = createMetrics();
  candidate.subscribe(metrics.record);
  candidate.subscribe(() => {});
  candidate.election("x").start();
  store.hang();
  await store.advance(30_000);
  expect(metrics.text()).toContain('conclave_trouble{code="STORE_TIMEOUT"} 1\n');
  expect(metrics.text()).toContain('conclave_errors_total{code="STORE_TIMEOUT"} 1\n');
  store.heal();
  await store.advance(30_000);
  expect(metrics.text()).toContain('conclave_trouble{code="STORE_TIMEOUT"} 0\n');
  expect(metrics.text()).toMatch(/conclave_failed_requests_total\{code="STORE_TIMEOUT"\} [1-9]\d/);
});

it("what a guard of this process refuses is counted until told to stop", async () => {
  const fence = memoryFence();
  const metrics = createMetrics();
  const stop = metrics.countRefusals();
  await fence.run("ledger", fakeTerm({ token: 7n }), async () => {});
  const write = (): Promise<void> => fence.run("ledger", fakeTerm({ token: 6n }), async () => {});
  await expect(write()).rejects.toMatchObject({ code: "TOKEN_STALE" });
  expect(metrics.text()).toContain('conclave_refusals_total{resource="ledger",code="TOKEN_STALE"} 1\n');
  stop();
  await expect(write()).rejects.toMatchObject({ code: "TOKEN_STALE" });
  expect(metrics.text()).toContain('conclave_refusals_total{resource="ledger",code="TOKEN_STALE"} 1\n');
});

it("docs/EVENTS.md lists every metric, and no other", () => {
  const page = readFileSync(new URL("../../docs/EVENTS.md", import.meta.url), "utf8");
  const documented = [...page.matchAll(/^\| `(conclave_\w+)` \|/gm)].map(([, name]) => name);
  expect(documented).toEqual(
    createMetrics()
      .collect()
      .map(({ name }) => name),
  );
});
