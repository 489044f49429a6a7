// What drivers that keep memos share: how many, how large, and what is said of what does not fit. And what onlookers share that read all memos of a name.
import { ConclaveError } from "../base/errors.ts";
import { bytesOf } from "../base/text.ts";
import { askedOnce, noAnswerToRead, type Refused } from "../base/outcome.ts";
import type { MemoBounds } from "../lease/guarantee.ts";
import {
  asVersion,
  type Call,
  cannotKeepMemos,
  keepsMemos,
  type StoredMemo,
  type MemoWrite,
  type Name,
  type Store,
  type Token,
  type Version,
} from "./contract.ts";

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

/** All memos of a name by one linearizable read, for onlookers that have a store and no candidate. In the order of their keys. */
export async function readAllMemos(store: Store, name: Name, call: Call): Promise<readonly StoredMemo[]> {
  if (!keepsMemos(store)) throw cannotKeepMemos(store);
  const answer = await store.readMemos(name, undefined, call);
  if (answer.kind === "memos") return answer.memos.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const { cause } = answer;
  if (answer.kind === "refused") {
    const { code, message, retryable } = answer;
    throw new ConclaveError(code, askedOnce(message), { retryable, cause });
  }
  const message = noAnswerToRead(store.guarantee.store, `a read of the memos of "${name}"`, cause);
  throw new ConclaveError("STORE_TIMEOUT", message, { cause });
}
