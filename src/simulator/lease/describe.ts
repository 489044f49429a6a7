// What machines and stores say, in words for a transcript.
import type { ConclaveEvent } from "../../lease/events.ts";
import type { Claimed } from "../../lease/exchange.ts";
import type { Answer } from "../../lease/state.ts";

export function describeEvent(event: ConclaveEvent): string {
  if (event.type === "error")
    return `error ${event.error.code}${event.election === undefined ? "" : ` for "${event.election}"`}`;
  const { type, ...rest } = event;
  return `${type} ${JSON.stringify(rest, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value))}`;
}

export function describeAnswer(answer: Answer): string {
  if (answer.kind === "claimed") return answer.claimed.map(describeClaimed).join(", ");
  if (answer.kind === "seen")
    return answer.seats.map(({ name, state, version }) => `${name} ${state} ${version}`).join(", ");
  if (answer.kind !== "kept") return answer.kind;
  const notes = [
    ["lost", answer.lost.length],
    ["unsure", answer.unsure.length],
    ["strays", answer.strays.length],
  ] as const;
  return `kept${notes.map(([what, count]) => (count > 0 ? `, ${count} ${what}` : "")).join("")}`;
}

function describeClaimed(claimed: Claimed): string {
  if (claimed.kind === "granted") return `granted ${claimed.hold.name} with token ${claimed.hold.token?.value}`;
  return claimed.kind === "waiting" ? `waiting for ${claimed.hold.name}, ${claimed.ahead} ahead` : claimed.kind;
}
