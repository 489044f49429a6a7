// What a resource remembers, as a text in a key of a store: JSON, with values in decimal, because neither JavaScript's numbers nor Lua's hold them. Equal memories have equal
// texts, so that texts can be compared instead. The text is checked when it is read, because somebody may have edited it.
import type { ConclaveError } from "../base/errors.ts";
import type { TokenMark, Remembered } from "./guard.ts";

export function textOfMemory({ domain, mark, left }: Remembered): string {
  const value = mark === undefined ? null : `${mark.value}`;
  const leftValues = [...left].map(([name, most]) => [name, most === undefined ? null : `${most}`]);
  return JSON.stringify({ domain, value, bid: mark?.bid ?? null, left: Object.fromEntries(leftValues) });
}

export function memoryOfText(text: string, edited: () => ConclaveError): Remembered {
  const { domain, value, bid, left } = fieldsOf(text, edited);
  if (typeof domain !== "string" || typeof left !== "object" || left === null) throw edited();
  const leftValues = Object.entries(left).map(
    ([name, most]) => [name, most === null ? undefined : whole(most, edited)] as const,
  );
  return { domain, mark: value === null ? undefined : markOf(value, bid, edited), left: new Map(leftValues) };
}

function fieldsOf(text: string, edited: () => ConclaveError): Readonly<Record<string, unknown>> {
  try {
    return (JSON.parse(text) ?? {}) as Record<string, unknown>;
  } catch {
    throw edited();
  }
}

function markOf(value: unknown, bid: unknown, edited: () => ConclaveError): TokenMark {
  if (bid !== null && typeof bid !== "string") throw edited();
  return { value: whole(value, edited), bid: bid ?? undefined };
}

function whole(value: unknown, edited: () => ConclaveError): bigint {
  if (typeof value !== "string" || !/^(?:0|[1-9][0-9]{0,38})$/.test(value)) throw edited();
  return BigInt(value);
}
