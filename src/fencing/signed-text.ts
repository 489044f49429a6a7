// A signed token as text: what is signed, in one form and no other. It needs neither a key nor a clock. Signing and verifying: signed.ts.
//
//   conclave-signed-1:KEYID:ISSUED:EXPIRES:AUDIENCE:ELECTION:DOMAIN:VALUE:BID:SIGNATURE
//
// The signature covers every character before its own colon. So nothing can be changed, left out or moved to another field: a colon inside a field is escaped.
// ISSUED and EXPIRES are milliseconds of UTC, VALUE is decimal; AUDIENCE, ELECTION, DOMAIN and BID have the escapes of formatToken; SIGNATURE is base64url.
// There is one text for one content: what `writeSigned` would not have written is refused, so that no two texts pass for one token.
// Every text is bounded (`TEXT_MAX` characters) before anything else is looked at, and so is the life of a token.
import { ConclaveError } from "../base/errors.ts";
import { flawOf } from "../base/text.ts";
import { escapePart, type FencingToken, makeToken } from "./token.ts";

const VERSION = "conclave-signed-1";

/** Servers take headers of 8 KB and more. */
const TEXT_MAX = 4096;
const PARTS = 10;
/** A signed token is a bearer credential until it expires. */
export const LIFE_MAX_MS: number = 24 * 60 * 60 * 1000;
const SIGNATURE_BYTES = 64;

const KEY_ID = /^[\w-]{22}$/;
const INSTANT = /^(?:0|[1-9][0-9]{0,14})$/;
const VALUE = /^(?:0|[1-9][0-9]{0,38})$/;
const SIGNATURE = /^[\w-]{86}$/;

/** What is signed, besides the version. */
export interface Claims {
  /** Which key signed. */
  readonly keyId: string;
  /** UTC in milliseconds since the epoch, as are all instants here. */
  readonly issuedMs: number;
  readonly expiresMs: number;
  /** The resource that the token is for. */
  readonly audience: string;
  readonly election: string;
  readonly token: FencingToken;
}

export interface SignedParts {
  readonly claims: Claims;
  /** What the signature covers. */
  readonly content: string;
  readonly signature: Buffer;
}

/** Whether a text means to be a signed token, of this version or another. */
export function looksSigned(text: string): boolean {
  return text.startsWith("conclave-signed-");
}

/** The part that is to be signed. Throws `TOKEN_MALFORMED` for what has no text. */
export function contentOf({ keyId, issuedMs, expiresMs, audience, election, token }: Claims): string {
  const texts = { audience, election, domain: token.domain, bid: token.bid };
  for (const [field, text] of Object.entries(texts)) {
    const flaw = text === "" ? "it is empty" : flawOf(text);
    if (flaw !== undefined) throw malformed(`its ${field} cannot be written: ${flaw}`);
  }
  const ends = [audience, election, token.domain].map(escapePart);
  return [VERSION, keyId, issuedMs, expiresMs, ...ends, token.value, escapePart(token.bid)].join(":");
}

/** Throws `TOKEN_MALFORMED` if it would be longer than any reader takes. */
export function writeSigned(content: string, signature: Uint8Array): string {
  const text = `${content}:${Buffer.from(signature).toString("base64url")}`;
  if (text.length > TEXT_MAX)
    throw malformed(`it has ${text.length} characters, and may have ${TEXT_MAX}; shorten audience or election`);
  return text;
}

/** Refuses (`TOKEN_MALFORMED`) anything that `writeSigned` would not have written. Says nothing of who wrote it. */
export function parseSigned(text: string): SignedParts {
  if (text.length > TEXT_MAX) throw malformed(`it has more than ${TEXT_MAX} characters`);
  const parts = text.split(":", PARTS + 1);
  const [version = "", keyId = "", issued = "", expires = "", audience = "", election = "", domain = "", value = ""] =
    parts;
  const [bid = "", signed = ""] = parts.slice(PARTS - 2);
  if (version !== VERSION) throw malformed(`it does not begin with ${VERSION}:`);
  if (parts.length !== PARTS) throw malformed(`it does not have ${PARTS} parts`);
  if (!KEY_ID.test(keyId)) throw malformed("its key id is none");
  if (!INSTANT.test(issued) || !INSTANT.test(expires)) throw malformed("its instants are no milliseconds in decimal");
  if (!VALUE.test(value)) throw malformed("its value is no decimal number of up to 39 digits");
  const claims: Claims = {
    keyId,
    issuedMs: Number(issued),
    expiresMs: lifeEnds(Number(issued), Number(expires)),
    audience: unescaped(audience),
    election: unescaped(election),
    token: makeToken({ domain: unescaped(domain), value: BigInt(value), bid: unescaped(bid) }),
  };
  const content = contentOf(claims);
  const signature = readSignature(signed);
  if (writeSigned(content, signature) !== text) throw malformed("it is not in the one form that signToken writes");
  return { claims, content, signature };
}

function lifeEnds(issuedMs: number, expiresMs: number): number {
  if (expiresMs <= issuedMs) throw malformed("it expires before it was issued");
  if (expiresMs - issuedMs > LIFE_MAX_MS) throw malformed("it lives for more than a day");
  return expiresMs;
}

/** 86 characters carry four bits more than 64 bytes: those are caught where the whole text is compared. */
function readSignature(text: string): Buffer {
  const bytes = SIGNATURE.test(text) ? Buffer.from(text, "base64url") : Buffer.alloc(0);
  if (bytes.length !== SIGNATURE_BYTES) throw malformed("its signature does not have 64 bytes");
  return bytes;
}

function unescaped(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw malformed("it has a % that is no escape");
  }
}

/** Repeats nothing of the text: until it expires it is a credential. */
function malformed(why: string): ConclaveError {
  return new ConclaveError(
    "TOKEN_MALFORMED",
    `this is not a signed token: ${why}. Send what signToken(term, key, …) returned, unchanged.`,
  );
}
