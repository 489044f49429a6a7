// A session at ZooKeeper, and the connection that it has now. When the connection is lost, the next request opens another, at the next server, and the session goes on there, if ZooKeeper has not ended
// it. Only requests keep it going: nothing here sends anything by itself, unless it is told to (`stayAlive`). So a session whose owner has forgotten it expires.
//
// `road` names the connection: two answers of the same road came over one connection. A session that moves to another thread or process is another object there, which counts its connections from one
// again: so a road has a mark of the object, too.
import type { StopSignal } from "../stop-signal.ts";
import { type AnswerReader, NOT_WANTED, type ZooKeeperConnection } from "./connection.ts";
import { ZooKeeperError } from "./errors.ts";
import { CLOSE, type Connect, type Connected, type ZooKeeperRequest } from "./messages.ts";

export type Opener = (
  asked: Connect,
  signal: StopSignal,
) => Promise<{ readonly connection: ZooKeeperConnection; readonly connected: Connected }>;

export class ZooKeeperSession {
  readonly id: bigint;
  readonly password: Buffer;
  readonly timeoutMs: number;
  readonly #open: Opener;
  #connection: ZooKeeperConnection;
  #opening: Promise<ZooKeeperConnection> | undefined;
  #lastZxid = 0n;
  readonly #roads = new WeakMap<ZooKeeperConnection, number>();
  #count = 0;
  readonly #mark = process.getBuiltinModule("node:crypto").randomBytes(8).toString("hex");
  #isOver = false;
  #isLeft = false;
  #beating: NodeJS.Timeout | undefined;
  #beatMs = Infinity;

  private constructor(open: Opener, connection: ZooKeeperConnection, { sessionId, password, timeoutMs }: Connected) {
    this.#open = open;
    this.#connection = this.#heeding(connection);
    this.id = sessionId;
    this.password = password;
    this.timeoutMs = timeoutMs;
  }

  static async begin(open: Opener, timeoutMs: number, signal: StopSignal): Promise<ZooKeeperSession> {
    const asked = { lastZxid: 0n, timeoutMs, sessionId: 0n, password: Buffer.alloc(16) };
    const { connection, connected } = await open(asked, signal);
    if (connected.sessionId === 0n) {
      connection.close();
      throw new ZooKeeperError("unreachable", "not-applied", "ZooKeeper has refused a new session");
    }
    return new ZooKeeperSession(open, connection, connected);
  }

  /** Takes over a session from wherever it was. Undefined: the session is over, or the password is not its own. */
  static async attach(
    open: Opener,
    asked: Omit<Connect, "lastZxid">,
    signal: StopSignal,
  ): Promise<ZooKeeperSession | undefined> {
    const { connection, connected } = await open({ ...asked, lastZxid: 0n }, signal);
    if (connected.sessionId === asked.sessionId) return new ZooKeeperSession(open, connection, connected);
    connection.close();
    return undefined;
  }

  /** ZooKeeper has said that the session is over, or we have ended it. This is final. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The last connection, if it can be used now. */
  get openConnection(): ZooKeeperConnection | undefined {
    return !this.#isOver && this.#connection.isOpen ? this.#connection : undefined;
  }

  /** Returns the connection to use now: the last one if it is still open, or a new one. Throws `expired` if the session is over. */
  async connection(signal: StopSignal): Promise<ZooKeeperConnection> {
    if (this.#isOver) throw over(this.id);
    if (this.#connection.isOpen) return this.#connection;
    this.#opening ??= this.#reopen().finally(() => (this.#opening = undefined));
    return await until(this.#opening, signal);
  }

  async ask<A>(request: ZooKeeperRequest, read: AnswerReader<A>, signal: StopSignal): Promise<A> {
    return await (await this.connection(signal)).ask(request, read, signal);
  }

  road(connection: ZooKeeperConnection): string {
    const known = this.#roads.get(connection) ?? ++this.#count;
    this.#roads.set(connection, known);
    return `${this.#mark}/${known}`;
  }

  /** Ends the session at ZooKeeper, with every node that is bound to it. */
  async end(signal: StopSignal): Promise<void> {
    if (this.#isOver) return;
    try {
      await this.ask(CLOSE, () => undefined, signal);
    } catch (error) {
      if (!(error instanceof ZooKeeperError && error.problem === "expired")) throw error;
    }
    this.#end();
  }

  /**
   * Pings every third of the session's timeout, or as often as is asked for, and closes a connection over which nothing came from one ping to the next. If it is called again, the shortest interval that
   * was asked for counts.
   */
  stayAlive(everyMs: number = Infinity): void {
    const beatMs = Math.min(everyMs, this.timeoutMs / 3);
    if (beatMs >= this.#beatMs || this.#isLeft) return;
    this.#beatMs = beatMs;
    let [pinged, heard] = [this.#connection, -1];
    clearInterval(this.#beating);
    this.#beating = setInterval(() => {
      const connection = this.#connection;
      if (!connection.isOpen) return;
      if (connection === pinged && connection.heard === heard)
        return connection.close("it has been silent for too long");
      [pinged, heard] = [connection, connection.heard];
      connection.ping(new AbortController().signal).catch(() => {}); // the next beat finds that nothing was heard
      return undefined;
    }, beatMs).unref();
  }

  /** Closes the connection. The session expires by itself. */
  leave(): void {
    this.#isLeft = true;
    clearInterval(this.#beating);
    this.#connection.close();
  }

  async #reopen(): Promise<ZooKeeperConnection> {
    if (this.#connection.lastZxid > this.#lastZxid) this.#lastZxid = this.#connection.lastZxid;
    const { id: sessionId, password, timeoutMs } = this;
    const asked = { lastZxid: this.#lastZxid, timeoutMs, sessionId, password };
    const { connection, connected } = await this.#open(asked, new AbortController().signal);
    // A server with a smaller maxSessionTimeout than the others has told the leader of the ensemble to end the session after that. Whoever counts on the time that was granted must not go on.
    if (connected.sessionId !== sessionId || connected.timeoutMs < timeoutMs) {
      connection.close();
      this.#end();
      throw over(sessionId);
    }
    this.#connection = this.#heeding(connection);
    if (this.#isLeft) this.leave();
    return connection;
  }

  /** The session heeds what a refusal says of it. */
  #heeding(connection: ZooKeeperConnection): ZooKeeperConnection {
    connection.whenRefused = ({ problem }) => {
      if (problem === "expired") this.#end();
      if (problem === "moved") connection.close("the session has moved");
    };
    return connection;
  }

  #end(): void {
    this.#isOver = true;
    this.leave();
  }
}

function over(id: bigint): ZooKeeperError {
  return new ZooKeeperError("expired", "not-applied", `session ${id.toString(16)} is over`);
}

/** One opening serves all callers that wait. A caller that cannot wait any longer leaves, and nothing was sent for it. */
function until(opening: Promise<ZooKeeperConnection>, signal: StopSignal): Promise<ZooKeeperConnection> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      const why = signal.reason === NOT_WANTED ? "not wanted any more" : "no connection in time";
      reject(new ZooKeeperError("unreachable", "not-applied", why, signal.reason));
    };
    if (signal.aborted) leave();
    signal.addEventListener("abort", leave, { once: true });
    opening.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}
