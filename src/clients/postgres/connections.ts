// Our own few connections of `pg`, for a store that was opened by its URL. A request goes to a connection that is idle, else to a new one, else it waits its turn.
//
// pg's Pool is not used: it hides its clients, so that one which went dead can neither be found nor cut off, and its listeners, timers and result objects cost a lock as much as the network does. A
// request is a query of our own kind (pg calls it a Submittable, as cursors are): our functions answer one text.
//
// On a connection that leads to the server itself, a call is prepared when it comes a second time, so that the server need not parse it anew each time. A pooler in between would hand the next message to
// another server, on which nothing was prepared. So each connection first asks which server process it speaks with, and compares that with the process that signed us in. A pooler makes that number up.
//
// Once a second, while there is a connection, all of them are looked at: one that owes an answer for too long is cut off, and one that has been idle for long is closed. So no request needs a timer of
// its own. Neither that look nor an idle connection keeps a process alive.
import { callText } from "./call-text.ts";
import { CONNECTIONS, END_WITHIN_MS } from "./database.ts";

/** A statement, or the call of a function with its arguments as they are written in a statement. */
export type QueryText = { readonly text: string } | { readonly call: string; readonly args: readonly string[] };

/** The part of a Client of pg that is used. */
export interface OwnClient {
  /** The process id of the server, as it said when we signed in. */
  readonly processID?: number | null;
  connect(done: (error?: Error | null) => void): void;
  query(request: PgRequest): unknown;
  end(): Promise<unknown>;
  on(event: "error" | "end", listener: () => void): unknown;
  readonly connection?: { readonly stream?: { destroy(): void; ref(): void; unref(): void } };
}

const LOOK_EVERY_MS = 1_000;
const IDLE_LOOKS = 30;

export class Connections<C extends OwnClient> {
  readonly #make: () => C;
  /** All clients that were made and have not ended, including those that listen. */
  readonly #clients = new Set<C>();
  readonly #connections = new Set<Connection>();
  readonly #idle: Connection[] = [];
  readonly #waiting: PgRequest[] = [];
  #connecting = 0;
  #looking: NodeJS.Timeout | undefined;
  #allEnded = (): void => {};
  /** This is true until a server does not know a statement that was prepared on its connection, or knows it from before: then there is a pooler in between that passes the server's number on. */
  mayPrepare = true;

  constructor(make: () => C) {
    this.#make = make;
  }

  /** Resolves to the first column of the last row, as text. Rejects if no answer came within `patienceMs` and a second or two: then the request may have been carried out. */
  ask(asked: QueryText, patienceMs: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const request = new PgRequest(this, asked, patienceMs, resolve, reject);
      const connection = this.#idle.pop();
      if (connection !== undefined) return send(connection, request);
      this.#waiting.push(request);
      if (this.#connecting < this.#waiting.length && this.#connections.size < CONNECTIONS) this.#connect();
    });
  }

  /** Returns a client that is not connected yet, and that belongs to the caller. It is recorded here, so that it can be cut off when all connections end. */
  client(): C {
    const client = this.#make();
    this.#clients.add(client);
    client.on("end", () => this.#forget(client));
    return client;
  }

  #forget(client: C): void {
    this.#clients.delete(client);
    if (this.#clients.size === 0) this.#allEnded();
  }

  /** If connecting cannot even be tried (a URL that makes no sense, a certificate that is not there), the waiting requests fail at once. */
  #connect(): void {
    let client: C | undefined;
    try {
      client = this.client();
      this.#signIn(client);
    } catch (error) {
      for (const request of this.#waiting.splice(0)) request.handleError(error as Error);
      if (client === undefined) return;
      cutOff(client);
      this.#forget(client);
    }
  }

  #signIn(client: C): void {
    const connection: Connection = { client, prepared: undefined, request: undefined, idleLooks: 0 };
    client.on("error", () => {
      this.#drop(connection);
      cutOff(client); // whatever the error was: nothing is asked on this connection any more
    });
    client.on("end", () => this.#drop(connection));
    client.connect((error) => {
      this.#connecting--;
      if (!error) return this.#serve(connection);
      const refused = this.#waiting.shift();
      this.#drop(connection);
      leave(client); // pg leaves the connection open where it could not sign in
      refused?.handleError(error);
    });
    this.#connections.add(connection);
    this.#connecting++;
    this.#looking ??= setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  /** Serves the call that has waited longest, if any waits. */
  #serve(connection: Connection): void {
    const next = this.#waiting.shift();
    if (next !== undefined) return send(connection, next);
    connection.idleLooks = 0;
    connection.client.connection?.stream?.unref();
    this.#idle.push(connection);
  }

  /** A request was answered. After an error nothing more is asked on that connection: the error may be the last message that came from it. */
  free(connection: Connection, failed: boolean): void {
    connection.request = undefined;
    if (!failed && this.#connections.has(connection)) return this.#serve(connection);
    this.#drop(connection);
    leave(connection.client);
  }

  #drop(connection: Connection): void {
    if (!this.#connections.delete(connection)) return;
    const index = this.#idle.indexOf(connection);
    if (index >= 0) this.#idle.splice(index, 1);
    if (this.#connections.size === 0) this.#rest();
    // Without a new connection, nothing would ever serve a call that waits.
    if (this.#connecting < this.#waiting.length) this.#connect();
  }

  #rest(): void {
    clearInterval(this.#looking);
    this.#looking = undefined;
  }

  #look(): void {
    for (const connection of this.#connections) {
      const { request, client } = connection;
      if (request !== undefined && --request.looksLeft < 0) cutOff(client);
      if (request === undefined && this.#idle.includes(connection) && ++connection.idleLooks > IDLE_LOOKS) {
        this.#drop(connection);
        leave(client);
      }
    }
    const overdue = this.#waiting.filter((request) => --request.looksLeft < 0);
    for (const request of overdue) {
      this.#waiting.splice(this.#waiting.indexOf(request), 1);
      request.handleError(new Error("timeout exceeded when trying to connect")); // the same words as pg's Pool
    }
  }

  /** A caller has waited in vain: the idle connections may be just as dead. They would be tried one by one, and each try would cost the time limit of a request. */
  doubt(): void {
    for (const connection of this.#idle.splice(0)) {
      this.#drop(connection);
      cutOff(connection.client);
    }
  }

  /** Waits for the requests that are under way, but not for long: on a connection that went dead without a word that takes long, and nobody waits for the answer any more. */
  async end(): Promise<void> {
    this.#rest();
    const busy = new Set<OwnClient>();
    for (const { request, client } of this.#connections) if (request !== undefined) busy.add(client);
    this.#connections.clear();
    this.#idle.length = 0;
    for (const request of this.#waiting.splice(0)) request.handleError(new Error("Client was closed"));
    if (this.#clients.size === 0) return;
    let timer: NodeJS.Timeout | undefined;
    const ended = new Promise<void>((resolve) => {
      this.#allEnded = resolve;
      timer = setTimeout(() => {
        for (const client of this.#clients) cutOff(client);
        resolve();
      }, END_WITHIN_MS);
    });
    for (const client of this.#clients) if (!busy.has(client)) leave(client);
    await ended;
    clearTimeout(timer);
  }
}

interface Connection {
  readonly client: OwnClient;
  /** The functions whose calls are prepared; undefined while it is not known that this connection leads to the server itself. */
  prepared: Set<string> | undefined;
  request: PgRequest | undefined;
  /** The number of looks that found it idle. */
  idleLooks: number;
}

function send(connection: Connection, request: PgRequest): void {
  connection.request = request;
  request.connection = connection;
  connection.client.connection?.stream?.ref();
  connection.client.query(request);
}

/** If a request is under way on the connection, pg cuts it off. */
function leave(client: OwnClient): void {
  client.end().catch(() => {}); // the connection is gone already, and with it what was to be ended
}

/** Also works where the server has not answered yet: there `end` would only say goodbye, and wait. A Pool gives such a connection up in the same way. */
function cutOff(client: OwnClient): void {
  client.connection?.stream?.destroy();
}

function textFor(asked: QueryText, { prepared }: Connection): string {
  if ("text" in asked) return asked.text;
  const { call, args } = asked;
  if (prepared === undefined) return callText(call, args, ", pg_backend_pid()");
  const execute = `EXECUTE "${call}"(${args.join(", ")})`;
  if (prepared.has(call)) return execute;
  prepared.add(call);
  const places = args.map((_, index) => `$${index + 1}`);
  return `PREPARE "${call}" AS ${callText(call, places)}; ${execute}`;
}

/** The part of pg's connection through which a request is sent. */
interface Wire {
  query(text: string): void;
}

/** 26000: the statement was never prepared here; 42P05: it was prepared before. */
const ELSEWHERE = /^(?:26000|42P05)$/;

/** One text that is sent once, and its answer; with the methods that pg calls. */
class PgRequest {
  /** The connection on which it is asked, while it is. */
  connection: Connection | undefined;
  /** Called when the request is over. pg puts another function in its place to stop a timer (query_timeout in a URL), and tracers do so to end a span. */
  callback: (error?: Error) => void = () => {};
  /** The number of looks for which it may still go without an answer. */
  looksLeft: number;
  readonly #connections: Host;
  readonly #asked: QueryText;
  readonly #resolve: (answer: unknown) => void;
  readonly #reject: (error: Error) => void;
  #isSent = false;
  #answer: unknown;

  constructor(
    connections: Host,
    asked: QueryText,
    patienceMs: number,
    resolve: (answer: unknown) => void,
    reject: (error: Error) => void,
  ) {
    this.#connections = connections;
    this.#asked = asked;
    this.looksLeft = Math.ceil(patienceMs / LOOK_EVERY_MS);
    this.#resolve = resolve;
    this.#reject = reject;
  }

  submit(wire: Wire): void {
    if (this.connection === undefined) return;
    this.#isSent = true;
    wire.query(textFor(this.#asked, this.connection));
  }

  handleRowDescription(): void {}

  handleDataRow(row: { readonly fields: readonly unknown[] }): void {
    const [answer, processId] = row.fields;
    this.#answer = answer;
    const { connection } = this;
    if (processId === undefined || connection?.client.processID !== Number(processId)) return;
    if (this.#connections.mayPrepare) connection.prepared ??= new Set();
  }

  handleCommandComplete(): void {}

  handleEmptyQuery(): void {}

  handlePortalSuspended(): void {}

  handleReadyForQuery(): void {
    this.#over(undefined);
    this.#resolve(this.#answer);
  }

  /** The error may be of the server, of the client, or of the socket, and may come again when the request is over. A request that was sent and not answered by the server may have been carried out. */
  handleError(error: Error): void {
    const isOfServer = "severity" in error;
    if (isOfServer && ELSEWHERE.test(String((error as { code?: unknown }).code))) this.#connections.mayPrepare = false;
    this.#over(error);
    this.#reject(
      this.#isSent && !isOfServer ? new Error(`broke off under way: ${error.message}`, { cause: error }) : error,
    );
  }

  #over(error: Error | undefined): void {
    const { connection } = this;
    this.connection = undefined;
    if (connection !== undefined) this.#connections.free(connection, error !== undefined);
    this.callback(error);
  }
}

/** The part of Connections that a request uses. */
type Host = Pick<Connections<OwnClient>, "free" | "mayPrepare">;
