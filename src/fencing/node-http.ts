// fencedListener: a request listener of node:http behind a guard. http.ts has the answers and the header.
//
// The listener returns a promise that settles when its work has ended; until then the request is in progress, also after its connection has closed. A listener that
// returns no promise cannot be waited for: such a request is answered with 500 and stays in progress, so that no newer request ever runs beside it.
import type { IncomingMessage, ServerResponse } from "node:http";
import { ConclaveError } from "../base/errors.ts";
import { harmless, textOfError } from "../base/harmless.ts";
import {
  checkParts,
  type AnyFence,
  HEADER,
  HandlerFailed,
  type HttpFenceOptions,
  outcomeOf,
  readHeader,
  refusalOf,
  unwrap,
  WAIT_MS,
} from "./http.ts";
import { resourceOf, waitOf } from "./input.ts";
import type { Fence } from "./memory.ts";
import type { Fenced, Signed } from "./token.ts";

/** Options of `fencedListener`. */
export interface ListenerOptions extends HttpFenceOptions {
  /** Is called with the error that a listener rejected with; the client gets 500. @default a warning of the process */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** The same for `node:http`: answers a request whose token was admitted. */
export type FencedListener = (request: IncomingMessage, response: ServerResponse, by: Fenced) => Promise<void>;

/** A request listener of `node:http` behind a guard: it runs only for requests whose token is admitted. */
export function fencedListener(
  guard: Fence | Fence<Signed>,
  resource: string | ((request: IncomingMessage) => string),
  listener: FencedListener,
  options?: ListenerOptions,
): (request: IncomingMessage, response: ServerResponse) => void {
  const { waitMs = WAIT_MS, onError = warn } = options ?? {};
  checkParts("fencedListener", guard, resource, listener);
  waitOf(waitMs);
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const gone = goneSignal(response);
    try {
      const by = readHeader(header(request));
      const name = resourceOf(typeof resource === "function" ? resource(request) : resource);
      const work = (admitted: Fenced): Promise<void> => settling(listener(request, response, admitted), response);
      const run = (admitted: Fenced): ReturnType<typeof outcomeOf<void>> => outcomeOf(() => work(admitted));
      await (guard as AnyFence).run(name, by, run, { waitMs, signal: gone }).then(unwrap);
    } catch (error) {
      answer(error, response, waitMs, gone, onError);
    }
  };
  return (request, response) => void serve(request, response);
}

/** Node joins headers that were sent twice, except for a few headers of its own. */
function header(request: IncomingMessage): string | undefined {
  const value = request.headers[HEADER];
  return Array.isArray(value) ? value.join(", ") : value;
}

/** Aborts when the client goes away. This matters only while the request waits to begin. */
function goneSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once("close", () => controller.abort());
  return controller.signal;
}

function settling(running: Promise<void>, response: ServerResponse): Promise<void> {
  if (typeof (running as Promise<void> | undefined)?.then === "function") return running;
  const message =
    "fencedListener: the listener returned no promise, so nobody can know when its work ends. Make it async, and await the work in it.";
  const error = new ConclaveError("CONFIG_INVALID", message);
  if (!response.headersSent) sendJson(response, 500, {}, JSON.stringify({ code: error.code, message }));
  warn(error);
  return new Promise(() => {});
}

function answer(
  error: unknown,
  response: ServerResponse,
  waitMs: number,
  gone: AbortSignal,
  onError: (error: unknown) => void,
): void {
  if (gone.aborted && error === gone.reason) return;
  try {
    const { status, headers, body } = refusalOf(error, waitMs);
    sendJson(response, status, headers, body);
  } catch {
    const failure: unknown = error instanceof HandlerFailed ? error.cause : error;
    harmless(
      () => onError(failure),
      (_how, own) => warn(own),
    );
    if (response.headersSent) response.destroy();
    else sendJson(response, 500, {}, JSON.stringify({ code: "INTERNAL", message: "the listener failed" }));
  }
}

function sendJson(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : textOfError(error));
}
