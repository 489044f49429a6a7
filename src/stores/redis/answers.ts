// Reads the answers of the scripts: JSON, in which an empty list is an empty object, because Lua does not tell the two apart.
import { Refusal } from "../../base/refusal.ts";
import { foreignText } from "../../clients/redis/errors.ts";
import { asBid, asVersion, type Hold, type Name, type Seat, type Session } from "../contract.ts";

export type ScriptAnswer = Readonly<Record<string, unknown>>;

/** The reply may be bytes, if the client was told to return bytes. */
export function parseAnswer(reply: unknown, place: string): ScriptAnswer {
  const text = typeof reply === "string" ? reply : Buffer.isBuffer(reply) ? reply.toString("utf8") : undefined;
  if (text === undefined)
    throw new Error(
      `redis: ${place} answered with ${typeof reply} where a text was expected: is something between us and the server?`,
    );
  return JSON.parse(text) as ScriptAnswer;
}

export function listOf<T>(value: unknown): readonly T[] {
  return Array.isArray(value) ? (value as readonly T[]) : [];
}

export function sessionOf(id: string, { candidate, ttl, beat }: ScriptAnswer): Session {
  const session = { id, candidate: String(candidate), ttlMs: Number(ttl) };
  return typeof beat === "string" ? { ...session, beats: [beat] } : session;
}

/** A hold by its place in the request, counted from one. */
export function holdsAt(holds: readonly Hold[], places: unknown): readonly Hold[] {
  return listOf<number>(places).flatMap((place) => holds[place - 1] ?? []);
}

export function straysOf(value: unknown): readonly Hold[] {
  return listOf<{ name: string; bid: string }>(value).map(({ name, bid }) => ({ name, bid: asBid(bid) }));
}

/** How long a seat is held at least, by the server's clock: for hints only. */
export function leftMsOf(seat: ScriptAnswer | undefined): number | undefined {
  const left = seat?.["left"];
  return typeof left === "number" ? left : undefined;
}

/** Throws if something stands there that is no seat. */
export function seatOf(name: Name, seat: ScriptAnswer, place: string): Seat {
  if (seat["state"] === "foreign")
    throw new Refusal("STORE_FOREIGN_DATA", `redis: ${foreignText(String(seat["key"]), place)}`);
  const version = asVersion(String(seat["version"]));
  if (seat["state"] !== "held") return { name, version, state: "vacant" };
  const { bid, ttl } = seat;
  return {
    name,
    version,
    state: "held",
    holder: {
      candidate: String(seat["candidate"]),
      ...(typeof bid === "string" ? { bid: asBid(bid) } : {}),
      value: String(seat["value"]),
    },
    ...(typeof ttl === "number" ? { ttlMs: ttl } : {}),
  };
}
