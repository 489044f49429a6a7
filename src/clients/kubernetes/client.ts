// A client of one API server over HTTPS, or plain HTTP where the kubeconfig says so (clients/http). It knows paths, verbs and JSON, and nothing of elections. Nothing is tried twice, except in one case: a request
// that was answered 401 was not carried out; if there is a newer credential by now, the request is sent once more with that.
//
// A server that answers 429 is left alone for as long as it asks, three seconds at most: until then requests are refused here, and do not leave. A leader's renewals are among them, so the pause must be
// short compared with a ttl.
// The client keeps the process alive only while a request waits for its answer.
import { HttpConnection } from "../http/connection.ts";
import { HttpDialer, type HttpPlace, type HttpTrust } from "../http/dial.ts";
import { HttpError } from "../http/errors.ts";
import type { HttpReply } from "../http/exchange.ts";
import { HttpPool } from "../http/pool.ts";
import { headerLines, type RequestText, requestText } from "../http/request-text.ts";
import type { StopSignal } from "../stop-signal.ts";
import type { Access, ShownCredential } from "./access.ts";
import { connectionError, errorOfStatus, KubernetesError } from "./errors.ts";
import { EventStream, type WatchEars } from "./event-stream.ts";

const LONGEST_PAUSE_MS = 3_000;
const LIMITS = {
  connections: 16,
  // A list of a thousand Leases that are full of memos has 200 MB. No cluster has that, and there must be some limit.
  bodyBytes: 256 * 1024 * 1024,
  idleMs: 30_000,
  answerMs: 30_000,
};
/** By this name the server also notes who has written a field. */
export const USER_AGENT = "conclave";

export interface ApiAnswer {
  readonly status: number;
  readonly json: unknown;
}

export interface Query {
  readonly [key: string]: string;
}

export class KubernetesClient {
  readonly access: Access;
  readonly #place: HttpPlace;
  /** As requests name the server. */
  readonly #host: string;
  /** The path of the server's URL, without a slash at its end. */
  readonly #prefix: string;
  #pool: HttpPool | undefined;
  /** The headers of all requests with this credential. */
  #headers: { readonly authorization: string | undefined; readonly lines: string } | undefined;
  readonly #streams = new Set<EventStream>();
  #isPausing = false;

  constructor(access: Access) {
    this.access = access;
    const { protocol, host, hostname, port, pathname } = new URL(access.server);
    const isSecure = protocol !== "http:";
    this.#place = {
      isSecure,
      host: hostname.replace(/^\[|\]$/g, ""),
      port: port === "" ? (isSecure ? 443 : 80) : Number(port),
      servername: access.servername,
      skipsVerification: access.skipsVerification,
    };
    this.#host = host;
    this.#prefix = pathname.replace(/\/$/, "");
  }

  /** Rejects with a KubernetesError. */
  async send(method: string, path: string, body: unknown, signal: StopSignal): Promise<ApiAnswer> {
    if (this.#isPausing)
      throw new KubernetesError("busy", "not-applied", `${this.access.server} has asked for a pause (429)`);
    const given = this.#credential(undefined, signal);
    const shown = given instanceof Promise ? await given : given;
    try {
      return await this.#exchange(method, path, body, shown, signal);
    } catch (error) {
      if (!(error instanceof KubernetesError) || error.problem !== "unknown-user") throw error;
      const newer = await this.#credential(shown, signal);
      if (isSame(newer, shown)) throw error;
      return await this.#exchange(method, path, body, newer, signal);
    }
  }

  /** A program that provides it may take half a minute: a caller that gives up waits no longer, and nothing has left. */
  #credential(refused: ShownCredential | undefined, signal: StopSignal): ShownCredential | Promise<ShownCredential> {
    const credential = this.access.credentials.get(refused);
    if (!(credential instanceof Promise)) return credential;
    return new Promise((resolve, reject) => {
      const giveUp = (): void => reject(unsent(signal));
      if (signal.aborted) giveUp();
      signal.addEventListener("abort", giveUp, { once: true });
      credential.then(resolve, reject).finally(() => signal.removeEventListener("abort", giveUp));
    });
  }

  /** Passes on the events of `path` until one side ends the stream, or nothing was heard for `silenceMs`. Returns a function that ends it. */
  watch(path: string, query: Query, silenceMs: number, ears: WatchEars): () => void {
    const over = (error: unknown): void => {
      this.#streams.delete(stream);
      ears.over(error);
    };
    const errors = {
      of: (error: HttpError) => this.#errorOf(error),
      ofStatus: (status: number) => this.#unwatched(status),
    };
    const stream = new EventStream(silenceMs, { ...ears, over }, errors);
    this.#streams.add(stream);
    this.#open(`${path}?${new URLSearchParams(query).toString()}`, stream).catch((error: unknown) =>
      stream.end(error instanceof HttpError ? this.#errorOf(error) : error),
    );
    return () => stream.end(undefined);
  }

  close(): void {
    for (const stream of this.#streams) stream.end(undefined);
    this.#pool?.close();
    this.#pool = undefined;
  }

  async #open(path: string, stream: EventStream): Promise<void> {
    const shown = await this.access.credentials.get();
    const { dialer } = this.#poolFor(shown);
    const request = this.#requestOf("GET", path, shown);
    stream.follow((owner) => new HttpConnection(dialer, LIMITS.idleMs, owner), request);
  }

  #unwatched(status: number): KubernetesError {
    const error = errorOfStatus(status, this.access.server, "a watch");
    return error ?? new KubernetesError("other", "not-applied", `a watch was answered ${status}`);
  }

  async #exchange(
    method: string,
    path: string,
    body: unknown,
    shown: ShownCredential,
    signal: StopSignal,
  ): Promise<ApiAnswer> {
    if (signal.aborted) throw unsent(signal);
    const text = body === undefined ? undefined : JSON.stringify(body);
    const pool = this.#poolFor(shown);
    try {
      return this.#answerOf(await pool.ask(this.#requestOf(method, path, shown, text), signal));
    } catch (error) {
      throw error instanceof HttpError ? this.#errorOf(error) : error;
    }
  }

  /** What went wrong before there was an answer. */
  #errorOf(error: HttpError): KubernetesError {
    const { server } = this.access;
    switch (error.problem) {
      case "unconnected":
        return connectionError(server, error.cause);
      case "unsent":
        return new KubernetesError("other", "not-applied", error.message, error);
      case "unsendable":
        // Paths and the other headers are our own. A token or a password is what somebody has written.
        return new KubernetesError("unknown-user", "not-applied", `${server} cannot be asked: ${error.message}`, error);
      case "malformed":
        return new KubernetesError("other", "unknown", `${server} gave no answer of HTTP/1.1: ${error.message}`, error);
      case "unanswered":
        return new KubernetesError("other", "unknown", error.message, error.cause);
    }
  }

  /** Throws a KubernetesError if the answer is an error for every request. */
  #answerOf({ head, text }: HttpReply): ApiAnswer {
    const { status } = head;
    const json = parsed(text);
    const error = errorOfStatus(status, this.access.server, wordsOf(json, text));
    if (error?.problem === "busy") this.#pause(Number(head.retryAfter ?? "1"));
    if (error !== undefined) throw error;
    if (json === undefined)
      throw new KubernetesError(
        "foreign",
        "unknown",
        `${this.access.server} answered ${status} with something that is no JSON`,
      );
    return { status, json };
  }

  #pause(seconds: number): void {
    if (this.#isPausing || !(seconds > 0)) return;
    this.#isPausing = true;
    setTimeout(() => (this.#isPausing = false), Math.min(LONGEST_PAUSE_MS, seconds * 1000)).unref();
  }

  #requestOf(method: string, path: string, shown: ShownCredential, body?: string): RequestText {
    return requestText(method, `${this.#prefix}${path}`, this.#linesFor(shown), body);
  }

  #linesFor(shown: ShownCredential): string {
    const authorization = authorizationOf(shown);
    if (this.#headers !== undefined && this.#headers.authorization === authorization) return this.#headers.lines;
    const lines = headerLines([
      ["host", this.#host],
      ["accept", "application/json"],
      ["user-agent", USER_AGENT],
      ...(authorization === undefined ? [] : [["authorization", authorization] as const]),
    ]);
    this.#headers = { authorization, lines };
    return lines;
  }

  /** Requests with the same certificate and the same trusted authority share connections. */
  #poolFor({ cert, key }: ShownCredential): HttpPool {
    const ca = this.#place.isSecure ? this.access.ca() : undefined;
    const known = this.#pool;
    if (known !== undefined && isSameTrust(known.dialer.trust, { ca, cert, key })) return known;
    known?.retire();
    const pool = new HttpPool(new HttpDialer(this.#place, { ca, cert, key }), LIMITS);
    this.#pool = pool;
    return pool;
  }
}

function isSameTrust(a: HttpTrust, b: HttpTrust): boolean {
  return a.ca === b.ca && a.cert === b.cert && a.key === b.key;
}

function authorizationOf({ token, password }: ShownCredential): string | undefined {
  if (token !== undefined) return `Bearer ${token}`;
  if (password === undefined) return undefined;
  return `Basic ${Buffer.from(`${password.name}:${password.word}`).toString("base64")}`;
}

function unsent(signal: StopSignal): KubernetesError {
  return new KubernetesError("other", "not-applied", "given up before it was sent", signal.reason);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The server's message, if it sent one as a Status; otherwise the beginning of the text that it sent. */
function wordsOf(json: unknown, text: string): string {
  const { message } = (json ?? {}) as { readonly message?: unknown };
  return typeof message === "string" && message !== "" ? message : text.slice(0, 120).trim();
}

function isSame(a: ShownCredential, b: ShownCredential): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
