// An event as one line of a log: the same words for every event of a kind, then its facts as key=value, so that people can read it and programs can
// search it. Says nothing that is not in the event. Long facts are cut; a message is not, because what to do stands at its end.
import { isWished } from "../base/errors.ts";
import { show } from "../base/show.ts";
import type { ConclaveEvent } from "../lease/events.ts";

/** The level of a line. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** How much of a person's attention an event deserves. */
export function levelOf(event: ConclaveEvent): LogLevel {
  switch (event.type) {
    case "standing":
    case "renewed":
    case "settled":
    case "released":
    case "leader":
      return "debug";
    case "elected":
    case "waiting":
    case "recovered":
    case "session":
      return event.type === "session" && event.state === "lost" ? "warn" : "info";
    case "state":
      return event.state === "jeopardy" || (event.state === "ending" && !isWished(event.reason)) ? "warn" : "info";
    case "schedule":
      if (event.state === "missed" || event.state === "unfinished") return "warn";
      return event.state === "ended" ? "info" : "debug";
    case "warning":
      return "warn";
    case "lost":
      return isWished(event.reason) ? "info" : "warn";
    case "handed-back":
      return "warn";
    case "overstayed":
      return "error";
    case "error":
      return event.error.retryable ? "warn" : "error";
  }
}

/** `elected election="billing" token=42 bid="…" ttlMs=15000` */
export function logLine(event: ConclaveEvent): string {
  const facts = Object.entries(factsOf(event)).filter(([, value]) => value !== undefined);
  return [event.type, ...facts.map(([key, value]) => `${key}=${asWord(key, value)}`)].join(" ");
}

function asWord(key: string, value: unknown): string {
  if (typeof value === "bigint") return String(value);
  return key === "message" ? JSON.stringify(value) : show(value);
}

function factsOf(event: ConclaveEvent): Readonly<Record<string, unknown>> {
  switch (event.type) {
    case "elected":
      return {
        election: event.election,
        token: event.token?.value,
        domain: event.token?.domain,
        bid: event.bid,
        ttlMs: event.ttlMs,
      };
    case "waiting":
    case "leader":
      return {
        election: event.election,
        id: event.leader?.candidate ?? (event.type === "leader" ? "nobody" : undefined),
        token: event.leader?.token,
        value: event.leader?.value,
      };
    case "error":
      return {
        election: event.election,
        during: event.during,
        code: event.error.code,
        retryable: event.error.retryable,
        message: event.error.message,
      };
    case "renewed":
      return { roundTripMs: Math.round(event.roundTripMs), remainingMs: Math.round(event.remainingMs) };
    case "recovered":
      return {
        election: event.election,
        code: event.code,
        afterMs: Math.round(event.afterMs),
        failures: event.failures,
      };
    case "warning":
      return { election: event.election, code: event.code, message: event.message };
    case "overstayed":
      return { election: event.election, byMs: Math.round(event.byMs) };
    case "session":
      return {
        state: event.state,
        session: event.session,
        server: event.met?.server,
        earlyEnds: event.met?.earlyEnds?.join("; ") || undefined,
      };
    case "standing":
    case "state":
    case "lost":
    case "settled":
    case "released":
    case "schedule":
    case "handed-back": {
      const { type: _, ...facts } = event;
      return facts;
    }
  }
}
