// A client of one API server over node:https, or node:http where the kubeconfig says so. It knows paths, verbs and JSON, and nothing of elections. Nothing is tried twice, except in one case: a request
// that was answered 401 was not carried out; if there is a newer credential by now, the request is sent once more with that.
//
// A server that answers 429 is left alone for as long as it asks, three seconds at most: until then requests are refused here, and do not leave. A leader's renewals are among them, so the pause must be
// short compared with a ttl.
// The client keeps the process alive only while a request waits for its answer.
import type * as NodeHttp from "node:http";
import type { Agent, ClientRequest, IncomingMessage } from "node:http";
import type { RequestOptions } from "node:https";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { StopSignal } from "../stop-signal.ts";
import type { Access, ShownCredential } from "./access.ts";
import { connectionError, errorOfStatus, KubernetesError } from "./errors.ts";
import { EventStream, type WatchEars } from "./event-stream.ts";

/** This limit holds whatever the caller's own patience is. */
const ANSWER_WITHIN_MS = 30_000;
const LONGEST_PAUSE_MS = 3_000;
const CONNECTIONS = 16;
/** A list of a thousand Leases that are full of memos has 200 MB. No cluster has that, and there must be some limit. */
const LONGEST_BODY = 256 * 1024 * 1024;
const IDLE_CONNECTION_MS = 30_000;
/** By this name the server also notes who has written a field. */
export const USER_AGENT = "conclave";

export interface ApiAnswer {
  readonly status: number;
  readonly json: unknown;
}

export interface Query {
  readonly [key: string]: string;
}

/** node:http or node:https. It is loaded with the first request, because that takes longer than loading everything else here. */
type Web = Pick<typeof NodeHttp, "Agent" | "request">;

/** The PEM texts with which a connection was made. */
type Trust = Readonly<Record<"ca" | "cert" | "key", string | undefined>>;

export class KubernetesClient {
  readonly access: Access;
  /** The parts of the server's URL. */
  readonly #place: Readonly<Record<"protocol" | "host" | "hostname" | "port" | "prefix", string>>;
  #web: Web | undefined;
  #agent: { readonly trust: Trust; readonly agent: Agent } | undefined;
  readonly #streams = new Set<EventStream>();
  #isPausing = false;

  constructor(access: Access) {
    this.access = access;
    const { protocol, host, hostname, port, pathname } = new URL(access.server);
    const prefix = pathname.replace(/\/$/, "");
    this.#place = { protocol, host, hostname: hostname.replace(/^\[|\]$/g, ""), port, prefix };
  }

  /** Rejects with a KubernetesError. */
  async send(method: string, path: string, body: unknown, signal: StopSignal): Promise<ApiAnswer> {
    if (this.#isPausing)
      throw new KubernetesError("busy", "not-applied", `${this.access.server} has asked for a pause (429)`);
    const web = this.#web ?? (await this.#load());
    const shown = await this.#credential(undefined, signal);
    try {
      return await this.#exchange(web, method, path, body, shown, signal);
    } catch (error) {
      if (!(error instanceof KubernetesError) || error.problem !== "unknown-user") throw error;
      const newer = await this.#credential(shown, signal);
      if (isSame(newer, shown)) throw error;
      return await this.#exchange(web, method, path, body, newer, signal);
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
    const stream = new EventStream(silenceMs, {
      ...ears,
      over: (error) => {
        this.#streams.delete(stream);
        ears.over(error);
      },
    });
    this.#streams.add(stream);
    this.#open(`${path}?${new URLSearchParams(query).toString()}`, stream).catch((error: unknown) => stream.end(error));
    return () => stream.end(undefined);
  }

  close(): void {
    for (const stream of this.#streams) stream.end(undefined);
    this.#agent?.agent.destroy();
    this.#agent = undefined;
  }

  async #open(path: string, stream: EventStream): Promise<void> {
    const [web, shown] = await Promise.all([this.#load(), this.access.credentials.get()]);
    const sent = web.request({ ...this.#optionsFor(web, "GET", path, shown), agent: false });
    stream.follow(sent);
    sent.on("error", (error) => stream.end(connectionError(this.access.server, error)));
    sent.on("response", (response) => {
      if (response.statusCode === 200) return stream.read(response);
      response.resume();
      const error = errorOfStatus(response.statusCode ?? 0, this.access.server, "a watch");
      return stream.end(
        error ?? new KubernetesError("other", "not-applied", `a watch was answered ${response.statusCode}`),
      );
    });
    sent.end();
  }

  async #load(): Promise<Web> {
    this.#web ??= this.#place.protocol === "http:" ? await import("node:http") : await import("node:https");
    return this.#web;
  }

  #exchange(
    web: Web,
    method: string,
    path: string,
    body: unknown,
    shown: ShownCredential,
    signal: StopSignal,
  ): Promise<ApiAnswer> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const options = this.#optionsFor(web, method, path, shown, text);
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(unsent(signal));
      const sent = web.request(options);
      const hasLeft = noteLeaving(sent);
      const giveUp = (): void => {
        sent.destroy(new Error("given up before an answer came"));
        this.#suspect();
      };
      const timer = setTimeout(giveUp, ANSWER_WITHIN_MS);
      signal.addEventListener("abort", giveUp, { once: true });
      const settle = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", giveUp);
      };
      const fail = (error: Error): void => {
        settle();
        reject(error);
      };
      const read = (response: IncomingMessage, said: string): void => {
        settle();
        try {
          resolve(this.#answerOf(response, said));
        } catch (error) {
          fail(error as Error);
        }
      };
      sent.on("error", (error) => fail(hasLeft() ? lost(error) : connectionError(this.access.server, error)));
      sent.on("response", (response) => readBody(response, read, fail));
      sent.end(text);
      return undefined;
    });
  }

  /** Throws a KubernetesError if the answer is an error for every request. */
  #answerOf(response: IncomingMessage, said: string): ApiAnswer {
    const status = response.statusCode ?? 0;
    const json = parsed(said);
    const error = errorOfStatus(status, this.access.server, wordsOf(json, said));
    if (error?.problem === "busy") this.#pause(Number(response.headers["retry-after"] ?? "1"));
    if (error !== undefined) throw error;
    if (json === undefined)
      throw new KubernetesError(
        "foreign",
        "unknown",
        `${this.access.server} answered ${status} with something that is no JSON`,
      );
    return { status, json };
  }

  /** A connection gave no answer. The idle ones may be just as dead, and no byte would say so, so they are closed. The next request makes a new connection. */
  #suspect(): void {
    for (const sockets of Object.values(this.#agent?.agent.freeSockets ?? {}))
      for (const socket of sockets ?? []) socket.destroy();
  }

  #pause(seconds: number): void {
    if (this.#isPausing || !(seconds > 0)) return;
    this.#isPausing = true;
    setTimeout(() => (this.#isPausing = false), Math.min(LONGEST_PAUSE_MS, seconds * 1000)).unref();
  }

  #optionsFor(web: Web, method: string, path: string, shown: ShownCredential, body?: string): RequestOptions {
    const { servername, skipsVerification } = this.access;
    const { protocol, host, hostname, port, prefix } = this.#place;
    const { cert, key } = shown;
    // As a list, names and values in turns: Node writes it as it is, and keeps no copy for questions that nobody asks.
    const headers = ["host", host, "accept", "application/json", "user-agent", USER_AGENT];
    const authorization = authorizationOf(shown);
    if (authorization !== undefined) headers.push("authorization", authorization);
    if (body !== undefined)
      headers.push("content-type", "application/json", "content-length", `${Buffer.byteLength(body)}`);
    const ca = protocol === "http:" ? undefined : this.access.ca();
    const agent = this.#agentFor(web, { ca, cert, key });
    const plain = { method, protocol, hostname, port, path: `${prefix}${path}`, agent, headers };
    if (protocol === "http:") return plain;
    return {
      ...plain,
      rejectUnauthorized: !skipsVerification,
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined || key === undefined ? {} : { cert, key }),
      ...(servername === undefined ? {} : { servername }),
    };
  }

  /** Requests with the same certificate and the same trusted authority share connections. */
  #agentFor(web: Web, trust: Trust): Agent {
    const known = this.#agent;
    if (known !== undefined && isSameTrust(known.trust, trust)) return known.agent;
    known?.agent.destroy();
    const settings = {
      keepAlive: true,
      maxSockets: CONNECTIONS,
      timeout: IDLE_CONNECTION_MS,
      scheduling: "lifo" as const,
    };
    const agent = new web.Agent(settings);
    this.#agent = { trust, agent };
    return agent;
  }
}

function isSameTrust(a: Trust, b: Trust): boolean {
  return a.ca === b.ca && a.cert === b.cert && a.key === b.key;
}

function authorizationOf({ token, password }: ShownCredential): string | undefined {
  if (token !== undefined) return `Bearer ${token}`;
  if (password === undefined) return undefined;
  return `Basic ${Buffer.from(`${password.name}:${password.word}`).toString("base64")}`;
}

/** Tells whether the request can have reached the server: it has a connection that is established. */
function noteLeaving(sent: ClientRequest): () => boolean {
  let hasLeft = false;
  sent.on("socket", (socket) => {
    const { connecting, secureConnecting } = socket as Socket & Partial<TLSSocket> & { secureConnecting?: boolean };
    // `reusedSocket` does not tell this: Node does not set it for a request that has waited for a connection of the pool.
    if (connecting || secureConnecting === true)
      socket.once("encrypted" in socket ? "secureConnect" : "connect", () => (hasLeft = true));
    else hasLeft = true;
  });
  return () => hasLeft;
}

function unsent(signal: StopSignal): KubernetesError {
  return new KubernetesError("other", "not-applied", "given up before it was sent", signal.reason);
}

function lost(cause: Error): KubernetesError {
  return new KubernetesError("other", "unknown", "the connection was lost, or given up, before an answer came", cause);
}

/** Calls one of the two, once the answer is whole or is cut off. */
function readBody(
  response: IncomingMessage,
  read: (response: IncomingMessage, said: string) => void,
  fail: (error: Error) => void,
): void {
  const parts: Buffer[] = [];
  let length = 0;
  response.on("data", (part: Buffer) => {
    parts.push(part);
    length += part.length;
    if (length > LONGEST_BODY) response.destroy(new Error("the answer has no end"));
  });
  response.on("end", () => {
    read(response, (parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)).toString());
  });
  response.on("error", (error) => fail(lost(error)));
  // "close" also comes after a whole answer. An error made then would be for nobody, and its stack trace costs more than reading the answer.
  response.on("close", () => void (response.readableEnded || fail(lost(new Error("closed")))));
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
