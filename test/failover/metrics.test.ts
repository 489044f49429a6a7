// What a monitor and a guard tell, as metrics: each event moves its number, and docs/FAILOVER.md lists every name.
import { readFileSync } from "node:fs";
import { createFailoverMetrics, type FailoverRecord, type MonitorEvent } from "conclave/failover";
import { expect, it } from "vitest";

const RECORD: FailoverRecord = {
  epoch: 4,
  step: { at: "choosing", why: "down", from: "a", wish: undefined, fencedBy: "seat" },
  primary: "a",
  histories: ["h"],
  isPaused: true,
  recentMs: [],
  tried: [],
  order: undefined,
  sync: undefined,
};

it("shows what stands when it is asked", () => {
  const up = { is: "up", role: "replica", history: "h", position: 77, follows: "a", isLinked: true } as const;
  const views = { a: { is: "unknown" as const }, b: { ...up, isEmpty: false } };
  const text = createFailoverMetrics("orders", () => ({ record: RECORD, views })).text();
  for (const line of [
    'conclave_failover_step{group="orders",step="choosing"} 1',
    'conclave_failover_step{group="orders",step="steady"} 0',
    'conclave_failover_epoch{group="orders"} 4',
    'conclave_failover_paused{group="orders"} 1',
    'conclave_failover_primary{group="orders",server="a"} 1',
    'conclave_failover_server_up{group="orders",server="a"} 0',
    'conclave_failover_server_up{group="orders",server="b"} 1',
    'conclave_failover_server_position{group="orders",server="b"} 77',
  ])
    expect(text).toContain(`${line}\n`);
});

it("counts what happens, and shows the present state of a guard alone", () => {
  const metrics = createFailoverMetrics("orders");
  const failover = (news: Extract<MonitorEvent, { type: "failover" }>["news"]): MonitorEvent => ({
    type: "failover",
    monitor: "m1",
    news,
  });
  metrics.record({ type: "switched", from: undefined, to: "a", epoch: 1 });
  metrics.record({ type: "switched", from: "a", to: "b", epoch: 2 });
  metrics.record({ type: "vote", monitor: "m1", primary: "a", isDown: true });
  metrics.record(failover({ is: "two-writable", servers: ["a", "b"], lost: { b: 420 } }));
  metrics.record(failover({ is: "not-fenced", server: "a", outcome: "unknown", said: "" }));
  metrics.record(failover({ is: "refused", why: "too many" }));
  metrics.record({ type: "guard", state: "starting", server: "a", epoch: 1 });
  metrics.record({ type: "guard", state: "replica", server: "a", epoch: 1 });
  metrics.record({ type: "service", state: "started", pids: [1] });
  const text = metrics.text();
  for (const line of [
    'conclave_failover_switches_total{group="orders"} 1',
    'conclave_failover_sees_down{group="orders"} 1',
    'conclave_failover_two_writable_total{group="orders"} 1',
    'conclave_failover_lost_bytes_total{group="orders"} 420',
    'conclave_failover_not_fenced_total{group="orders",outcome="unknown"} 1',
    'conclave_failover_refused_total{group="orders"} 1',
    'conclave_failover_guard_state{group="orders",state="starting"} 0',
    'conclave_failover_guard_state{group="orders",state="replica"} 1',
    'conclave_failover_service_starts_total{group="orders"} 1',
  ])
    expect(text).toContain(`${line}\n`);
});

it("has its names in the page", () => {
  const page = readFileSync(new URL("../../docs/FAILOVER.md", import.meta.url), "utf8");
  const names = createFailoverMetrics("orders").collect();
  expect(names.filter(({ name }) => !page.includes(`\`${name}\``))).toEqual([]);
});
