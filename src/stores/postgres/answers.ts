// What the functions of the database answer (sql/functions.sql), read and checked: rows can be edited by hand, and nothing may be decided on nonsense.
import { unknown } from "../../base/outcome.ts";
import {
  asBid,
  asVersion,
  type Bid,
  type Claim,
  type Claimed,
  type Hold,
  type Seat,
  type Session,
} from "../contract.ts";
import { withBeat } from "../../lease/beat-rule.ts";
import { edited, outcomeOf, type PostgresWhereabouts } from "./refusals.ts";

export type AnswerRow = Readonly<Record<string, unknown>>;

export function readSession(id: string, answer: AnswerRow, where: PostgresWhereabouts): Session {
  const what = `session ${id}`;
  const session = {
    id,
    candidate: readText(answer["candidate"], `${what}, candidate`, where),
    ttlMs: readTtl(answer["ttl"], what, where),
  };
  // Functions that an earlier version made do not tell the beat: they know of none.
  return withBeat(session, typeof answer["beat"] === "string" ? answer["beat"] : undefined);
}

export function readSeats(answer: unknown, where: PostgresWhereabouts): readonly Seat[] {
  if (!Array.isArray(answer)) throw edited("a look", answer, where);
  return answer.map((seat) => readSeat(seat as AnswerRow, where));
}

export function readSeat(seat: AnswerRow, where: PostgresWhereabouts): Seat {
  const name = readText(seat["name"], "a name", where);
  const version = asVersion(readText(seat["version"], `the version of "${name}"`, where));
  switch (seat["state"]) {
    case "vacant":
      return { name, version, state: "vacant" };
    case "missing":
      return { name, version, state: "missing", ttlMs: readTtl(seat["ttl"], `the record of "${name}"`, where) };
    case "held":
      return { name, version, state: "held", ...readHolder(name, seat, where) };
    default:
      throw edited(`the state of "${name}"`, seat["state"], where);
  }
}

function readHolder(name: string, seat: AnswerRow, where: PostgresWhereabouts): Pick<Seat, "holder" | "ttlMs"> {
  const what = `the record of "${name}"`;
  const holder = {
    candidate: readText(seat["candidate"], `${what}, candidate`, where),
    bid: asBid(readText(seat["bid"], `${what}, bid`, where)),
    token: readToken(seat["token"], what, where),
    // Functions that an earlier version made do not tell the domain.
    domain: typeof seat["domain"] === "string" ? seat["domain"] : undefined,
    value: readText(seat["value"], `${what}, value`, where),
  };
  return { holder, ttlMs: readTtl(seat["ttl"], what, where) };
}

/** The answer to one claim. Each is read for itself: a row that makes no sense must not hide that another claim of the same request was granted. */
export function readClaimed(
  { name, bid }: Claim,
  { verdict, token, seat }: AnswerRow,
  domain: unknown,
  where: PostgresWhereabouts,
): Claimed {
  if (verdict === "session-lost") return { kind: "session-lost" };
  try {
    // Nothing was written for a claim that was beaten, whatever its row says.
    if (verdict === "beaten") return { kind: "beaten", seat: readSeat(seat as AnswerRow, where) };
  } catch (error) {
    return outcomeOf(error, where);
  }
  try {
    const value = readToken(token, `the counter of "${name}"`, where);
    const origin = readText(domain, "the token domain", where);
    return { kind: "granted", hold: { name, bid, token: { domain: origin, value, bid } } };
  } catch (error) {
    return unknown(error); // it was granted
  }
}

/** The seats of a session, if they are not those that were sent along: which of these are lost, and which others there are. */
export function readAudit(
  seats: unknown,
  holds: readonly Hold[],
  where: PostgresWhereabouts,
): { readonly lost: readonly Hold[]; readonly strays: readonly Hold[] } {
  if (!Array.isArray(seats)) throw edited("the seats of a session", seats, where);
  const standing = new Map<string, Bid>();
  for (const seat of seats as AnswerRow[])
    standing.set(readText(seat["name"], "a seat's name", where), asBid(readText(seat["bid"], "a seat's bid", where)));
  const lost = holds.filter(({ name, bid }) => standing.get(name) !== bid);
  for (const { name, bid } of holds) if (standing.get(name) === bid) standing.delete(name);
  return { lost, strays: [...standing].map(([name, bid]) => ({ name, bid })) };
}

/** The requests to hand over that a keep has shown. Functions that were made by an earlier version show none. */
export function readAsked(asked: unknown, where: PostgresWhereabouts): readonly Hold[] | undefined {
  if (asked === undefined || asked === null) return undefined;
  if (!Array.isArray(asked)) throw edited("the requests to hand over", asked, where);
  return (asked as AnswerRow[]).map((request) => {
    const name = readText(request["name"], "a request's name", where);
    const bid = asBid(readText(request["bid"], `the request at "${name}", bid`, where));
    const domain = readText(request["domain"], `the request at "${name}", domain`, where);
    return { name, bid, token: { domain, value: readToken(request["token"], `the request at "${name}"`, where), bid } };
  });
}

export function readText(value: unknown, what: string, where: PostgresWhereabouts): string {
  if (typeof value !== "string") throw edited(what, value, where);
  return value;
}

export function readToken(value: unknown, what: string, where: PostgresWhereabouts): bigint {
  if (typeof value !== "string" || !/^[1-9]\d*$/.test(value)) throw edited(`${what}, token`, value, where);
  return BigInt(value);
}

function readTtl(value: unknown, what: string, where: PostgresWhereabouts): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value <= 0)
    throw edited(`${what}, ttl`, value, where);
  return value;
}
