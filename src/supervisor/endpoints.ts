// HTTP for load balancers, orchestrators and Prometheus. `conclave run` serves it on loopback only.
//
//   /leader    {"election", "leader": {"id", "token", "value"} | null}    as the store shows it: a hint
//   /leading   200 while this process leads, by the clock, else 503
//   /healthz   503 only while something of the child runs although its term is lost; a process that waits is healthy
//   /metrics   Prometheus' text format; docs/EVENTS.md has the names
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Supervisor } from "./supervisor.ts";

/** The HTTP server of `conclave run` that answers probes and scrapes. */
export interface Endpoints {
  readonly port: number;
  close(): Promise<void>;
}

/** What is answered to a request. */
export interface HttpAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** Answers by the path of a request; undefined: there is no such path. */
export type HttpPaths = Readonly<Record<string, () => HttpAnswer | Promise<HttpAnswer>>>;

/** Rejects if the port is taken. Port 0 takes any. */
export function serveEndpoints(
  port: number,
  election: string,
  supervisor: Supervisor,
  metrics: () => string,
): Promise<Endpoints> {
  return servePaths(port, "127.0.0.1", {
    "/leader": () => leader(election, supervisor),
    "/leading": () => (supervisor.isLeading() ? text(200, "leading\n") : text(503, "not leading\n")),
    "/healthz": () => (supervisor.isOverstaying() ? text(503, "overstaying\n") : text(200, "ok\n")),
    "/metrics": () => metricsText(metrics()),
  });
}

/** GET and HEAD only. Rejects if the port is taken. Port 0 takes any. */
export function servePaths(port: number, host: string, paths: HttpPaths): Promise<Endpoints> {
  // No request may end the process, because the command would end with it.
  const server = createServer((request, response) => {
    respond(request, response).catch(() => response.destroy());
  });
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { status, type, body } = await answer(request);
    response.writeHead(status, { "content-type": type, "cache-control": "no-store" });
    response.end(request.method === "HEAD" ? undefined : body);
  };
  const answer = (request: IncomingMessage): HttpAnswer | Promise<HttpAnswer> => {
    if (request.method !== "GET" && request.method !== "HEAD") return text(405, "GET or HEAD\n");
    const path = (request.url ?? "/").replace(/[?#].*$/s, "");
    return Object.hasOwn(paths, path)
      ? (paths[path] as () => HttpAnswer)()
      : text(404, `${Object.keys(paths).join(", ")}\n`);
  };
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host }, () => {
      server.removeListener("error", reject).on("error", () => {});
      resolve({ port: (server.address() as AddressInfo).port, close: () => closed(server) });
    });
  });
}

export function metricsText(body: string): HttpAnswer {
  return { status: 200, type: "text/plain; version=0.0.4; charset=utf-8", body };
}

async function leader(election: string, supervisor: Supervisor): Promise<HttpAnswer> {
  try {
    const found = await supervisor.leader();
    const shown =
      found === undefined ? null : { id: found.id, token: found.token?.toString(), value: found.value ?? "" };
    return { status: 200, type: "application/json", body: `${JSON.stringify({ election, leader: shown })}\n` };
  } catch (error) {
    return text(503, `${error instanceof Error ? error.message : String(error)}\n`);
  }
}

export function text(status: number, body: string): HttpAnswer {
  return { status, type: "text/plain; charset=utf-8", body };
}

function closed(server: ReturnType<typeof createServer>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
