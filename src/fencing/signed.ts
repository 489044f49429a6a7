// Signed tokens: for a resource that does not trust everybody who can reach it. A candidate signs its token with a private key (Ed25519); a guard with `verify` has
// the public keys, and looks at nothing that none of them has signed. The text: signed-text.ts. The keys: keys.ts.
//
// A guard with `verify` checks in this order, before it remembers anything of a token:
//   1 the text has its one form, and is bounded                         TOKEN_MALFORMED
//   2 the key that it names is accepted, and has signed this very text  TOKEN_UNTRUSTED: forged, altered, or signed by a key that was withdrawn
//   3 it is for this resource, and of this election                     TOKEN_UNTRUSTED: a token for one resource opens no other
//   4 its time has come and is not over, within `skewMs`                TOKEN_EXPIRED
// and then compares tokens as every guard does. Expiry never stands in for that comparison: it is by wall clocks, which may be wrong. It only bounds for how long a
// token that was copied is of use.
//
// What it is: a bearer credential. Somebody who reads a signed token on its way can use it until it expires, so send it over TLS, and keep it out of logs.
// NOT protected against: a candidate that has the key. It can sign any value for any resource, also a huge one that shuts every later leader out
// (`conclave fence lower` repairs that). Give each candidate a key of its own, so that one can be withdrawn.
import { createPublicKey, KeyObject, sign, verify as verifySignature } from "node:crypto";
import { ConclaveError, invalidConfig } from "../base/errors.ts";
import { problemsOfKeys } from "../base/option-keys.ts";
import { show } from "../base/show.ts";
import { flawOf } from "../base/text.ts";
import { wallNow } from "../election/clock.ts";
import { resourceOf, tokenOf } from "./input.ts";
import { idOf, signingKey, type TokenKey, verifyingKey } from "./keys.ts";
import { expiredToken, untrustedToken } from "./refusals.ts";
import { type Claims, contentOf, LIFE_MAX_MS, parseSigned, writeSigned } from "./signed-text.ts";
import type { Fenced, Signed } from "./token.ts";

/** How a token is signed. */
export interface SignOptions {
  /** The resource that it is for: the name under which the guard knows it, or what the guard's `verify.audience` says. */
  readonly audience: string;
  /** For how long it is good. A few seconds more than a request may take; sign again for the next one. At most a day. */
  readonly ttlMs: number;
  /** UTC in milliseconds. @default the clock of this host */
  readonly now?: (() => number) | undefined;
}

/** Which signed tokens a guard takes. */
export interface Verification {
  /** The public keys that are accepted; several while keys are rotated. A function is asked each time. */
  readonly keys: TokenKey | readonly TokenKey[] | (() => readonly TokenKey[]);
  /** What tokens must be for. @default the name of the resource, as the guard is told it */
  readonly audience?: string | undefined;
  /** What election they must be of. @default any: then a key that signs for several elections lets each of them in */
  readonly election?: string | undefined;
  /** By how much the wall clocks of signer and guard may differ. @default 30_000 */
  readonly skewMs?: number | undefined;
  /** UTC in milliseconds. @default the clock of this host */
  readonly now?: (() => number) | undefined;
}

/** Makes a guard take signed tokens only. */
export interface Verifying {
  readonly verify: TokenKey | readonly TokenKey[] | Verification;
}

/** Checks what is signed, and gives the token in it. */
export interface Verifier {
  verify(resource: string, signed: unknown): Verified;
}

/** What a signed token says, once it was verified. */
export interface Verified extends Fenced {
  readonly election: string;
  readonly audience: string;
  /** Whose signature it is: `keyId` of the key. */
  readonly keyId: string;
  readonly expiresMs: number;
}

const SKEW_MS = 30_000;
const SKEW_MAX_MS = 60 * 60 * 1000;
const KEYS_MAX = 64;
/** What fits the text: 15 digits. */
const INSTANT_END = 1e15;

/** Signs the token of a term for one resource. Pass what it returns to a guard with `verify`, or to `fencingHeaders`. Does not ask whether the term is held. */
export function signToken(term: Fenced & { readonly election: string }, key: TokenKey, options: SignOptions): Signed {
  const token = tokenOf(term);
  const { audience, ttlMs, now = wallNow } = checkedOptions(options);
  const { election } = term;
  if (typeof election !== "string")
    throw invalidConfig("signToken", ["pass the term itself, or { token, election }: the election is signed, too"]);
  const privateKey = signingKey("signToken", key);
  const issuedMs = Math.floor(now());
  if (!(issuedMs >= 0 && issuedMs + ttlMs < INSTANT_END))
    throw invalidConfig("signToken", [`now() is ${show(issuedMs)}, which is no time in milliseconds of UTC`]);
  const named = idOf(createPublicKey(privateKey));
  const content = contentOf({ keyId: named, issuedMs, expiresMs: issuedMs + ttlMs, audience, election, token });
  return Object.freeze({ signed: writeSigned(content, sign(null, Buffer.from(content), privateKey)) });
}

function checkedOptions(options: SignOptions): SignOptions {
  const problems = problemsOfKeys(options, ["audience", "ttlMs", "now"]);
  const { audience, ttlMs, now } = (options ?? {}) as Partial<SignOptions>;
  const flaw =
    typeof audience === "string" && audience !== "" ? flawOf(audience) : "a text that is not empty is needed";
  if (flaw !== undefined) problems.push(`audience is ${show(audience)}: ${flaw}`);
  if (!Number.isInteger(ttlMs) || (ttlMs as number) < 1 || (ttlMs as number) > LIFE_MAX_MS)
    problems.push(`ttlMs is ${show(ttlMs)}; it must be a whole number from 1 to ${LIFE_MAX_MS}, a day`);
  problems.push(...problemsOfNow(now));
  if (problems.length > 0) throw invalidConfig("signToken", problems);
  return options;
}

/** Verifies what `signToken` has signed, for a guard of your own. It compares no tokens: do that next. @param resource what it must be for, unless `verify.audience` says */
export function verifyToken(resource: string, by: Signed, verify: Verifying["verify"]): Verified {
  return createVerifier("verifyToken", verify).verify(
    resourceOf(resource),
    (by as Partial<Signed> | undefined)?.signed,
  );
}

/**
 * What the options of a guard say. None: tokens are not signed. A misspelled `verify`, and a key that is undefined, are refused: the guard would be open to everybody.
 * `others`: the options that the guard has besides.
 */
export function verifierOf(
  call: string,
  options: Partial<Verifying> | undefined,
  others: readonly string[],
): Verifier | undefined {
  const problems = problemsOfKeys(options, ["verify", ...others]);
  if (problems.length > 0) throw invalidConfig(call, problems);
  if (options === undefined || options === null || !("verify" in options)) return undefined;
  return createVerifier(call, options.verify);
}

export function createVerifier(call: string, verify: Verifying["verify"]): Verifier {
  const { keys, audience, election, skewMs = SKEW_MS, now = wallNow } = checkedVerification(call, verify);
  const fixed = typeof keys === "function" ? undefined : publicKeys(call, keys);
  return {
    verify(resource, signed) {
      const parsed = parseSigned(textIn(signed));
      const { claims } = parsed;
      const accepted = fixed ?? publicKeys(call, (keys as () => readonly TokenKey[])());
      const key = accepted.get(claims.keyId);
      if (key === undefined)
        throw untrustedToken(
          resource,
          `no key ${claims.keyId} is accepted here, but ${[...accepted.keys()].join(", ")}`,
        );
      if (!verifySignature(null, Buffer.from(parsed.content), key, parsed.signature))
        throw untrustedToken(resource, "its signature is not that of its content: it was forged or altered");
      checkPurpose(resource, claims, audience ?? resource, election);
      checkTime(resource, claims, now(), skewMs);
      return verified(claims);
    },
  };
}

function textIn(signed: unknown): string {
  if (typeof signed === "string") return signed;
  throw new ConclaveError("TOKEN_MALFORMED", `this guard takes { signed }, a text; this is ${typeof signed}.`);
}

function checkPurpose(resource: string, claims: Claims, audience: string, election: string | undefined): void {
  if (claims.audience !== audience)
    throw untrustedToken(
      resource,
      `it is for ${show(claims.audience)}, and this guard takes those for ${show(audience)}`,
    );
  if (election !== undefined && claims.election !== election)
    throw untrustedToken(
      resource,
      `it is of election ${show(claims.election)}, and this guard takes those of ${show(election)}`,
    );
}

/** Written so that a clock that gives no number lets nothing in. */
function checkTime(resource: string, { issuedMs, expiresMs }: Claims, nowMs: number, skewMs: number): void {
  if (!(nowMs >= issuedMs - skewMs))
    throw expiredToken(
      resource,
      `it will be issued in ${issuedMs - nowMs} ms by the clock here: one of the two clocks is wrong`,
    );
  if (!(nowMs < expiresMs + skewMs))
    throw expiredToken(resource, `it expired ${nowMs - expiresMs} ms ago. Sign the token again for each request`);
}

function verified({ token, election, audience, keyId, expiresMs }: Claims): Verified {
  return { token, election, audience, keyId, expiresMs };
}

function checkedVerification(call: string, verify: Verifying["verify"]): Verification {
  if (!isVerification(verify)) return { keys: verify };
  const problems = problemsOfKeys(verify, ["keys", "audience", "election", "skewMs", "now"]);
  const { audience, election, skewMs, now } = verify;
  for (const [option, text] of Object.entries({ audience, election }))
    if (text !== undefined && (typeof text !== "string" || text === ""))
      problems.push(`verify.${option} is ${show(text)}; it must be a text that is not empty`);
  if (skewMs !== undefined && !(Number.isFinite(skewMs) && skewMs >= 0 && skewMs <= SKEW_MAX_MS))
    problems.push(`verify.skewMs is ${show(skewMs)}; it must be from 0 to ${SKEW_MAX_MS}, an hour`);
  problems.push(...problemsOfNow(now));
  if (problems.length > 0) throw invalidConfig(call, problems);
  return verify;
}

/** An object that is no key of node:crypto is meant to be one, so that a misspelled property of it is named. */
function isVerification(verify: Verifying["verify"]): verify is Verification {
  return typeof verify === "object" && verify !== null && !Array.isArray(verify) && !(verify instanceof KeyObject);
}

function problemsOfNow(now: unknown): string[] {
  return now === undefined || typeof now === "function" ? [] : ["now is not a function"];
}

/** Key id → key. */
function publicKeys(call: string, keys: TokenKey | readonly TokenKey[]): ReadonlyMap<string, KeyObject> {
  const list = Array.isArray(keys) ? (keys as readonly TokenKey[]) : [keys as TokenKey];
  if (list.length === 0) throw invalidConfig(call, ["verify names no key, so that no token would be taken"]);
  if (list.length > KEYS_MAX) throw invalidConfig(call, [`verify names ${list.length} keys; ${KEYS_MAX} are accepted`]);
  return new Map(list.map((key) => verifyingKey(call, key)).map((key) => [idOf(key), key]));
}
