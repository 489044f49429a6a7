// A client of pg for tests: it connects, answers and breaks when it is told to.
import type { OwnClient } from "../../../src/clients/postgres/connections.ts";

export class Puppet implements OwnClient {
  readonly processID = 7;
  readonly #listeners = { error: [] as (() => void)[], end: [] as (() => void)[] };
  readonly said: string[] = [];
  request: Parameters<OwnClient["query"]>[0] | undefined;
  isRef = true;
  isCutOff = false;
  hasLeft = false;
  connected: (error?: Error | null) => void = () => {};
  readonly connection = {
    stream: {
      destroy: (): void => this.cutOff(),
      ref: (): void => void (this.isRef = true),
      unref: (): void => void (this.isRef = false),
    },
  };

  connect(done: (error?: Error | null) => void): void {
    this.connected = done;
  }

  query(request: Parameters<OwnClient["query"]>[0]): void {
    this.request = request;
    request.submit({ query: (text) => this.said.push(text) });
  }

  answer(...fields: unknown[]): void {
    this.request?.handleDataRow({ fields });
    this.request?.handleReadyForQuery();
  }

  /** As pg does it: the listeners hear of it first, and what was asked fails in the next tick. */
  cutOff(): void {
    if (this.isCutOff) return;
    this.isCutOff = true;
    this.emit("error");
    this.emit("end");
    this.request?.handleError(new Error("Connection terminated unexpectedly"));
  }

  emit(event: "error" | "end"): void {
    for (const listener of this.#listeners[event]) listener();
  }

  end(): Promise<void> {
    this.hasLeft = true;
    return new Promise(() => {});
  }

  on(event: "error" | "end", listener: () => void): void {
    this.#listeners[event].push(listener);
  }
}
