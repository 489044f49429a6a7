// The three kinds of records that the recipe keeps, and their texts. Each is a JSON object. A record that cannot be read is somebody else's data, or was
// edited by hand: it is refused with its key, and nothing is written over it.
import type { Bid, Name } from "../../lease/exchange.ts";
import { Halt } from "./halt.ts";
import type { StampedText } from "./port.ts";

/** One candidate process. `ended` is for ever: the record stays, so that a late request cannot open the session again. */
export interface SessionRecord {
  readonly candidate: string;
  readonly ttlMs: number;
  readonly ended: boolean;
  /** Grows with every keep, so that each keep changes the record. */
  readonly beat: number;
  /** What the last keep left, if it named a beat. */
  readonly mark?: string | undefined;
}

/** Who holds a name. It stays when the name is given back. */
export interface SeatRecord {
  readonly session: string;
  readonly candidate: string;
  readonly bid: Bid;
  readonly token: bigint;
  readonly ttlMs: number;
  readonly value: string;
  /** Given back on purpose. */
  readonly vacant: boolean;
}

/** The last token that was taken for a name, and the ttl of the session that took it. It outlives the seat. */
export interface CountRecord {
  readonly last: bigint;
  readonly ttlMs: number;
}

/** A record with the stamp of the write that left it. */
export interface Stamped<T> {
  readonly record: T;
  readonly stamp: string;
}

export const SEATS = "seat/";
export const sessionKey = (id: string): string => `session/${id}`;
export const seatKey = (name: Name): string => `${SEATS}${name}`;
export const countKey = (name: Name): string => `count/${name}`;

export function readSession(entry: StampedText | undefined): Stamped<SessionRecord> | undefined {
  return read(entry, (fields) => ({
    candidate: text(fields["candidate"]),
    ttlMs: ttl(fields["ttlMs"]),
    ended: flag(fields["ended"]),
    beat: whole(fields["beat"]),
    mark: fields["mark"] === undefined ? undefined : text(fields["mark"]),
  }));
}

export function readSeat(entry: StampedText | undefined): Stamped<SeatRecord> | undefined {
  return read(entry, (fields) => ({
    session: text(fields["session"]),
    candidate: text(fields["candidate"]),
    bid: text(fields["bid"]) as Bid,
    token: token(fields["token"]),
    ttlMs: ttl(fields["ttlMs"]),
    value: text(fields["value"]),
    vacant: flag(fields["vacant"]),
  }));
}

export function readCount(entry: StampedText | undefined): Stamped<CountRecord> | undefined {
  return read(entry, (fields) => ({ last: token(fields["last"]), ttlMs: ttl(fields["ttlMs"]) }));
}

/** Tokens are written as decimal text, because JSON's numbers end at 2^53. */
export function write(record: SessionRecord | SeatRecord | CountRecord): string {
  return JSON.stringify(record, (_, value: unknown) => (typeof value === "bigint" ? `${value}` : value));
}

function read<T>(
  entry: StampedText | undefined,
  parse: (fields: Readonly<Record<string, unknown>>) => T,
): Stamped<T> | undefined {
  if (entry === undefined) return undefined;
  try {
    return { record: parse(JSON.parse(entry.text) as Record<string, unknown>), stamp: entry.stamp };
  } catch (cause) {
    throw new Halt({
      kind: "refused",
      code: "STORE_FOREIGN_DATA",
      message: `the record ${JSON.stringify(entry.key)} is not one of Conclave's, or was edited. Nothing was written over it. Delete it if no candidate runs, or use another place for the elections.`,
      retryable: false,
      cause,
    });
  }
}

function text(value: unknown): string {
  if (typeof value !== "string") throw new TypeError("not a text");
  return value;
}

function flag(value: unknown): boolean {
  if (typeof value !== "boolean") throw new TypeError("neither true nor false");
  return value;
}

function whole(value: unknown): number {
  if (!Number.isSafeInteger(value)) throw new TypeError("not a whole number");
  return value as number;
}

function ttl(value: unknown): number {
  if (typeof value !== "number" || !(value > 0) || value === Infinity) throw new TypeError("not a ttl");
  return value;
}

function token(value: unknown): bigint {
  if (typeof value !== "string" || !/^\d{1,19}$/.test(value)) throw new TypeError("not a token");
  return BigInt(value);
}
