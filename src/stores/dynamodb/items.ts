// The kinds of items that the native layout keeps, read and checked: an item can be edited by hand, and nothing may be decided on nonsense.
//
//   session/ID    one candidate process. `ended` is for ever: the item stays, so that a late request cannot open the session again
//   seat/NAME     who holds a name, its token, and its memos. It stays when the name is given back
//   name/NAME     that the name has a seat, and its era. It is read only where a seat is made or gone
//   scout/NAME    who looks often for all who wait (scouts.ts). Nothing is decided by it
//
// INVARIANT  every write of an item draws a new `stamp`, except those that are no sign of life (memos, requests to hand over)
// INVARIANT  token of a seat = era · 2^40 + (how many grants the seat has seen in this era)
// INVARIANT  name.ttlMs ≥ the ttl of every session that has ever held the name
import { asBid, type Bid, type StoredMemo, type Name, type Token } from "../contract.ts";
import { memoVersion } from "../memos.ts";
import type { Attribute, Item } from "../../clients/dynamodb/client.ts";
import { foreignItem, type DynamoWhereabouts } from "./refusals.ts";
import { KEY } from "./schema.ts";

export interface SessionItem {
  readonly candidate: string;
  readonly ttlMs: number;
  readonly ended: boolean;
  /** The beat that the last keep left, if it named one. */
  readonly mark: string | undefined;
  /** The domain of the tokens that this session is granted: the id of the table in which it was opened. */
  readonly domain: string;
  readonly stamp: string;
}

export interface SeatItem {
  readonly session: string;
  readonly candidate: string;
  readonly bid: Bid;
  readonly token: bigint;
  readonly domain: string;
  readonly ttlMs: number;
  readonly value: string;
  /** Whether it was given back on purpose. */
  readonly vacant: boolean;
  readonly era: bigint;
  readonly stamp: string;
  /** The term that was asked to hand over. */
  readonly asked: Token | undefined;
}

export interface NameItem {
  readonly era: bigint;
  readonly ttlMs: number;
  readonly stamp: string;
}

const SEAT = "seat/";
export const sessionKey = (id: string): string => `session/${id}`;
export const seatKey = (name: Name): string => `${SEAT}${name}`;
export const nameKey = (name: Name): string => `name/${name}`;
export const scoutKey = (name: Name): string => `scout/${name}`;
export const SEATS: string = SEAT;
export const nameOf = (key: string): Name => key.slice(SEAT.length);

const GRANTS_OF_AN_ERA = 40n;

/** The first token of an era. Every token of an earlier era is less. */
export function firstToken(era: bigint): bigint {
  return (era << GRANTS_OF_AN_ERA) + 1n;
}

export const text = (value: string): Attribute => ({ S: value });
export const whole = (value: number | bigint): Attribute => ({ N: `${value}` });
export const flag = (value: boolean): Attribute => ({ BOOL: value });

export function readSession(item: Item | undefined, where: DynamoWhereabouts): SessionItem | undefined {
  return read(item, where, (fields) => ({
    candidate: fields.text("candidate"),
    ttlMs: fields.ttl("ttlMs"),
    ended: fields.flag("ended"),
    mark: fields.has("mark") ? fields.text("mark") : undefined,
    domain: fields.text("domain"),
    stamp: fields.text("stamp"),
  }));
}

export function readSeat(item: Item | undefined, where: DynamoWhereabouts): SeatItem | undefined {
  return read(item, where, (fields) => ({
    session: fields.text("session"),
    candidate: fields.text("candidate"),
    bid: asBid(fields.text("bid")),
    token: fields.whole("token"),
    domain: fields.text("domain"),
    ttlMs: fields.ttl("ttlMs"),
    value: fields.text("value"),
    vacant: fields.flag("vacant"),
    era: fields.whole("era"),
    stamp: fields.text("stamp"),
    asked: fields.has("asked") ? readAsked(fields.map("asked")) : undefined,
  }));
}

export function readName(item: Item | undefined, where: DynamoWhereabouts): NameItem | undefined {
  return read(item, where, (fields) => ({
    era: fields.whole("era"),
    ttlMs: fields.ttl("ttlMs"),
    stamp: fields.text("stamp"),
  }));
}

/** The memos of a seat, in the order of their keys. */
export function readMemosOf(item: Item | undefined, where: DynamoWhereabouts): readonly StoredMemo[] {
  const memos = read(item, where, (fields) => {
    return Object.entries(fields.map("memos")).map(([key, { M: memo = {} }]) => readMemo(key, new Fields(memo)));
  });
  return (memos ?? []).toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

export function askedItem({ domain, value, bid }: Token): Attribute {
  return { M: { domain: text(domain), value: whole(value), bid: text(bid) } };
}

export function memoItem(token: Token, n: number, value: string): Attribute {
  const { domain, value: number, bid } = token;
  const version = memoVersion(token, n);
  return {
    M: {
      domain: text(domain),
      token: whole(number),
      bid: text(bid),
      n: whole(n),
      value: text(value),
      version: text(version),
    },
  };
}

function readAsked(asked: Item): Token {
  const fields = new Fields(asked);
  return { domain: fields.text("domain"), value: fields.whole("value"), bid: asBid(fields.text("bid")) };
}

function readMemo(key: string, fields: Fields): StoredMemo {
  const token = { domain: fields.text("domain"), value: fields.whole("token"), bid: asBid(fields.text("bid")) };
  const n = Number(fields.whole("n"));
  return { key, value: fields.text("value"), token, n, version: memoVersion(token, n) };
}

function read<T>(item: Item | undefined, where: DynamoWhereabouts, parse: (fields: Fields) => T): T | undefined {
  if (item === undefined) return undefined;
  try {
    return parse(new Fields(item));
  } catch (error) {
    throw foreignItem(item[KEY]?.S ?? "", (error as Error).message, where);
  }
}

class Fields {
  readonly #item: Item;

  constructor(item: Item) {
    this.#item = item;
  }

  has(name: string): boolean {
    return this.#item[name] !== undefined;
  }

  text(name: string): string {
    const { S: value } = this.#item[name] ?? {};
    if (value === undefined) throw new TypeError(`${name} is not a text`);
    return value;
  }

  flag(name: string): boolean {
    const { BOOL: value } = this.#item[name] ?? {};
    if (value === undefined) throw new TypeError(`${name} is neither true nor false`);
    return value;
  }

  whole(name: string): bigint {
    const { N: value = "" } = this.#item[name] ?? {};
    if (!/^\d{1,38}$/.test(value)) throw new TypeError(`${name} is not a whole number`);
    return BigInt(value);
  }

  ttl(name: string): number {
    const value = Number(this.whole(name));
    if (!Number.isSafeInteger(value) || value <= 0) throw new TypeError(`${name} is not a ttl`);
    return value;
  }

  map(name: string): Item {
    const { M: value } = this.#item[name] ?? {};
    if (value === undefined) throw new TypeError(`${name} is not a map`);
    return value;
  }
}
