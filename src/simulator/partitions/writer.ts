// Writes memos of one key in one term, as the lease machine does: one at a time, in the order of the calls. Without an answer the same write is sent
// again, with the same n. All writes that wait are written.
import type { MemoAnswer, ModelMemoWrite } from "../kernel/memo.ts";

export interface Asks {
  ask<A>(atStore: () => A, onAnswer: (answer: A) => void, onTimeout?: () => void): void;
}

export class Writer<V> {
  readonly #token: number;
  readonly #send: (write: ModelMemoWrite<V>) => MemoAnswer;
  readonly #asker: Asks;
  readonly #whenLost: () => unknown;
  readonly #waiting: { readonly value: V; readonly whenWritten: (() => void) | undefined }[] = [];
  over: number | undefined;
  #n = 0;
  #isBusy = false;

  constructor(token: number, send: (write: ModelMemoWrite<V>) => MemoAnswer, asker: Asks, whenLost: () => unknown) {
    this.#token = token;
    this.#send = send;
    this.#asker = asker;
    this.#whenLost = whenLost;
  }

  write(value: V, then?: () => void): void {
    this.#waiting.push({ value, whenWritten: then });
    if (!this.#isBusy) this.#next();
  }

  #next(): void {
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#isBusy = true;
    this.#n++;
    this.#try({ token: this.#token, n: this.#n, over: this.over, value: next.value }, next.whenWritten);
  }

  #try(write: ModelMemoWrite<V>, then: (() => void) | undefined): void {
    this.#asker.ask(
      () => this.#send(write),
      (answer) => {
        if (answer.is !== "written") return void this.#whenLost();
        this.over = answer.version;
        this.#isBusy = false;
        then?.();
        if (!this.#isBusy) this.#next();
      },
      () => this.#try(write, then),
    );
  }
}
