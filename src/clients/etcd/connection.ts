// One connection to one etcd server: gRPC over HTTP/2. It counts as open when the server has sent its first frame of HTTP/2; a call that fails before that definitely never left. Nothing is tried
// twice here.
//
// A caller that gives up a call without an answer makes the connection suspect. A suspect connection gets no further calls. It is asked by a ping, and closed if the ping is not answered either, so that
// its streams end now and not when the kernel gives up, which takes minutes. While a stream is open, a ping every ten seconds finds a silent server too. etcd allows a ping every five seconds.
// A connection keeps the process alive only while a call waits for its answer.
import type { Socket } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { Http2Connection } from "../http2/connection.ts";
import { CODE } from "../http2/errors.ts";
import { type Fields, writeFields } from "../http2/fields.ts";
import type { Http2Stream, StreamEnd } from "../http2/stream.ts";
import type { StopSignal } from "../stop-signal.ts";
import { type Endpoint, nameOf, type TlsSettings } from "../url-parts.ts";
import { EtcdError, errorOfStatus, unreadable } from "./errors.ts";
import { EtcdFrames } from "./frames.ts";
import { connectionError } from "./reasons.ts";

const PING_EVERY_MS = 10_000;
const PONG_WITHIN_MS = 3_000;
/** This limit holds whatever the caller's own patience is. */
const ANSWER_WITHIN_MS = 30_000;
/** A value may have 1.5 MB; with windows of 64 KiB it would take a dozen round trips. */
const WINDOW = 4 * 1024 * 1024;

/** How much is read from the socket at once. */
const PIECE_BYTES = 64 * 1024;

/** The reason to abort a call with when its answer is merely no longer wanted: that says nothing about the connection. */
export const NOT_WANTED: Error = new Error("no longer wanted");

export type Metadata = Readonly<Record<string, string>>;

export interface Stream {
  send(message: Buffer): void;
  /** Ends the stream from this side. */
  cancel(): void;
}

export class EtcdConnection {
  readonly endpoint: Endpoint;
  readonly #http: Http2Connection;
  readonly #isSecure: boolean;
  /** The headers of a request by its path, with this metadata. */
  readonly #heads = new Map<string, Buffer>();
  #headsOf: Metadata | undefined;
  #pinger: NodeJS.Timeout | undefined;
  #unaryCalls = 0;
  #streams = 0;
  #isSuspect = false;

  /** `whenGreeted`: the server has sent its settings. `whenClosed` is called once. */
  private constructor(
    endpoint: Endpoint,
    socket: Socket,
    isSecure: boolean,
    whenGreeted: () => void,
    whenClosed: (connection: EtcdConnection, cause: unknown) => void,
  ) {
    this.endpoint = endpoint;
    this.#isSecure = isSecure;
    this.#http = new Http2Connection(socket, WINDOW, {
      greeted: whenGreeted,
      goesAway: () => this.suspect(),
      closed: (cause) => {
        clearInterval(this.#pinger);
        whenClosed(this, cause);
      },
    });
  }

  /** Rejects with an EtcdError, `not-applied`, that says what is wrong at this endpoint. */
  static async open(
    endpoint: Endpoint,
    tls: TlsSettings | undefined,
    signal: AbortSignal,
    whenClosed: (connection: EtcdConnection) => void,
  ): Promise<EtcdConnection> {
    const socket = openSocket(endpoint, tls);
    // An error that nobody listens to would end the process.
    socket.on("error", () => {});
    try {
      await connected(socket, tls !== undefined, signal);
      const connection = await EtcdConnection.#greet(endpoint, socket, tls !== undefined, signal, whenClosed);
      connection.#http.unref();
      return connection;
    } catch (cause) {
      socket.destroy();
      throw connectionError(endpoint, tls, cause);
    }
  }

  /** Resolves when the server has sent its settings: then it speaks HTTP/2, and over TLS it has accepted our certificate. */
  static #greet(
    endpoint: Endpoint,
    socket: Socket,
    isSecure: boolean,
    signal: AbortSignal,
    whenClosed: (connection: EtcdConnection) => void,
  ): Promise<EtcdConnection> {
    return new Promise((resolve, reject) => {
      // Either may have happened since the socket was connected, and will not be told again.
      signal.throwIfAborted();
      if (socket.destroyed) throw socket.errored ?? new Error("closed");
      const giveUp = (): void => reject(asError(signal.reason));
      signal.addEventListener("abort", giveUp, { once: true });
      const settled = (): void => signal.removeEventListener("abort", giveUp);
      const greeted = (): void => {
        settled();
        resolve(connection);
      };
      const closed = (of: EtcdConnection, cause: unknown): void => {
        settled();
        reject(asError(cause ?? new Error("closed")));
        whenClosed(of);
      };
      const connection = new EtcdConnection(endpoint, socket, isSecure, greeted, closed);
    });
  }

  /** The connection may be given further calls. */
  get isFit(): boolean {
    return !this.#isSuspect && this.#http.isFit;
  }

  /** Sends one message and returns the one that comes back. It also serves for a method that streams, where one exchange is all that is wanted. */
  unary(path: string, body: Buffer, metadata: Metadata, signal: StopSignal): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      if (!this.isFit || signal.aborted)
        return reject(new EtcdError("unreachable", "not-applied", "given up before it was sent", signal.reason));
      let answer: Buffer | undefined;
      const giveUp = (): void => {
        stream.cancel();
        if (signal.reason !== NOT_WANTED) this.suspect();
      };
      const timer = setTimeout(giveUp, ANSWER_WITHIN_MS);
      const whenOver = (error: EtcdError | undefined): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", giveUp);
        this.#changeUnaryCalls(-1);
        if (error !== undefined) reject(error);
        else if (answer === undefined) reject(new EtcdError("other", "unknown", "an answer without a message"));
        else resolve(answer);
      };
      this.#changeUnaryCalls(1);
      signal.addEventListener("abort", giveUp, { once: true });
      const stream = this.#begin(path, metadata, frame(body), (message) => (answer ??= message), whenOver);
      return undefined;
    });
  }

  /** Messages go in both directions until one side ends the stream. `whenOver` is called once. */
  stream(
    path: string,
    metadata: Metadata,
    hear: (message: Buffer) => void,
    whenOver: (error: EtcdError | undefined) => void,
  ): Stream {
    const stream = this.#begin(path, metadata, undefined, hear, whenOver);
    return { send: (message) => stream.write(frame(message)), cancel: () => stream.cancel() };
  }

  /** The connection gets no further calls; a ping finds out whether the server is still there. */
  suspect(): void {
    if (this.#isSuspect) return;
    this.#isSuspect = true;
    this.#ping();
    if (this.#streams === 0) this.close();
  }

  /** Lets the calls that are under way end, and takes no further ones. */
  close(): void {
    this.#http.close();
  }

  destroy(): void {
    this.#http.destroy();
  }

  #begin(
    path: string,
    metadata: Metadata,
    body: Buffer | undefined,
    hear: (message: Buffer) => void,
    whenOver: (error: EtcdError | undefined) => void,
  ): Http2Stream {
    // Values of a message are parts of it, and are kept; the bytes that are heard are only lent.
    const frames = new EtcdFrames((message) => hear(Buffer.from(message)));
    let status: { readonly code: number; readonly message: string } | undefined;
    let broken: EtcdError | undefined;
    this.#changeStreams(1);
    const stream = this.#http.request(this.#headOf(path, metadata), body, {
      hearFields(fields) {
        status = statusIn(fields);
      },
      // An error thrown here would end the connection with all that others wait for, and this stream alone is broken.
      hearData(bytes) {
        // A status counts only at the end of an answer.
        status = undefined;
        if (broken !== undefined) return;
        try {
          frames.push(bytes);
        } catch (error) {
          broken = unreadable(error);
          stream.cancel();
        }
      },
      hearEnd: (end) => {
        this.#changeStreams(-1);
        if (broken !== undefined) whenOver(broken);
        else if (end !== "whole" || status === undefined) whenOver(lost(end));
        else whenOver(status.code === 0 ? undefined : errorOfStatus(status.code, status.message));
      },
    });
    return stream;
  }

  #headOf(path: string, metadata: Metadata): Buffer {
    if (this.#headsOf !== metadata) this.#heads.clear();
    this.#headsOf = metadata;
    const known = this.#heads.get(path);
    if (known !== undefined) return known;
    const head = writeFields([
      [":method", "POST"],
      [":scheme", this.#isSecure ? "https" : "http"],
      [":path", path],
      [":authority", nameOf(this.endpoint)],
      ["content-type", "application/grpc"],
      ["te", "trailers"],
      ...Object.entries(metadata),
    ]);
    this.#heads.set(path, head);
    return head;
  }

  #changeUnaryCalls(by: 1 | -1): void {
    this.#unaryCalls += by;
    if (this.#unaryCalls === 0) this.#http.unref();
    else if (this.#unaryCalls === 1 && by === 1) this.#http.ref();
  }

  #changeStreams(by: 1 | -1): void {
    this.#streams += by;
    if (this.#streams > 0) this.#pinger ??= setInterval(() => this.#ping(), PING_EVERY_MS).unref();
    else {
      clearInterval(this.#pinger);
      this.#pinger = undefined;
      if (this.#isSuspect) this.close();
    }
  }

  #ping(): void {
    const timer = setTimeout(() => this.destroy(), PONG_WITHIN_MS).unref();
    this.#http.ping(() => clearTimeout(timer));
  }
}

function statusIn(fields: Fields): { readonly code: number; readonly message: string } | undefined {
  const code = fields.get("grpc-status");
  if (code === undefined) return undefined;
  // What is no number would be read as 0 if it were empty, and 0 says that all went well.
  return { code: /^\d+$/.test(code) ? Number(code) : Number.NaN, message: textOf(fields.get("grpc-message") ?? "") };
}

/** All that comes is read into one buffer, which saves a stream and a buffer for each answer. What is heard has to be copied before it is kept. */
function openSocket({ host, port }: Endpoint, tls: TlsSettings | undefined): Socket {
  const buffer = Buffer.allocUnsafeSlow(PIECE_BYTES);
  const callback = (bytes: number): boolean => {
    socket.emit("data", buffer.subarray(0, bytes));
    return true;
  };
  const where = { host, port, onread: { buffer, callback } };
  const socket =
    tls === undefined
      ? process.getBuiltinModule("node:net").connect(where)
      : process.getBuiltinModule("node:tls").connect({ ...where, ...secured(host, tls) });
  socket.setNoDelay(true);
  return tls === undefined ? socket.setKeepAlive(true) : socket;
}

function secured(host: string, { ca, cert, key, ...tls }: TlsSettings): ConnectionOptions {
  const servername = tls.servername ?? (/^[\d.]+$|:/.test(host) ? undefined : host);
  return {
    ALPNProtocols: ["h2"],
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(servername === undefined ? {} : { servername }),
  };
}

function connected(socket: Socket, isSecure: boolean, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const settle = (error: unknown): void => {
      signal.removeEventListener("abort", giveUp);
      socket.off("error", settle).off("close", whenClosed);
      if (error === undefined) resolve();
      else reject(asError(error));
    };
    const giveUp = (): void => settle(signal.reason);
    const whenClosed = (): void => settle(new Error("closed"));
    signal.addEventListener("abort", giveUp, { once: true });
    socket.once("error", settle);
    socket.once("close", whenClosed);
    socket.once(isSecure ? "secureConnect" : "connect", () => settle(undefined));
  });
}

function asError(cause: unknown): Error {
  return cause instanceof Error ? cause : new Error(String(cause));
}

/** The request may have arrived, unless nothing of it was sent. */
function lost(end: StreamEnd): EtcdError {
  const outcome = end === "unsent" ? "not-applied" : "unknown";
  const why =
    typeof end === "object" && "code" in end && end.code === CODE.cancel ? "given up" : "the connection was lost";
  const cause = typeof end === "object" && "lost" in end ? end.lost : undefined;
  return new EtcdError("other", outcome, `${why} before an answer came`, cause);
}

function frame(message: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** gRPC writes messages with % escapes. */
function textOf(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}
