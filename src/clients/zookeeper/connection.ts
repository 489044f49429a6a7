// One connection to one server of ZooKeeper, for one session. It is open when the server has accepted the session. Requests are sent in the same turn of the event loop and answered in their order; nothing is tried twice here.
//
// Since answers come in order, a request that its caller gives up without an answer stands before all later ones. So the connection is then closed, the requests that are under way on it have an unknown
// outcome, and the session may go on with the next connection. A connection keeps the process alive only while an answer is awaited.
import type { Socket } from "node:net";
import type { StopSignal } from "../stop-signal.ts";
import { type Endpoint, nameOf } from "../url-parts.ts";
import type { ZooKeeperAddress } from "./address.ts";
import { errorOfCode, CODE, ZooKeeperError } from "./errors.ts";
import { ZooKeeperFrames } from "./frames.ts";
import { JuteReader } from "./jute.ts";
import {
  authRequest,
  type Connect,
  type Connected,
  connectRequest,
  framesOf,
  type NumberedRequest,
  PING,
  readConnected,
  readEvent,
  readHead,
  type ZooKeeperRequest,
  type WatchedEvent,
  XID,
} from "./messages.ts";
import { connectionError } from "./reasons.ts";
import { startSocket } from "./socket.ts";

/** The reason of a signal that says: nobody wants the answer any more, and the connection is not to blame. */
export const NOT_WANTED: Error = new Error("not wanted any more");

const CONNECT_WITHIN_MS = 1_500;
const ACCEPT_WITHIN_MS = 4_000;
/** This limit holds whatever the caller's own patience is. */
const ANSWER_WITHIN_MS = 30_000;
const LATE = "a request was not answered in time";
/** ZooKeeper closes a connection without a word if a request is longer (jute.maxbuffer, less the bytes that it adds itself). */
const LONGEST_REQUEST = 1_000_000;
const LAST_XID = 0x7fff_ffff;

/** Reads an answer. `zxid` is the last write that the server has seen; in the answer to a write, that write. */
export type AnswerReader<A> = (reader: JuteReader, zxid: bigint) => A;

interface Pending extends NumberedRequest {
  readonly settle: (reader: JuteReader, zxid: bigint, code: number) => void;
  readonly fail: (error: ZooKeeperError) => void;
}

export class ZooKeeperConnection {
  readonly endpoint: Endpoint;
  /** Hears what the server refuses, before the caller does. */
  whenRefused: (error: ZooKeeperError) => void = () => {};
  readonly #socket: Socket;
  readonly #frames = new ZooKeeperFrames();
  readonly #pending: Pending[] = [];
  readonly #pongs: Pending[] = [];
  readonly #listeners = new Set<(event: WatchedEvent) => void>();
  readonly #enders = new Set<() => void>();
  #accept: ((connected: Connected) => void) | undefined;
  #xid = 0;
  #closedBy: ZooKeeperError | undefined;
  #lastZxid = 0n;
  #heard = 0;
  /** The requests of this turn of the event loop, which leave at its end. */
  #leaving: NumberedRequest[] = [];
  #late: NodeJS.Timeout | undefined;

  private constructor(endpoint: Endpoint, socket: Socket) {
    this.endpoint = endpoint;
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (part) => this.#read(part));
    socket.on("error", (cause) => this.#end(this.#lost(cause)));
    socket.on("close", () => this.#end(this.#lost(undefined)));
  }

  /** Connects, and asks for the session. Throws a ZooKeeperError that was certainly not applied, except that a session may have been made, which then belongs to nobody. */
  static async open(
    endpoint: Endpoint,
    { tls, user }: Pick<ZooKeeperAddress, "tls" | "user">,
    asked: Connect,
    signal: StopSignal,
  ): Promise<{ readonly connection: ZooKeeperConnection; readonly connected: Connected }> {
    const socket = await openSocket(endpoint, tls, signal);
    const connection = new ZooKeeperConnection(endpoint, socket);
    try {
      const connected = await connection.#begin(asked, signal);
      if (connected.isReadOnly)
        throw new ZooKeeperError("unreachable", "not-applied", `${nameOf(endpoint)} has no majority, and is read-only`);
      if (connected.sessionId !== 0n && user !== undefined) connection.#authenticate(user);
      return { connection, connected };
    } catch (error) {
      connection.close();
      throw connectionError(endpoint, tls, error);
    }
  }

  get isOpen(): boolean {
    return this.#closedBy === undefined;
  }

  /** The latest write that this server has shown. */
  get lastZxid(): bigint {
    return this.#lastZxid;
  }

  /** The number of messages that the server has sent. */
  get heard(): number {
    return this.#heard;
  }

  /** Sends the request in this turn of the event loop. Rejects with a ZooKeeperError, also if the server refuses it. */
  ask<A>(request: ZooKeeperRequest, read: AnswerReader<A>, signal: StopSignal): Promise<A> {
    if (request.body.length > LONGEST_REQUEST) return Promise.reject(tooLarge(request));
    return this.#send(request, read, signal, this.#nextXid(), this.#pending);
  }

  /** This server alone answers a ping, so the answer proves nothing about the others. */
  async ping(signal: StopSignal): Promise<void> {
    await this.#send(PING, () => undefined, signal, XID.ping, this.#pongs);
  }

  /** Returns a function that stops listening. `end`: nothing more will be heard. */
  listen(hear: (event: WatchedEvent) => void, end: () => void): () => void {
    if (this.#closedBy !== undefined) {
      end();
      return () => {};
    }
    this.#listeners.add(hear);
    this.#enders.add(end);
    return () => {
      this.#listeners.delete(hear);
      this.#enders.delete(end);
    };
  }

  /** The requests that are under way have an unknown outcome. */
  close(why = "the connection was closed here"): void {
    this.#end(new ZooKeeperError("unreachable", "unknown", `${nameOf(this.endpoint)}: ${why}`));
  }

  #send<A>(
    request: ZooKeeperRequest,
    read: AnswerReader<A>,
    signal: StopSignal,
    xid: number,
    queue: Pending[],
  ): Promise<A> {
    if (this.#closedBy !== undefined) return Promise.reject(notSent(this.#closedBy));
    if (signal.aborted) return Promise.reject(givenUp(this.endpoint, "not-applied", signal.reason));
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        if (signal.reason !== NOT_WANTED) this.close(LATE);
        over();
        reject(givenUp(this.endpoint, "unknown", signal.reason));
      };
      const over = (): void => signal.removeEventListener("abort", leave);
      signal.addEventListener("abort", leave, { once: true });
      const pending: Pending = {
        xid,
        request,
        fail: (error) => {
          over();
          reject(error);
        },
        settle: (reader, zxid, code) => {
          over();
          if (code === CODE.ok) return resolve(read(reader, zxid));
          const refused = errorOfCode(code, request.path);
          this.whenRefused(refused);
          return reject(refused);
        },
      };
      queue.push(pending);
      this.#socket.ref();
      this.#late ??= this.#closeIfLate(pending);
      this.#write(pending);
    });
  }

  /**
   * Closes the connection if this request is the first that waits, a while later. One timer serves all requests: those that are sent meanwhile are looked at when it fires. The socket keeps the process
   * alive while an answer is awaited, and the timer does not.
   */
  #closeIfLate(first: Pending): NodeJS.Timeout {
    const look = (): void => {
      this.#late = undefined;
      const next = this.#pending[0] ?? this.#pongs[0];
      if (next === first) this.close(LATE);
      else if (next !== undefined) this.#late = this.#closeIfLate(next);
    };
    return setTimeout(look, ANSWER_WITHIN_MS).unref();
  }

  /** The requests of one turn of the event loop leave in one write: each write is a call of the operating system, which takes longer than making the request. */
  #write(request: NumberedRequest): void {
    this.#leaving.push(request);
    if (this.#leaving.length > 1) return;
    process.nextTick(() => {
      const leaving = this.#leaving;
      this.#leaving = [];
      this.#socket.write(framesOf(leaving));
    });
  }

  #nextXid(): number {
    this.#xid = this.#xid === LAST_XID ? 1 : this.#xid + 1;
    return this.#xid;
  }

  #begin(asked: Connect, signal: StopSignal): Promise<Connected> {
    return new Promise((resolve, reject) => {
      const stop = this.listen(
        () => {},
        () => fail(this.#closedBy?.cause instanceof Error ? this.#closedBy.cause : new Error("closed")),
      );
      const fail = (error: Error): void => {
        over();
        reject(error);
      };
      const leave = (): void => fail(givenUp(this.endpoint, "not-applied", signal.reason));
      const late = setTimeout(
        () => fail(new ZooKeeperError("unreachable", "not-applied", `${nameOf(this.endpoint)} gives no session`)),
        ACCEPT_WITHIN_MS,
      );
      const over = (): void => {
        clearTimeout(late);
        stop();
        signal.removeEventListener("abort", leave);
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#accept = (connected) => {
        over();
        this.#unrefIfIdle();
        resolve(connected);
      };
      const body = connectRequest(asked);
      const head = Buffer.allocUnsafe(4);
      head.writeInt32BE(body.length);
      this.#socket.write(Buffer.concat([head, body]));
    });
  }

  /** The server judges the requests that follow by it; a wrong password closes the connection. */
  #authenticate({ name, password }: { readonly name: string; readonly password: string }): void {
    this.#write({ xid: XID.auth, request: authRequest(name, password) });
  }

  #read(part: Buffer): void {
    try {
      for (const frame of this.#frames.add(part)) if (this.#closedBy === undefined) this.#hear(frame);
    } catch (error) {
      this.#end(error instanceof ZooKeeperError ? error : this.#lost(error));
    }
  }

  #hear(frame: Buffer): void {
    this.#heard++;
    if (this.#accept !== undefined) {
      const accept = this.#accept;
      const connected = readConnected(frame);
      this.#accept = undefined;
      return accept(connected);
    }
    const reader = new JuteReader(frame);
    const { xid, zxid, code } = readHead(reader);
    if (zxid > this.#lastZxid) this.#lastZxid = zxid;
    if (xid === XID.event) return this.#tell(readEvent(reader));
    if (xid === XID.auth) return code === CODE.ok ? undefined : this.#end(errorOfCode(CODE.authFailed, "auth"));
    const queue = xid === XID.ping ? this.#pongs : this.#pending;
    const [pending] = queue;
    if (pending === undefined || pending.xid !== xid)
      throw new ZooKeeperError("malformed", "unknown", `${nameOf(this.endpoint)} answers what was not asked`);
    queue.shift();
    this.#settle(pending, reader, zxid, code);
    this.#unrefIfIdle();
    return undefined;
  }

  /** An answer that cannot be read leaves its request, and all that follow, without an answer. */
  #settle(pending: Pending, reader: JuteReader, zxid: bigint, code: number): void {
    try {
      pending.settle(reader, zxid, code);
    } catch (error) {
      const malformed = error instanceof ZooKeeperError ? error : this.#lost(error);
      pending.fail(malformed);
      throw malformed;
    }
  }

  #tell(event: WatchedEvent): void {
    for (const hear of this.#listeners) hear(event);
  }

  #unrefIfIdle(): void {
    if (this.#pending.length === 0 && this.#pongs.length === 0) this.#socket.unref();
  }

  #lost(cause: unknown): ZooKeeperError {
    return new ZooKeeperError("unreachable", "unknown", `${nameOf(this.endpoint)} closed the connection`, cause);
  }

  #end(error: ZooKeeperError): void {
    if (this.#closedBy !== undefined) return;
    this.#closedBy = error;
    clearTimeout(this.#late);
    this.#socket.destroy();
    for (const { fail } of [...this.#pending.splice(0), ...this.#pongs.splice(0)]) fail(error);
    const enders = [...this.#enders];
    this.#enders.clear();
    this.#listeners.clear();
    for (const end of enders) end();
  }
}

function openSocket(endpoint: Endpoint, tls: ZooKeeperAddress["tls"], signal: StopSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = startSocket(endpoint, tls);
    const fail = (error: unknown): void => {
      over();
      socket.on("error", () => {});
      socket.destroy();
      reject(connectionError(endpoint, tls, error));
    };
    const leave = (): void => fail(givenUp(endpoint, "not-applied", signal.reason));
    const closed = (): void => fail(new Error("closed"));
    const late = setTimeout(() => fail(Object.assign(new Error("late"), { code: "ETIMEDOUT" })), CONNECT_WITHIN_MS);
    const over = (): void => {
      clearTimeout(late);
      signal.removeEventListener("abort", leave);
      socket.removeListener("error", fail);
      socket.removeListener("close", closed);
    };
    if (signal.aborted) return leave();
    signal.addEventListener("abort", leave, { once: true });
    socket.once("error", fail);
    socket.once("close", closed);
    socket.once(tls === undefined ? "connect" : "secureConnect", () => {
      over();
      resolve(socket);
    });
    return undefined;
  });
}

function tooLarge({ path, body }: ZooKeeperRequest): ZooKeeperError {
  const message = `${path}: a request of ${body.length} bytes, and ZooKeeper takes ${LONGEST_REQUEST} at most`;
  return new ZooKeeperError("too-large", "not-applied", message);
}

function notSent({ problem, message, cause }: ZooKeeperError): ZooKeeperError {
  return new ZooKeeperError(problem, "not-applied", message, cause);
}

function givenUp(endpoint: Endpoint, outcome: "not-applied" | "unknown", cause: unknown): ZooKeeperError {
  return new ZooKeeperError("unreachable", outcome, `${nameOf(endpoint)} did not answer in time`, cause);
}
