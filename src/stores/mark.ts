// A short sum of a hold, by which a keep sees at once whether the seats that stand are those it renews, without naming them.
import type { Bid, Name } from "./contract.ts";

const marks = new WeakMap<object, number>();

/** 32 bits of name and bid (FNV-1a). The machine sends the same holds with every keep: each is summed once. */
export function markOf(hold: { readonly name: Name; readonly bid: Bid }): number {
  const known = marks.get(hold);
  if (known !== undefined) return known;
  const text = `${hold.name}\n${hold.bid}`;
  let mark = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) mark = Math.imul(mark ^ text.charCodeAt(index), 0x01000193) >>> 0;
  marks.set(hold, mark);
  return mark;
}
