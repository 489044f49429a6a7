// conclave/health: can this process reach the store, does it lead, does its work overstay. For /healthz and /readyz, made of the events and nothing else: a check asks
// nobody, so that a thousand probes cost the store nothing.
//
//   live   Restarting this process would help: false only while work runs on after its term was lost, because then another process may be at work too. A store that is
//          down is no reason to restart anything.
//   ready  The store was reached, and no request of this process fails. Followers are ready: they could lead.
import type { IncomingMessage, ServerResponse } from "node:http";
import { invalidConfig } from "../base/errors.ts";
import { show } from "../base/show.ts";
import type { ConclaveEvent } from "../lease/events.ts";

/** What a probe is told. */
export interface HealthReport {
  readonly live: boolean;
  readonly ready: boolean;
  /** `unknown` before the first answer. */
  readonly store: "unknown" | "reachable" | "in trouble";
  /** What fails at present, by code; since the first failure, not since the last. */
  readonly troubles: readonly {
    readonly code: string;
    readonly message: string;
    readonly election?: string | undefined;
  }[];
  /** Elections that this process leads at present. */
  readonly leading: readonly string[];
  /** Elections whose term is lost while their work still runs. */
  readonly overstaying: readonly string[];
}

/** The health of one candidate or election, while it is listened to. */
export interface Health {
  readonly report: () => HealthReport;
  /** Stops listening. */
  readonly stop: () => void;
}

/** A candidate, or an election. */
export interface Observed {
  subscribe(listener: (event: ConclaveEvent) => void): () => void;
}

/** Begin it before the election is started, so that nothing is missed. */
export function watchHealth(observed: Observed): Health {
  if (typeof (Object(observed) as Partial<Observed>).subscribe !== "function")
    throw invalidConfig("watchHealth", [`${show(observed)} is not a candidate or an election: it has no subscribe`]);
  const book = new HealthState();
  const listener = (event: ConclaveEvent): void => book.record(event);
  // Nobody reads this as it happens: a candidate that only this listens to still warns.
  Object.assign(listener, { [Symbol.for("conclave.counts-only")]: true });
  const stop = observed.subscribe(listener);
  return { report: () => book.report(), stop };
}

/**
 * Answers `GET /healthz` by `live` and `GET /readyz` by `ready`: 200 or 503, with the report as JSON. Other requests are left to `next`, or, without one, to the caller:
 * it returns whether it has answered. For node:http, Express and whatever else has its requests.
 */
export function healthHandler(
  health: Health,
): (request: IncomingMessage, response: ServerResponse, next?: () => void) => boolean {
  return (request, response, next) => {
    const path = request.url?.split("?")[0];
    const isProbe = request.method === "GET" || request.method === "HEAD";
    if (!isProbe || (path !== "/healthz" && path !== "/readyz")) {
      next?.();
      return false;
    }
    const report = health.report();
    const isWell = path === "/healthz" ? report.live : report.ready;
    response.writeHead(isWell ? 200 : 503, { "content-type": "application/json", "cache-control": "no-store" });
    response.end(`${JSON.stringify(report)}\n`);
    return true;
  };
}

class HealthState {
  #isReached = false;
  readonly #troubles = new Map<string, HealthReport["troubles"][number]>();
  readonly #leading = new Set<string>();
  readonly #overstaying = new Set<string>();

  report(): HealthReport {
    const inTrouble = this.#troubles.size > 0;
    return {
      live: this.#overstaying.size === 0,
      ready: this.#isReached && !inTrouble,
      store: inTrouble ? "in trouble" : this.#isReached ? "reachable" : "unknown",
      troubles: [...this.#troubles.values()],
      leading: [...this.#leading],
      overstaying: [...this.#overstaying],
    };
  }

  record(event: ConclaveEvent): void {
    if (event.type === "session" && event.state === "opened") this.#isReached = true;
    if (event.type === "renewed") this.#isReached = true;
    if (event.type === "elected") this.#leading.add(event.election);
    if (event.type === "standing" || event.type === "lost" || event.type === "settled")
      this.#leading.delete(event.election);
    if (event.type === "state" && event.state === "ending") this.#leading.delete(event.election);
    if (event.type === "overstayed") this.#overstaying.add(event.election);
    if (event.type === "settled") this.#overstaying.delete(event.election);
    if (event.type === "error" && event.during !== undefined) {
      const { error, election } = event;
      this.#troubles.set(keyOf(error.code, election), { code: error.code, message: error.message, election });
    }
    if (event.type === "recovered") this.#troubles.delete(keyOf(event.code, event.election));
  }
}

/** As the election folds errors: an outage is one for all names, a refusal is one for each. */
function keyOf(code: string, election: string | undefined): string {
  return code === "STORE_UNREACHABLE" || code === "STORE_TIMEOUT" ? "outage" : `${code} ${election ?? ""}`;
}
