// Memos as users see them: which keys and values are allowed, one read, and each change. Reading a memo proves nothing about who leads.
//
// Keys that begin with "conclave/" belong to parts of this package (schedules, `run --once`). Anybody can read them, but only `writeReservedMemo` writes them, and that function
// is not exported from the package.
import { ConclaveError, invalidConfig } from "../base/errors.ts";
import { withJson } from "../base/json.ts";
import { askedOnce, noAnswerToRead } from "../base/outcome.ts";
import { show } from "../base/show.ts";
import { bytesOf, flawOf } from "../base/text.ts";
import { type FencingToken, makeToken } from "../fencing/token.ts";
import { hasControlCharacter } from "../lease/settings.ts";
import type { StoredMemo, Name } from "../lease/exchange.ts";
import { cannotKeepMemos, keepsMemos, type Store } from "../stores/contract.ts";
import { exchange } from "./ask.ts";
import type { Lookout } from "./observe.ts";

/** A small value that a leader left at an election: `term.memo(key, value)`. */
export interface Memo {
  readonly key: string;
  readonly value: string;
  /** The token of the term that wrote it. */
  readonly token: FencingToken;
  /** Counts the writes of this key in that term, from 1. Of two memos of one key, the later has the greater (token, n). */
  readonly n: number;
}

/** The keys of this package begin with this. */
export const RESERVED = "conclave/";

const KEY_BYTES_MAX = 200;

/** Refuses a key that no store keeps, before anything is sent. */
export function checkKey(key: unknown, call: string): asserts key is string {
  const isText = typeof key === "string" && key.length > 0 && !hasControlCharacter(key);
  const fits = isText && bytesOf(key) <= KEY_BYTES_MAX;
  const flaw = fits ? flawOf(key) : `1 to ${KEY_BYTES_MAX} bytes as UTF-8, no control characters`;
  if (flaw !== undefined) throw invalidConfig(call, [`${show(key)} is not a key of a memo: ${flaw}`]);
}

export function checkUnreserved(key: string, call: string): void {
  if (key.startsWith(RESERVED))
    throw invalidConfig(call, [`${show(key)}: keys that begin with "${RESERVED}" are kept for conclave itself`]);
}

/** Throws unless the store can keep the value. */
export function checkValue(store: Store, value: unknown, call: string): asserts value is string {
  const bounds = store.guarantee.memos;
  if (bounds === undefined || !keepsMemos(store)) throw cannotKeepMemos(store);
  const flaw = typeof value === "string" ? flawOf(value) : "it is no text; JSON.stringify it";
  if (flaw !== undefined) throw invalidConfig(call, [`${show(value)} cannot be kept as a memo: ${flaw}`]);
  const bytes = bytesOf(value as string);
  if (bytes <= bounds.bytes) return;
  const problem = `the value has ${bytes} bytes, and ${store.guarantee.store} keeps ${bounds.bytes} at most. Keep it elsewhere, and its place in the memo`;
  throw invalidConfig(call, [problem]);
}

/** Reads one memo, by one linearizable read. */
export async function readMemo(lookout: Lookout, name: Name, key: string): Promise<Memo | undefined> {
  const memos = await readMemos(lookout, { name, key, what: `the memo "${key}" of "${name}"` });
  return publicMemo(memos.find((memo) => memo.key === key));
}

interface MemoQuestion {
  readonly name: Name;
  /** Undefined for all keys of the election. */
  readonly key: string | undefined;
  /** The name of what is read, for the error of a read that got no answer. */
  readonly what: string;
}

/** A read for which the store was too busy is sent again after this pause. */
const AGAIN_MS = 25;
/** Short terms have short requests. A read belongs to no term, so it may take longer. */
const PATIENCE_MIN_MS = 2000;

/**
 * One linearizable read. A refusal that may pass, such as a file that another process has locked, is no answer yet: the read is sent again, for as long as a
 * request may take, and for 2 s at least. A read changes nothing, so sending it twice does no harm.
 */
export function readMemos(lookout: Lookout, { name, key, what }: MemoQuestion): Promise<readonly StoredMemo[]> {
  const { store, clock, requestTimeoutMs } = lookout;
  const endMs = clock.now().mono + Math.max(requestTimeoutMs, PATIENCE_MIN_MS);
  return new Promise((resolve, reject) => {
    const send = (): void => {
      const now = clock.now();
      exchange(store, clock, { method: "readMemos", name, key }, requestTimeoutMs, now, (answer) => {
        if (answer.kind === "memos") return resolve(answer.memos);
        if (answer.kind === "refused") {
          const { code, message, retryable, cause } = answer;
          const isLate = clock.now().mono + AGAIN_MS >= endMs;
          return retryable && !isLate
            ? void clock.timer(AGAIN_MS, send)
            : reject(new ConclaveError(code, askedOnce(message), { retryable, cause }));
        }
        const cause = answer.kind === "unknown" ? answer.cause : undefined;
        const message = noAnswerToRead(store.guarantee.store, `a read of ${what}`, cause);
        return reject(new ConclaveError("STORE_TIMEOUT", message, { cause }));
      });
    };
    send();
  });
}

export function publicMemo(memo: StoredMemo | undefined): Memo | undefined {
  return memo && withJson({ key: memo.key, value: memo.value, token: makeToken(memo.token), n: memo.n });
}

// ---- reserved keys -------------------------------------------------------------------------------------------------------------------

/** A method of a term that its type does not show. A replacement of a term in tests has it too. */
interface WritesAnyMemo {
  anyMemo(key: string, value: string): Promise<void>;
}

/** This is for parts of this package: it works as `term.memo` does, with "conclave/" in front of `key`. */
export async function writeReservedMemo(term: object, key: string, value: string): Promise<void> {
  if (!("anyMemo" in term)) throw invalidConfig("writeReservedMemo", ["this is no term of conclave"]);
  await (term as WritesAnyMemo).anyMemo(RESERVED + key, value);
}
