// A server that answers what a test tells it, byte for byte, over plain TCP or TLS. It reads requests only as far as it has to know where one ends.
import { createServer, type AddressInfo, type Socket } from "node:net";
import { createServer as createSecureServer, type TlsOptions } from "node:tls";
import { expect } from "vitest";
import { HttpDialer, type HttpPlace, type HttpTrust } from "../../../src/clients/http/dial.ts";
import type { HttpError } from "../../../src/clients/http/errors.ts";
import type { HttpReply } from "../../../src/clients/http/exchange.ts";
import { HttpPool, type PoolLimits } from "../../../src/clients/http/pool.ts";
import { headerLines, requestText } from "../../../src/clients/http/request-text.ts";

export interface Heard {
  /** Head and body. */
  readonly text: string;
  /** The first connection is 1. */
  readonly connection: number;
  readonly socket: Socket;
}

export interface Puppet {
  readonly port: number;
  readonly heard: Heard[];
  readonly sockets: Socket[];
  /** Waits until so many requests were heard in all. */
  hasHeard(count: number): Promise<void>;
  /** Waits until this connection is closed. */
  hasClosed(index: number): Promise<void>;
  stop(): Promise<void>;
}

/** `answer` is called for each whole request. */
export async function puppet(answer: (heard: Heard) => void, tls?: TlsOptions): Promise<Puppet> {
  const heard: Heard[] = [];
  const sockets: Socket[] = [];
  const waiting: { readonly count: number; readonly tell: () => void }[] = [];
  const hear = (socket: Socket): void => {
    const connection = sockets.push(socket);
    let rest = "";
    socket.on("error", () => {});
    socket.on("data", (bytes: Buffer) => {
      rest += bytes.toString("latin1");
      for (let text = whole(rest); text !== undefined; text = whole(rest)) {
        rest = rest.slice(text.length);
        const one = { text, connection, socket };
        heard.push(one);
        for (const { count, tell } of waiting) if (heard.length >= count) tell();
        answer(one);
      }
    });
  };
  const server = tls === undefined ? createServer(hear) : createSecureServer(tls, hear);
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    heard,
    sockets,
    hasHeard: (count) =>
      soon(`${count} requests`, (resolve) => {
        if (heard.length >= count) resolve();
        else waiting.push({ count, tell: resolve });
      }),
    hasClosed: (index) =>
      soon(`the end of connection ${index + 1}`, (resolve) => {
        if (sockets[index]?.closed === true) resolve();
        else sockets[index]?.once("close", () => resolve());
      }),
    stop: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** What does not come is a failure, and no test that hangs. */
async function soon(what: string, wait: (resolve: () => void) => void): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const came = await Promise.race([
    new Promise<string>((resolve) => wait(() => resolve(what))),
    new Promise<string>((resolve) => (timer = setTimeout(() => resolve("nothing"), PATIENCE_MS))),
  ]);
  clearTimeout(timer);
  expect(came).toBe(what);
}

/** The first request in the text, if it is whole. */
function whole(text: string): string | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const length = Number(/content-length: (\d+)/.exec(text.slice(0, end))?.[1] ?? "0");
  return text.length < end + 4 + length ? undefined : text.slice(0, end + 4 + length);
}

export function answerOf(body: string, headers = ""): string {
  return `HTTP/1.1 200 OK\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** On a busy machine, too. */
const PATIENCE_MS = 5_000;
const LIMITS: PoolLimits = { connections: 2, bodyBytes: 1_000_000, idleMs: 30_000, answerMs: PATIENCE_MS };
const NO_TRUST: HttpTrust = { ca: undefined, cert: undefined, key: undefined };

/** A client of a puppet. */
export class Client {
  readonly pool: HttpPool;

  constructor(port: number, limits: Partial<PoolLimits> = {}, place: Partial<HttpPlace> = {}, trust = NO_TRUST) {
    const whole = { isSecure: false, host: "127.0.0.1", port, skipsVerification: false, ...place };
    this.pool = new HttpPool(new HttpDialer(whole, trust), { ...LIMITS, ...limits });
  }

  ask(path = "/", body?: string, signal: AbortSignal = new AbortController().signal): Promise<HttpReply> {
    return this.pool.ask(
      requestText(body === undefined ? "GET" : "PUT", path, headerLines([["host", "x"]]), body),
      signal,
    );
  }

  async text(path = "/", body?: string): Promise<string> {
    const ended = await this.#ended(path, body);
    expect(ended).not.toBeInstanceOf(Error);
    return (ended as HttpReply).text;
  }

  /** The error of a request that must fail. */
  async problem(path = "/", body?: string, signal?: AbortSignal): Promise<HttpError> {
    const ended = await this.#ended(path, body, signal);
    expect(ended).toBeInstanceOf(Error);
    return ended as HttpError;
  }

  async #ended(path: string, body?: string, signal?: AbortSignal): Promise<HttpReply | HttpError> {
    return await this.ask(path, body, signal).catch((error: unknown) => error as HttpError);
  }
}
