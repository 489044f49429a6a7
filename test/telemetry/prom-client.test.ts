// The bridge into a registry of prom-client, scraped as Prometheus would, against the package's own text.
import { createCandidate, isConclaveError } from "conclave";
import { memory } from "conclave/stores/memory";
import { createMetrics } from "conclave/telemetry";
import { promClientMetrics } from "conclave/telemetry/prom-client";
import { Counter, Registry } from "prom-client";
import { describe, expect, it } from "vitest";

/** Lines of samples, without comments, in an order of their own. */
const samplesOf = (text: string): readonly string[] =>
  text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .toSorted();

describe("promClientMetrics", () => {
  it("shows in the registry what conclave/telemetry shows as text, beside the program's own metrics", async () => {
    const register = new Registry();
    new Counter({ name: "orders_total", help: "orders", registers: [register] }).inc(3);
    const nowMs = (): number => 0;
    const bridge = promClientMetrics({ register, nowMs });
    const own = createMetrics({ nowMs });
    const store = memory();
    const leader = createCandidate({ store, id: "a" });
    leader.subscribe(bridge.record);
    leader.subscribe(own.record);
    const term = await leader.election("billing").campaign();
    await term.renew();

    const scraped = await register.metrics();
    expect(scraped).toContain("orders_total 3");
    expect(scraped).toContain(`conclave_leading{election="billing"} 1`);
    expect(scraped).toContain(`conclave_renewal_seconds_count 1`);
    // What prom-client writes of a family without samples, or spells otherwise, does not count.
    const spelled = samplesOf(scraped).filter((line) => line.startsWith("conclave_"));
    expect(spelled).toEqual(samplesOf(own.text()));
    const kinds = (text: string): readonly string[] =>
      [...text.matchAll(/^# TYPE conclave_.*$/gm)].map(([line]) => line);
    expect(kinds(scraped).toSorted()).toEqual(kinds(own.text()).toSorted());

    await term.resign();
    expect(await register.metrics()).toContain(`conclave_leading{election="billing"} 0`);
    expect(await register.metrics()).toContain(`conclave_losses_total{election="billing",reason="resigned"} 1`);
    await leader.close();
  });

  it("tells candidates of one registry apart by labels, and refuses those that it cannot tell apart", async () => {
    const register = new Registry();
    const jobs = promClientMetrics({ register, labels: { candidate: "jobs" } });
    const mail = promClientMetrics({ register, labels: { candidate: "mail" } });
    jobs.record({ type: "standing", election: "x" });
    mail.record({ type: "standing", election: "x" });
    mail.record({ type: "renewed", roundTripMs: 5, remainingMs: 1000 });
    const text = await register.metrics();
    expect(text).toContain(`conclave_leading{election="x",candidate="jobs"} 0`);
    expect(text).toContain(`conclave_leading{election="x",candidate="mail"} 0`);
    expect(text).toContain(`conclave_renewal_seconds_bucket{le="0.005",candidate="mail"} 1`);
    expect(() => promClientMetrics({ register, labels: { candidate: "jobs" } })).toThrow(/the same labels/);
    expect(() => promClientMetrics({ register })).toThrow(/with the labels \[candidate\], not \[\]/);
    mail.stop();
    expect(await register.metrics()).not.toContain("mail");
    promClientMetrics({ register, labels: { candidate: "mail" } });
  });

  it("begins anew in a registry that was cleared", async () => {
    const register = new Registry();
    promClientMetrics({ register });
    register.clear();
    promClientMetrics({ register }).record({ type: "standing", election: "x" });
    expect(await register.metrics()).toContain(`conclave_leading{election="x"} 0`);
  });

  it("throws an error of conclave", () => {
    const register = new Registry();
    promClientMetrics({ register });
    let thrown: unknown;
    try {
      promClientMetrics({ register });
    } catch (error) {
      thrown = error;
    }
    expect(isConclaveError(thrown) && thrown.code).toBe("CONFIG_INVALID");
  });
});
