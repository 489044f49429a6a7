// Events counted, and who leads now, as text in Prometheus' exposition format. Give `record` to `candidate.subscribe`; serve `text()`.
//
//   conclave_leading{election}          1 while this candidate's term of that election is held and its signal has not aborted
//   conclave_jeopardy{election}         1 while the last proven renewal of a held term is overdue
//   conclave_token{election}            the token of the present or last term
//   conclave_terms_total{election}      terms won
//   conclave_losses_total{election,reason}
//   conclave_overstays_total{election}
//   conclave_handed_back_total{election,why}
//   conclave_sessions_total{state}      sessions opened, lost, ended
//   conclave_errors_total{code}
import type { ConclaveEvent } from "../lease/events.ts";

export interface Metrics {
  /** Takes note of one event. */
  readonly record: (event: ConclaveEvent) => void;
  /** What has been recorded. */
  readonly text: () => string;
}

interface Family {
  readonly help: string;
  readonly type: "gauge" | "counter";
  readonly samples: Map<string, number | bigint>;
}

const FAMILIES: readonly (readonly [name: string, type: Family["type"], help: string])[] = [
  ["conclave_leading", "gauge", "1 while this candidate leads that election"],
  ["conclave_jeopardy", "gauge", "1 while the last proven renewal of a held term is overdue"],
  ["conclave_token", "gauge", "token of the present or last term"],
  ["conclave_terms_total", "counter", "terms won"],
  ["conclave_losses_total", "counter", "terms ended, by reason"],
  ["conclave_overstays_total", "counter", "works that ran on after their term was lost"],
  ["conclave_handed_back_total", "counter", "grants given back, by why"],
  ["conclave_sessions_total", "counter", "sessions, by what became of them"],
  ["conclave_errors_total", "counter", "errors, by code"],
];

export function createMetrics(): Metrics {
  const families = new Map<string, Family>(
    FAMILIES.map(([name, type, help]) => [name, { help, type, samples: new Map() }]),
  );
  const set = (name: string, labels: Labels, value: number | bigint): void =>
    void families.get(name)?.samples.set(keyOf(labels), value);
  const add = (name: string, labels: Labels): void => {
    const samples = families.get(name)?.samples;
    samples?.set(keyOf(labels), Number(samples.get(keyOf(labels)) ?? 0) + 1);
  };
  const record = (event: ConclaveEvent): void => recordEvent(event, set, add);
  // Nobody reads a metric as it happens: a candidate that only this listens to still warns.
  Object.assign(record, { [Symbol.for("conclave.counts-only")]: true });
  return { record, text: () => [...families].map(textOf).join("") };
}

type Labels = Readonly<Record<string, string>>;

function recordEvent(
  event: ConclaveEvent,
  set: (name: string, labels: Labels, value: number | bigint) => void,
  add: (name: string, labels: Labels) => void,
): void {
  const named = "election" in event && event.election !== undefined ? { election: event.election } : {};
  switch (event.type) {
    case "elected":
      add("conclave_terms_total", named);
      set("conclave_leading", named, 1);
      set("conclave_jeopardy", named, 0);
      if (event.token !== undefined) set("conclave_token", named, event.token.value);
      return;
    case "state":
      set("conclave_jeopardy", named, event.state === "jeopardy" ? 1 : 0);
      if (event.state === "ending") {
        set("conclave_leading", named, 0);
        add("conclave_losses_total", { ...named, reason: event.reason ?? "expired" });
      }
      return;
    case "overstayed":
      return add("conclave_overstays_total", named);
    case "handed-back":
      return add("conclave_handed_back_total", { ...named, why: event.why });
    case "session":
      return add("conclave_sessions_total", { state: event.state });
    case "error":
      return add("conclave_errors_total", { code: event.error.code });
    case "renewed":
    case "waiting":
    case "recovered":
    case "warning":
    case "standing":
    case "lost":
    case "settled":
    case "released":
    case "leader":
      return;
  }
}

function keyOf(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function textOf([name, { help, type, samples }]: [string, Family]): string {
  const lines = [...samples].map(([key, value]) => `${name}${key} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}
