// Done, not done, unknown. A request that got no answer is unknown: it may have happened, may still happen,
// and may happen after later requests. Nothing in conclave treats unknown as failed.

/** No answer. */
export interface Unknown {
  readonly kind: "unknown";
  readonly cause: unknown;
}

/**
 * Definitely not applied, and not because of a rival: wrong password, quota, foreign data under the key, read-only, wrong version.
 * `code` is one of the STORE_ or NODE_ codes of errors.ts; `message` says what, why and what next.
 */
export interface Refused {
  readonly kind: "refused";
  readonly code: RefusalCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly cause?: unknown;
}

/** Why a store has refused a request. */
export type RefusalCode =
  | "STORE_UNREACHABLE"
  | "STORE_DENIED"
  | "STORE_FOREIGN_DATA"
  | "STORE_UNSUPPORTED"
  | "STORE_FULL"
  | "NODE_BANNED"
  | "NODE_DUPLICATE";

/** How the message of a refusal ends that a candidate answers by asking again. */
const TRIED_AGAIN = " It is tried again.";

/** For a caller that asks once and does not try again. */
export function askedOnce(message: string): string {
  return message.endsWith(TRIED_AGAIN) ? message.slice(0, -TRIED_AGAIN.length) : message;
}

export function unknown(cause: unknown): Unknown {
  return { kind: "unknown", cause };
}

/** How `ask` says that its time has passed. */
const LATE = /^no answer within (\d+ ms)$/;

/** "no answer to a renewal within 3000 ms", or with the words of the client or server that explain it: they are often all that shows a wrong address or port. */
export function noAnswerTo(what: string, cause: unknown): string {
  const said = cause instanceof Error ? (cause.message.split("\n")[0] ?? "").trim() : "";
  const late = LATE.exec(said)?.[1];
  if (late !== undefined) return `no answer to ${what} within ${late}`;
  return `no answer to ${what}${said === "" ? "" : ` (${said.length > 200 ? `${said.slice(0, 199)}…` : said})`}`;
}

/** The message for a caller that has asked once for something that changes nothing. */
export function noAnswerToRead(store: string, what: string, cause: unknown): string {
  return `${store}: ${noAnswerTo(what, cause)}. Nothing was changed. Is the store running, is its address right, and do both sides use TLS or neither?`;
}
