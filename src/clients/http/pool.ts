// The connections to one server, each with one request at a time, and the requests that wait for one. Nothing is tried twice: a request is written once, to one connection, or not at all. A kept connection
// that the server has closed is not used, as soon as that is known here.
import { Queue } from "../../base/queue.ts";
import type { StopSignal } from "../stop-signal.ts";
import { type ConnectionOwner, HttpConnection } from "./connection.ts";
import type { HttpDialer } from "./dial.ts";
import { HttpError } from "./errors.ts";
import { HttpExchange, type ExchangeLimits, type HttpReply } from "./exchange.ts";
import type { RequestText } from "./request-text.ts";

export interface PoolLimits extends ExchangeLimits {
  /** More requests at once wait for one of these. */
  readonly connections: number;
  /** A connection without a request is ended after this. */
  readonly idleMs: number;
}

export class HttpPool implements ConnectionOwner {
  readonly dialer: HttpDialer;
  readonly #limits: PoolLimits;
  readonly #all = new Set<HttpConnection>();
  /** The last one that was used is used next, so that those that are not needed become idle. */
  readonly #free: HttpConnection[] = [];
  /** Those that were given up meanwhile are passed over when their turn comes. */
  readonly #waiting = new Queue<HttpExchange>();
  #isRetired = false;

  constructor(dialer: HttpDialer, limits: PoolLimits) {
    this.dialer = dialer;
    this.#limits = limits;
  }

  /** Rejects with an HttpError. */
  ask(request: RequestText, signal: StopSignal): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      const gaveUp = (): void => this.#endFree();
      const exchange = new HttpExchange(request, this.#limits, signal, { resolve, reject, gaveUp });
      const connection = this.#free.pop();
      if (connection !== undefined) {
        connection.hold();
        exchange.begin(connection);
      } else if (this.#all.size < this.#limits.connections) this.#dial(exchange);
      else this.#waiting.add(exchange);
    });
  }

  /** Ends what no request uses, now and later. Requests go on until they have their answers. */
  retire(): void {
    this.#isRetired = true;
    this.#endFree();
  }

  /** Ends everything. */
  close(): void {
    this.#isRetired = true;
    for (let exchange = this.#nextWaiting(); exchange !== undefined; exchange = this.#nextWaiting())
      exchange.failed(new HttpError("unsent", "the client was closed before it was sent"));
    for (const connection of this.#all) connection.end(new Error("the client was closed"));
  }

  free(connection: HttpConnection): void {
    const next = this.#nextWaiting();
    if (next !== undefined) next.begin(connection);
    else if (this.#isRetired) connection.end(new Error("not needed"));
    else {
      connection.letGo();
      this.#free.push(connection);
    }
  }

  gone(connection: HttpConnection): void {
    this.#all.delete(connection);
    const at = this.#free.lastIndexOf(connection);
    if (at >= 0) this.#free.splice(at, 1);
    // One that cannot even be tried leaves its place to the next.
    for (let next = this.#nextToDial(); next !== undefined; next = this.#nextToDial()) this.#dial(next);
  }

  #nextToDial(): HttpExchange | undefined {
    return this.#all.size < this.#limits.connections ? this.#nextWaiting() : undefined;
  }

  #dial(exchange: HttpExchange): void {
    try {
      const connection = new HttpConnection(this.dialer, this.#limits.idleMs, this);
      this.#all.add(connection);
      exchange.begin(connection);
    } catch (error) {
      exchange.failed(error as HttpError);
    }
  }

  #nextWaiting(): HttpExchange | undefined {
    let next = this.#waiting.take();
    while (next?.isOver === true) next = this.#waiting.take();
    return next;
  }

  /** A connection gave no answer. The idle ones may be just as dead, and no byte would say so, so they are ended. The next request makes a new connection. */
  #endFree(): void {
    for (const connection of this.#free.splice(0)) connection.end(new Error("not needed"));
  }
}
