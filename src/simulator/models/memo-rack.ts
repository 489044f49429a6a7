// The memos of a modelled store. The shelf checks session and seat; this class checks the present memo, in the same step.
//
// INVARIANT  a version names its write: the bid is unique for ever, the token tells two grants of one bid apart, n two writes of one term.
import { bytesOf } from "../../base/text.ts";
import type { StoredMemo, MemoWrite, MemoWritten, Name, Version } from "../../lease/exchange.ts";
import type { MemoBounds } from "../../lease/guarantee.ts";

/** The bounds of the models, and so of `memory:`. */
export const MODEL_MEMOS: MemoBounds = { keys: 128, bytes: 65_536 };

export class MemoRack {
  readonly #memos = new Map<Name, Map<string, StoredMemo>>();

  /** Writes a memo whose session lives and whose seat shows its hold. */
  write({ hold, key, value, n, over }: MemoWrite): MemoWritten {
    const { name, token } = hold;
    if (token === undefined) return { kind: "seat-lost" };
    if (bytesOf(value) > MODEL_MEMOS.bytes) return full(`the memo "${key}" has more than ${MODEL_MEMOS.bytes} bytes.`);
    const memos = this.#memos.get(name) ?? new Map<string, StoredMemo>();
    const stands = memos.get(key);
    const version = `${token.bid}/${token.value}/${n}` as Version;
    if (stands?.version === version && stands.value === value) return { kind: "written", version };
    if (stands?.version !== over) return { kind: "conflict", memo: stands };
    if (stands === undefined && memos.size >= MODEL_MEMOS.keys)
      return full(`"${name}" has ${MODEL_MEMOS.keys} memos, which is as many as are kept.`);
    memos.set(key, { key, value, token, n, version });
    this.#memos.set(name, memos);
    return { kind: "written", version };
  }

  read(name: Name, key: string | undefined): readonly StoredMemo[] {
    const memos = [...(this.#memos.get(name)?.values() ?? [])].filter((memo) => key === undefined || memo.key === key);
    return memos.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  }

  copy(): MemoRack {
    const twin = new MemoRack();
    for (const [name, memos] of this.#memos) twin.#memos.set(name, new Map(memos));
    return twin;
  }
}

function full(problem: string): MemoWritten {
  return { kind: "refused", code: "STORE_FULL", message: `${problem} Nothing was written.`, retryable: false };
}
