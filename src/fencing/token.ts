// A fencing token as users and resources see it, and as text. On every wire: `domain:value:bid`, the value in decimal, domain and bid with
// `%` escapes for what would break the form.
//
// A token is (domain, value, bid): values of different domains do not compare, equal values of different bids are different terms.
import { ConclaveError } from "../base/errors.ts";
import { withJson } from "../base/json.ts";
import { show } from "../base/show.ts";
import { flawOf } from "../base/text.ts";

declare const fencingToken: unique symbol;

/**
 * Grows with every term of one election, within one domain (a cluster, a database, a file). Chosen by the granting write itself.
 * Made by a store; read back with `parseToken`. In JSON its value is decimal text; to send a token, `formatToken` it.
 */
export interface FencingToken {
  readonly domain: string;
  readonly value: bigint;
  readonly bid: string;
  readonly [fencingToken]: true;
}

/** All a guarded resource needs to know. A `Term` is one; so is a parsed request. */
export interface Fenced {
  readonly token: FencingToken;
}

/**
 * A token that `signToken` has signed: what a guard with `verify` takes. Until it expires, the text is a credential: send it over TLS, and keep it out of logs.
 */
export interface Signed {
  readonly signed: string;
}

export function makeToken(token: {
  readonly domain: string;
  readonly value: bigint;
  readonly bid: string;
}): FencingToken {
  return Object.freeze(withJson({ domain: token.domain, value: token.value, bid: token.bid })) as FencingToken;
}

/** A token as text, `domain:value:bid`: for headers, environment variables and columns. Throws `TOKEN_MALFORMED` for what no store has made. */
export function formatToken(token: FencingToken): string {
  mustBeToken(token);
  const flaw = flawOf(token.domain) ?? flawOf(token.bid);
  if (flaw !== undefined)
    throw new ConclaveError("TOKEN_MALFORMED", `this token cannot be written as text, domain or bid: ${flaw}.`);
  return `${escapePart(token.domain)}:${token.value}:${escapePart(token.bid)}`;
}

/** A term without fencing has no token, and JavaScript users have no compiler that says so. */
function mustBeToken(token: Partial<FencingToken> | null | undefined): void {
  const { domain, value, bid } = token ?? {};
  if (typeof domain === "string" && typeof value === "bigint" && typeof bid === "string" && isWritable(value)) return;
  const message = `${show(token)} is not a token that a store made. Pass term.token; a term of a store that cannot fence has none.`;
  throw new ConclaveError("TOKEN_MALFORMED", message);
}

/** The text form carries 39 digits; no store counts further. */
const VALUE_END = 10n ** 39n;

/** Whether the value of a token can be written as text, and read back. */
export function isWritable(value: bigint): boolean {
  return value >= 0n && value < VALUE_END;
}

const FORM = /^([^:]*):([0-9]{1,39}):([^:]*)$/;

/** Refuses (`TOKEN_MALFORMED`) anything that `formatToken` would not have written. */
export function parseToken(text: string): FencingToken {
  const match = typeof text === "string" ? FORM.exec(text) : null;
  if (match === null) throw malformed(text);
  const [, domain = "", value = "", bid = ""] = match;
  const token = makeToken({ domain: unescapePart(domain, text), value: BigInt(value), bid: unescapePart(bid, text) });
  if (formatToken(token) !== text) throw malformed(text);
  return token;
}

export function escapePart(part: string): string {
  return encodeURIComponent(part).replaceAll("%2F", "/");
}

function unescapePart(part: string, whole: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw malformed(whole);
  }
}

function malformed(text: unknown): ConclaveError {
  if (typeof text === "string" && text.startsWith("conclave-signed-"))
    return new ConclaveError(
      "TOKEN_MALFORMED",
      "this is a signed token, which parseToken does not read. Pass { signed: text } to a guard with verify.",
    );
  return new ConclaveError(
    "TOKEN_MALFORMED",
    `${show(text)} is not a token: domain:value:bid was expected, the value in decimal. Send formatToken(term.token) unchanged.`,
  );
}
