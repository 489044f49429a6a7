// What callers hand to a guard, checked at run time: in JavaScript nothing else prevents a write with an unfenced term. Each message says what to
// pass instead.
import { ConclaveError } from "../base/errors.ts";
import { harmless } from "../base/harmless.ts";
import { LONGEST_TIMER_MS } from "../base/longest-timer.ts";
import { flawOf } from "../base/text.ts";
import { untrustedToken } from "./refusals.ts";
import { type Fenced, type FencingToken, formatToken, isWritable, type Signed } from "./token.ts";

/** The token of a term, or of a request that was parsed. With a verifier, only signed tokens are taken. */
export function tokenOf(by: Fenced | Signed, verifier?: Verifies, resource: string = ""): FencingToken {
  if (verifier !== undefined) return signedToken(by, verifier, resourceOf(resource));
  const token: unknown = isObject(by) ? by["token"] : undefined;
  if (!isObject(token)) throw noToken(by);
  const { domain, value, bid } = token as Partial<FencingToken>;
  if (typeof value === "number")
    throw noToken(by, `its token's value is a number; numbers lose digits, tokens are bigint`);
  if (typeof domain !== "string" || typeof value !== "bigint" || typeof bid !== "string") throw noToken(by);
  if (domain === "" || bid === "" || !isWritable(value)) throw noToken(by, "its token is out of bounds");
  return token as unknown as FencingToken;
}

/** The part of signed.ts that a guard needs. signed.ts imports this file, so this file cannot import it. */
interface Verifies {
  verify(resource: string, signed: unknown): Fenced;
}

function signedToken(by: Fenced | Signed, verifier: Verifies, resource: string): FencingToken {
  const signed: unknown = isObject(by) ? by["signed"] : undefined;
  if (signed === undefined && isObject(by) && by["token"] !== undefined)
    throw untrustedToken(resource, "it is not signed. Pass signToken(term, key, …), or { signed } as it was received");
  return verifier.verify(resource, signed).token;
}

/** The token's text, which differs for any two tokens. */
export function textOf(token: FencingToken): string {
  return formatToken(token);
}

/** What is guarded, by name. The same in every process that guards it. */
export function resourceOf(resource: string): string {
  const flaw = typeof resource === "string" ? flawOf(resource) : undefined;
  if (flaw !== undefined)
    throw new ConclaveError("CONFIG_INVALID", `${show(resource)} is not a name for a resource: ${flaw}.`);
  if (typeof resource === "string" && resource !== "") return resource;
  harmless(
    () => resource, // it may be a promise that rejects
    () => {},
  );
  throw new ConclaveError(
    "CONFIG_INVALID",
    `a resource is named by a text that is not empty, not by ${show(resource)}.`,
  );
}

/** The prefix of a fence's keys. */
export function prefixOf(call: string, prefix: unknown, usual: string): string {
  if (prefix === undefined) return usual;
  const flaw = typeof prefix === "string" ? flawOf(prefix) : "it is not a text";
  if (flaw === undefined) return prefix as string;
  throw new ConclaveError("CONFIG_INVALID", `${call}: prefix ${show(prefix)}: ${flaw}.`);
}

/** The folder of a fence in files. An empty one would be the folder in which the process happens to run. */
export function folderOf(call: string, folder: unknown): string {
  const flaw = typeof folder === "string" ? flawOf(folder) : "it is not a text";
  if (flaw === undefined && folder !== "") return folder as string;
  throw new ConclaveError(
    "CONFIG_INVALID",
    `${call}: ${show(folder)} is not the path of a folder: ${flaw ?? "it is empty"}.`,
  );
}

/** How long to wait: undefined for ever. A timer that is too long, or no number, would be over at once. */
export function waitOf(waitMs: unknown): number | undefined {
  if (waitMs === undefined || waitMs === null) return undefined;
  if (typeof waitMs === "number" && waitMs >= 0) return waitMs > LONGEST_TIMER_MS ? undefined : waitMs;
  throw new ConclaveError("CONFIG_INVALID", `a guard: waitMs ${show(waitMs)} is not a number of milliseconds.`);
}

function noToken(by: unknown, found: string = guess(by)): ConclaveError {
  return new ConclaveError("TOKEN_MALFORMED", `a guard needs the term itself, or { token }: ${found}.`);
}

function guess(by: unknown): string {
  if (typeof by === "string") return `this is a text; pass { token: parseToken(text) }`;
  if (typeof by === "bigint" || typeof by === "number")
    return `this is only a number; a token also has a domain and a bid, so pass the term`;
  if (!isObject(by)) return `this is ${show(by)}`;
  if (typeof by["then"] === "function") return `this is a promise; await it`;
  if (typeof by["value"] === "bigint" && "bid" in by) return `this is a token; pass { token }`;
  if (typeof by["signed"] === "string" && by["token"] === undefined)
    return `this is a signed token, and this guard has no key to verify it with: make it with { verify: publicKey }`;
  if (typeof by["isHeld"] === "function" && by["token"] === undefined)
    return `this term has no token, because its store cannot fence (unfenced: true); use a store that can`;
  return `${show(by["token"])} is not a token that a store made`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function show(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "string") return JSON.stringify(value.slice(0, 80));
  return isObject(value) ? "this object" : String(value);
}
