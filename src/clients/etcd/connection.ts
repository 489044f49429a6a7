// One connection to one etcd server: gRPC over node:http2. It counts as open when the server has sent its first frame of HTTP/2; a call that fails before that definitely never left. Nothing is tried
// twice here.
//
// A caller that gives up a call without an answer makes the connection suspect. A suspect connection gets no further calls. It is asked by a ping, and closed if the ping is not answered either, so that
// its streams end now and not when the kernel gives up, which takes minutes. While a stream is open, a ping every ten seconds finds a silent server too. etcd allows a ping every five seconds.
// A connection keeps the process alive only while a call waits for its answer.
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectSecure } from "node:tls";
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
  readonly #session: ClientHttp2Session;
  readonly #whenClosed: (connection: EtcdConnection) => void;
  #pinger: NodeJS.Timeout | undefined;
  #unaryCalls = 0;
  #streams = 0;
  #isSuspect = false;

  private constructor(
    endpoint: Endpoint,
    session: ClientHttp2Session,
    whenClosed: (connection: EtcdConnection) => void,
  ) {
    this.endpoint = endpoint;
    this.#session = session;
    this.#whenClosed = whenClosed;
    session.unref();
    session.on("close", () => this.#closed());
    session.on("goaway", () => this.suspect());
  }

  /** Rejects with an EtcdError, `not-applied`, that says what is wrong at this endpoint. */
  static async open(
    endpoint: Endpoint,
    tls: TlsSettings | undefined,
    signal: AbortSignal,
    whenClosed: (connection: EtcdConnection) => void,
  ): Promise<EtcdConnection> {
    const socket = openSocket(endpoint, tls);
    try {
      return new EtcdConnection(endpoint, await greet(socket, endpoint, tls !== undefined, signal), whenClosed);
    } catch (cause) {
      socket.destroy();
      throw connectionError(endpoint, tls, cause);
    }
  }

  /** The connection may be given further calls. */
  get isFit(): boolean {
    return !this.#isSuspect && !this.#session.closed && !this.#session.destroyed;
  }

  /** Sends one message and returns the one that comes back. It also serves for a method that streams, where one exchange is all that is wanted. */
  unary(path: string, body: Buffer, metadata: Metadata, signal: StopSignal): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      if (!this.isFit || signal.aborted)
        return reject(new EtcdError("unreachable", "not-applied", "given up before it was sent", signal.reason));
      let answer: Buffer | undefined;
      let isSettled = false;
      const giveUp = (): void => {
        stream.close(constants.NGHTTP2_CANCEL);
        if (signal.reason !== NOT_WANTED) this.suspect();
      };
      const timer = setTimeout(giveUp, ANSWER_WITHIN_MS);
      const settle = (error: EtcdError | undefined): void => {
        if (isSettled) return;
        isSettled = true;
        signal.removeEventListener("abort", giveUp);
        this.#changeUnaryCalls(-1);
        if (error !== undefined) reject(error);
        else if (answer === undefined) reject(new EtcdError("other", "unknown", "an answer without a message"));
        else resolve(answer);
      };
      // The message and a status that says that all went well are both there. Nothing that the stream still does can change them, so the caller need not wait for its end.
      const whenWell = (): void => {
        if (answer !== undefined) settle(undefined);
      };
      const whenOver = (error: EtcdError | undefined): void => {
        clearTimeout(timer);
        settle(error);
      };
      const stream = this.#begin(path, metadata, (message) => (answer ??= message), whenOver, whenWell);
      this.#changeUnaryCalls(1);
      signal.addEventListener("abort", giveUp, { once: true });
      stream.end(frame(body));
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
    const stream = this.#begin(path, metadata, hear, whenOver);
    /** Messages that are sent in one turn of the event loop go out together. */
    let isGathering = false;
    const send = (message: Buffer): void => {
      if (!stream.writable) return;
      if (!isGathering) {
        isGathering = true;
        stream.cork();
        queueMicrotask(() => {
          isGathering = false;
          stream.uncork();
        });
      }
      stream.write(frame(message));
    };
    return { send, cancel: () => stream.close(constants.NGHTTP2_CANCEL) };
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
    if (!this.#session.closed && !this.#session.destroyed) this.#session.close();
  }

  destroy(): void {
    this.#session.destroy();
  }

  #begin(
    path: string,
    metadata: Metadata,
    hear: (message: Buffer) => void,
    whenOver: (error: EtcdError | undefined) => void,
    whenWell?: () => void,
  ): ClientHttp2Stream {
    const stream = this.#session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      ...metadata,
    });
    this.#changeStreams(1);
    const frames = new EtcdFrames(hear);
    let status: { readonly code: number; readonly message: string } | undefined;
    let cause: unknown;
    let broken: EtcdError | undefined;
    const read = (headers: Readonly<Record<string, unknown>>): void => {
      if (headers["grpc-status"] !== undefined)
        status = { code: Number(headers["grpc-status"]), message: textOf(headers["grpc-message"]) };
    };
    stream.on("response", (headers) => read(headers));
    // Trailers are the last that a server sends in a stream, so every message before them has been heard. A stream whose bytes could not be read was closed here; Node then tells of no trailers, and this does not rely on it.
    stream.on("trailers", (headers) => {
      read(headers);
      if (status?.code === 0 && broken === undefined) whenWell?.();
    });
    // An error thrown here would end the process, and nothing that a server sends may do that.
    const hearChunk = (chunk: Buffer): void => {
      try {
        frames.push(chunk);
      } catch (error) {
        stream.off("data", hearChunk).resume();
        broken = unreadable(error);
        stream.close(constants.NGHTTP2_PROTOCOL_ERROR);
      }
    };
    stream.on("data", hearChunk);
    stream.on("error", (error) => (cause = error));
    stream.on("close", () => {
      this.#changeStreams(-1);
      if (broken !== undefined) whenOver(broken);
      else if (status?.code === 0) whenOver(undefined);
      else if (status !== undefined) whenOver(errorOfStatus(status.code, status.message));
      else whenOver(lost(stream.rstCode ?? 0, cause));
    });
    return stream;
  }

  #changeUnaryCalls(by: 1 | -1): void {
    this.#unaryCalls += by;
    if (this.#session.destroyed) return;
    if (this.#unaryCalls === 0) this.#session.unref();
    else if (this.#unaryCalls === 1 && by === 1) this.#session.ref();
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
    if (this.#session.closed || this.#session.destroyed) return;
    const timer = setTimeout(() => this.destroy(), PONG_WITHIN_MS).unref();
    this.#session.ping(() => clearTimeout(timer));
  }

  #closed(): void {
    clearInterval(this.#pinger);
    this.#whenClosed(this);
  }
}

function openSocket({ host, port }: Endpoint, tls: TlsSettings | undefined): Socket {
  if (tls === undefined) return connectPlain({ host, port, noDelay: true, keepAlive: true });
  const servername = tls.servername ?? (/^[\d.]+$|:/.test(host) ? undefined : host);
  const { ca, cert, key } = tls;
  return connectSecure({
    host,
    port,
    ALPNProtocols: ["h2"],
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(servername === undefined ? {} : { servername }),
  }).setNoDelay(true);
}

/** Resolves when the server has sent its settings: then it speaks HTTP/2, and over TLS it has accepted our certificate. */
function greet(
  socket: Socket,
  endpoint: Endpoint,
  isSecure: boolean,
  signal: AbortSignal,
): Promise<ClientHttp2Session> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    let session: ClientHttp2Session | undefined;
    const fail = (error: unknown): void => {
      signal.removeEventListener("abort", giveUp);
      session?.destroy();
      reject(error instanceof Error ? error : new Error(String(error)));
    };
    const giveUp = (): void => fail(signal.reason);
    signal.addEventListener("abort", giveUp, { once: true });
    socket.once("error", fail);
    socket.once("close", () => fail(new Error("closed")));
    socket.once(isSecure ? "secureConnect" : "connect", () => {
      const authority = `${isSecure ? "https" : "http"}://${nameOf(endpoint)}`;
      session = connect(authority, { createConnection: () => socket, settings: { initialWindowSize: WINDOW } });
      const greeted = session;
      greeted.on("error", fail);
      greeted.once("remoteSettings", () => {
        signal.removeEventListener("abort", giveUp);
        greeted.setLocalWindowSize(WINDOW);
        resolve(greeted);
      });
    });
  });
}

/** The request may have arrived, unless the server says that it did not look at it. */
function lost(code: number, cause: unknown): EtcdError {
  const outcome = code === constants.NGHTTP2_REFUSED_STREAM ? "not-applied" : "unknown";
  const why = code === constants.NGHTTP2_CANCEL ? "given up" : "the connection was lost";
  return new EtcdError("other", outcome, `${why} before an answer came`, cause);
}

function frame(message: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** gRPC writes messages with % escapes. */
function textOf(message: unknown): string {
  if (typeof message !== "string") return "";
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}
