// What a resource remembers, as rows of a table: one row for each domain that it knows, with how far that domain has come, and whether it is the present one. Rows are checked when they are read:
// a table can be edited by hand, and an operation is refused if a row makes no sense. The value is text: integers of databases end at 2⁶³, JavaScript's numbers at 2⁵³.
import { ConclaveError } from "../base/errors.ts";
import type { TokenMark, Remembered } from "./guard.ts";

export interface FenceRow {
  readonly domain: unknown;
  readonly value: unknown;
  readonly bid: unknown;
  readonly present: unknown;
}

/** `place`: the fence and its table, for messages. */
export function rememberedOf(place: string, resource: string, rows: readonly FenceRow[]): Remembered | undefined {
  const marks = rows.map((row) => ({ row, domain: String(row.domain), mark: markOf(place, resource, row) }));
  const [present, another] = marks.filter(({ row }) => isTrue(row.present));
  if (present === undefined && marks.length === 0) return undefined;
  if (present === undefined || another !== undefined)
    throw edited(place, resource, "does not have exactly one present domain");
  const left = marks
    .filter(({ row }) => !isTrue(row.present))
    .map(({ domain, mark }) => [domain, mark?.value] as const);
  return { domain: present.domain, mark: present.mark, left: new Map(left) };
}

function markOf(place: string, resource: string, { value, bid }: FenceRow): TokenMark | undefined {
  if (value === null && bid === null) return undefined;
  if (typeof value !== "string" || !/^(?:0|[1-9][0-9]{0,38})$/.test(value))
    throw edited(
      place,
      resource,
      `has ${JSON.stringify(String(value).slice(0, 60))} where the value of a token should be`,
    );
  if (bid !== null && typeof bid !== "string") throw edited(place, resource, "has a bid that is no text");
  return { value: BigInt(value), bid: bid ?? undefined };
}

function edited(place: string, resource: string, how: string): ConclaveError {
  const message = `${place}: "${resource}" ${how}: somebody has edited it. Nothing was written. Put the newest token back.`;
  return new ConclaveError("STORE_FOREIGN_DATA", message);
}

/** A boolean may come as a bigint, because some clients can be told to return bigint. */
export function isTrue(present: unknown): boolean {
  return present === true || present === 1 || present === 1n;
}
