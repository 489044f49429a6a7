// The HTTP endpoints of `conclave failover monitor` and `guard`, for load balancers, orchestrators and Prometheus.
//
//   /healthz   200 while the process runs
//   /primary   of a guard: 200 while its server is the primary and the seat is held by the clock, else 503. A load balancer that asks this sends writers to one server at most
//   /replica   of a guard: 200 while its server runs as a replica, else 503
//   /status    JSON: of a monitor the record and what it sees, of a guard its state
//   /metrics   Prometheus' text format; docs/FAILOVER.md has the names
import {
  type HttpAnswer,
  type Endpoints,
  metricsText,
  type HttpPaths,
  servePaths,
  text,
} from "../supervisor/endpoints.ts";
import type { Guard } from "./guard.ts";
import type { Monitor } from "./monitor.ts";

/** The address at which a monitor or a guard answers, and its metrics. */
export interface FailoverEndpoints {
  readonly port: number;
  readonly host: string;
  readonly metrics: () => string;
}

/** Rejects if the port is in use. Port 0 takes any free port. */
export function serveMonitor(monitor: Monitor, { port, host, metrics }: FailoverEndpoints): Promise<Endpoints> {
  return servePaths(port, host, {
    ...common(metrics),
    "/status": () => json({ record: monitor.record, servers: monitor.views, primary: monitor.primary?.name }),
  });
}

/** Rejects if the port is in use. Port 0 takes any free port. */
export function serveGuard(guard: Guard, { port, host, metrics }: FailoverEndpoints): Promise<Endpoints> {
  const is = (isSo: boolean, what: string): HttpAnswer => text(isSo ? 200 : 503, `${isSo ? what : `not ${what}`}\n`);
  return servePaths(port, host, {
    ...common(metrics),
    "/primary": () => is(guard.isPrimary, "the primary"),
    "/replica": () => is(guard.at === "replica" || guard.at === "standing", "a replica"),
    "/status": () => json({ state: guard.at, isPrimary: guard.isPrimary }),
  });
}

function common(metrics: () => string): HttpPaths {
  return { "/healthz": () => text(200, "ok\n"), "/metrics": () => metricsText(metrics()) };
}

function json(value: object): HttpAnswer {
  return { status: 200, type: "application/json", body: `${JSON.stringify(value)}\n` };
}
