// The errors of a guard that refuses: which token it knows, which one came, and what to do. A refusal means that this operation was not admitted.
//
// Every refusal is published on the channel `conclave:refused` of node:diagnostics_channel, as `{ resource, code }`: a refused write means that
// fencing was needed, and is worth counting.
import { channel } from "node:diagnostics_channel";
import { ConclaveError, isConclaveError } from "../base/errors.ts";
import { type FencingToken, makeToken } from "./token.ts";

const refusals = channel("conclave:refused");

function told<E extends ConclaveError>(resource: string, error: E): E {
  if (refusals.hasSubscribers) refusals.publish({ resource, code: error.code });
  return error;
}

/** A newer leader has been here (`TOKEN_STALE`): the writer has been replaced and does not know it yet. */
export class StaleTokenError extends ConclaveError {
  override readonly name: string = "StaleTokenError";
  declare readonly code: "TOKEN_STALE";
  readonly resource: string;
  readonly presented: FencingToken;
  /** Its bid is empty if only the value is remembered. */
  readonly newest: FencingToken;

  constructor(resource: string, presented: FencingToken, newest: FencingToken, sentence: string) {
    super(
      "TOKEN_STALE",
      `"${resource}" has seen token ${describe(newest)}; this write carries ${describe(presented)}. ${sentence}`,
    );
    this.resource = resource;
    this.presented = presented;
    this.newest = newest;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isConclaveError(value) && value.code === "TOKEN_STALE";
  }
}

interface Seen {
  readonly value: bigint;
  readonly bid: string | undefined;
}

export function staleToken(resource: string, domain: string, seen: Seen, token: FencingToken): StaleTokenError {
  return told(
    resource,
    new StaleTokenError(resource, token, tokenOfSeen(domain, seen), "The writer has been replaced."),
  );
}

export function sameNumber(resource: string, domain: string, seen: Seen, token: FencingToken): StaleTokenError {
  const sentence =
    "Two terms with one number: the store has forgotten what it granted (a restored backup, a failover without the last writes). The next term will pass.";
  return told(resource, new StaleTokenError(resource, token, tokenOfSeen(domain, seen), sentence));
}

/** A write that may have landed before the newer token came. The message says that this is not known. */
export function overtaken(resource: string, newest: FencingToken, token: FencingToken): StaleTokenError {
  const sentence =
    "The writer has been replaced while it wrote: this write either came before the newer token and was taken over, or will never be read.";
  return told(resource, new StaleTokenError(resource, token, newest, sentence));
}

export function foreignToken(
  resource: string,
  known: string,
  token: FencingToken,
  howToAdopt: HowToAdopt,
): ConclaveError {
  const how = howToAdopt(resource, { from: known, to: token.domain });
  const error = new ConclaveError(
    "TOKEN_FOREIGN",
    `"${resource}" knows tokens of ${known}; this one is of ${token.domain}. If you moved the store on purpose: ${how} If not, this candidate uses another store than the others.`,
  );
  return told(resource, error);
}

/** A sentence that says how to call `adopt` of this very guard: which command to run, or what to write. */
export type HowToAdopt = (resource: string, move: { readonly from: string; readonly to: string }) => string;

/** For guards that only the guarding process can reach. */
export const adoptByCall: HowToAdopt = (resource, { from, to }) =>
  `fence.adopt(${JSON.stringify(resource)}, { from: ${JSON.stringify(from)}, to: ${JSON.stringify(to)} }) in the process that guards it.`;

/** For guards that the command line can reach: `where` are its flags. */
export function adoptByCommand(where: readonly string[]): HowToAdopt {
  return (resource, { from, to }) =>
    `run  npx conclave fence adopt ${[resource, ...where, "--from", from, "--to", to].map(shellWord).join(" ")}  once.`;
}

/** Quotes the text, unless it is plain, or a variable for the reader to fill in: "$DATABASE_URL". */
function shellWord(text: string): string {
  return /^(?:[\w@%+=:,./-]+|"\$[A-Z_]+")$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

export function leftDomain(resource: string, known: string, token: FencingToken): ConclaveError {
  const error = new ConclaveError(
    "TOKEN_FOREIGN",
    `"${resource}" has left ${token.domain} for ${known}; this write carries token ${describe(token)} of there. Its candidate still uses the old store: point it to the new one.`,
  );
  return told(resource, error);
}

/** A guard with `verify` did not accept what it was shown. The message repeats nothing of the token: it may be a credential, or a stranger's text. */
export function untrustedToken(resource: string, why: string): ConclaveError {
  return told(resource, new ConclaveError("TOKEN_UNTRUSTED", `"${resource}" does not take this token: ${why}.`));
}

export function expiredToken(resource: string, why: string): ConclaveError {
  return told(resource, new ConclaveError("TOKEN_EXPIRED", `"${resource}" does not take this token: ${why}.`));
}

function tokenOfSeen(domain: string, { value, bid = "" }: Seen): FencingToken {
  return makeToken({ domain, value, bid });
}

function describe({ value, bid }: FencingToken): string {
  return bid === "" ? `${value}` : `${value} of ${bid}`;
}
