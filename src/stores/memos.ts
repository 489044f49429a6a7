// What drivers that keep memos share: how many, how large, and what is said of what does not fit.
import { bytesOf } from "../base/text.ts";
import type { Refused } from "../base/outcome.ts";
import type { MemoBounds } from "../lease/guarantee.ts";
import { asVersion, type MemoWrite, type Name, type Token, type Version } from "./contract.ts";

/** Of stores that keep each memo in a record of its own. */
export const MEMOS: MemoBounds = { keys: 128, bytes: 65_536 };

/** Names its write: a bid is unique for ever, the token tells two grants of one bid apart, n two writes of one term. */
export function memoVersion(token: Pick<Token, "value" | "bid">, n: number): Version {
  return asVersion(`${token.bid}/${token.value}/${n}`);
}

export function tooLarge(store: string, { key, value }: MemoWrite, { bytes }: MemoBounds): Refused | undefined {
  const has = bytesOf(value);
  if (has <= bytes) return undefined;
  const message = `${store}: the memo "${key}" has ${has} bytes, and ${bytes} are kept at most. Nothing was written.`;
  return { kind: "refused", code: "STORE_FULL", message, retryable: false };
}

export function tooMany(store: string, name: Name, { keys }: MemoBounds): Refused {
  const message = `${store}: "${name}" has ${keys} memos, which is as many as are kept. Write to keys that are there. Nothing was written.`;
  return { kind: "refused", code: "STORE_FULL", message, retryable: false };
}
