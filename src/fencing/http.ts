// HTTP: the client sends its token with each request, the server admits a request only with the newest one. For handlers in the style of fetch; for
// node:http see node-http.ts.
//
//   fencing-token: domain:value:bid     as formatToken writes it; or what signToken has signed
//   412   an older token (TOKEN_STALE), or one of another domain (TOKEN_FOREIGN): do not retry
//   403   a guard that verifies signatures does not take it (TOKEN_UNTRUSTED), or it has expired (TOKEN_EXPIRED): sign again
//   428   no token                      400   text that is no token (TOKEN_MALFORMED)
//   503   older requests have not ended within `waitMs` (FENCE_BUSY), with retry-after; the new token is installed all the same
// The body of a refusal is JSON: {"code", "message"}.
//
// Law 12 (raise, then read, then write) across the network: a request with a newer token installs it at once and begins only when no request with an
// older one is in progress, so
// a leader whose *reads* carry its token too reads nothing that an older request still changes. A request is in progress until its handler has settled:
// a client that went away does not end what its request has begun.
// Not covered: work that a handler leaves running when it settles, or does while the body of its answer streams. Await it in the handler.
import { ConclaveError, invalidConfig, isConclaveError } from "../base/errors.ts";
import { show } from "../base/show.ts";
import { resourceOf, textOf, tokenOf, waitOf } from "./input.ts";
import type { Fence } from "./memory.ts";
import { looksSigned, parseSigned } from "./signed-text.ts";
import { type Fenced, parseToken, type Signed } from "./token.ts";

export const HEADER = "fencing-token";
export const WAIT_MS = 5_000;

/** What a client adds to each request it makes as a leader, reads included. */
export function fencingHeaders(by: Fenced | Signed): { readonly [HEADER]: string } {
  return { [HEADER]: "signed" in Object(by) ? signedText(by as Signed) : textOf(tokenOf(by)) };
}

function signedText({ signed }: Signed): string {
  parseSigned(signed);
  return signed;
}

/** Options of `fencedHandler`. */
export interface HttpFenceOptions {
  /** How long a newer request waits for older ones to end. @default 5_000 */
  readonly waitMs?: number | undefined;
}

/** Answers a request whose token was admitted. */
export type FencedHandler = (request: Request, by: Fenced) => Response | Promise<Response>;

/**
 * Guards a handler. `resource` names what it writes to: all handlers of one thing need the same guard and name.
 * What the handler throws is thrown on.
 */
export function fencedHandler(
  guard: Fence | Fence<Signed>,
  resource: string | ((request: Request) => string),
  handler: FencedHandler,
  options?: HttpFenceOptions,
): (request: Request) => Promise<Response> {
  const { waitMs = WAIT_MS } = options ?? {};
  checkParts("fencedHandler", guard, resource, handler);
  waitOf(waitMs);
  return async (request) => {
    try {
      const by = readHeader(request.headers.get(HEADER));
      const name = resourceOf(typeof resource === "function" ? resource(request) : resource);
      const waiting = { waitMs, signal: request.signal };
      const work = (admitted: Fenced): Promise<Outcome<Response>> => outcomeOf(() => handler(request, admitted));
      return await (guard as AnyFence).run(name, by, work, waiting).then(unwrap);
    } catch (error) {
      if (error instanceof HandlerFailed) throw error.cause;
      const { status, headers, body } = refusalOf(error, waitMs);
      return new Response(body, { status, headers });
    }
  };
}

/** A guard of any kind. The guard itself says, when it is called, whether it takes signed tokens. */
export type AnyFence = Fence<Fenced | Signed>;

/** An error inside the handler is no refusal of the guard, even if it is an error of this package. */
export class HandlerFailed extends Error {}

type Outcome<R> = { readonly value: R } | { readonly failure: HandlerFailed };

/** Told when the handler is made, and not to its first client. */
export function checkParts(call: string, guard: unknown, resource: unknown, handler: unknown): void {
  if (typeof (Object(guard) as Partial<Fence>).run !== "function")
    throw invalidConfig(call, [`${show(guard)} is not a guard: pass memoryFence() or durableFence(folder)`]);
  if (typeof resource !== "function") resourceOf(resource as string);
  if (typeof handler !== "function") throw invalidConfig(call, [`the handler ${show(handler)} is not a function`]);
}

export async function outcomeOf<R>(work: () => R | Promise<R>): Promise<Outcome<R>> {
  try {
    return { value: await work() };
  } catch (cause) {
    return { failure: new HandlerFailed("the handler failed", { cause }) };
  }
}

export function unwrap<R>(outcome: Outcome<R>): R {
  if ("failure" in outcome) throw outcome.failure;
  return outcome.value;
}

export class TokenMissing extends ConclaveError {
  constructor() {
    const message = `this request carries no token. Send the header ${HEADER}: fencingHeaders(term).`;
    super("TOKEN_MALFORMED", message);
  }
}

/** A header that was sent twice arrives joined by a comma, and is no token. The guard says whether a token must be signed, or must not. */
export function readHeader(text: string | null | undefined): Fenced | Signed {
  if (text === null || text === undefined || text === "") throw new TokenMissing();
  return looksSigned(text) ? { signed: text } : { token: parseToken(text) };
}

/** The answer to a client whose token was refused. */
export interface RefusedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A refusal of the guard as an answer; anything else is thrown on. */
export function refusalOf(error: unknown, waitMs: number): RefusedAnswer {
  if (!isConclaveError(error)) throw error;
  const status = statusOf(error);
  if (status === undefined) throw error;
  const headers = { "content-type": "application/json" };
  const retry = { "retry-after": `${Math.max(1, Math.ceil(waitMs / 1_000))}` };
  return {
    status,
    headers: status === 503 ? { ...headers, ...retry } : headers,
    body: JSON.stringify({ code: error.code, message: error.message }),
  };
}

function statusOf(error: ConclaveError): number | undefined {
  if (error.constructor === TokenMissing) return 428;
  if (error.code === "TOKEN_MALFORMED") return 400;
  if (error.code === "TOKEN_UNTRUSTED" || error.code === "TOKEN_EXPIRED") return 403;
  if (error.code === "TOKEN_STALE" || error.code === "TOKEN_FOREIGN") return 412;
  return error.code === "FENCE_BUSY" ? 503 : undefined;
}
