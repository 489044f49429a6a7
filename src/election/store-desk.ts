// The renewal thread's end of a store whose sessions belong to one connection (bound-store.ts). It carries out at the thread's store what the main loop asks for, and
// sends back what the store answers. It decides nothing, and extends nothing by itself: a request is carried out because the main loop has made it.
import { inspect } from "node:util";
import type { MessagePort } from "node:worker_threads";
import { unknown } from "../base/outcome.ts";
import type { Answer } from "../lease/state.ts";
import { LazyCall } from "../stores/call.ts";
import type { Store } from "../stores/contract.ts";
import { invoke } from "./ask.ts";
import type { FromDesk, ToDesk } from "./bound-store.ts";

/** From now on, requests that arrive at `port` go to `store`. */
export function serveAt(port: MessagePort, store: Store): void {
  const desk = new StoreDesk(store, port);
  port.on("message", (said: ToDesk) => desk.hear(said));
}

class StoreDesk {
  readonly #store: Store;
  readonly #port: MessagePort;
  readonly #calls = new Map<number, LazyCall>();

  constructor(store: Store, port: MessagePort) {
    this.#store = store;
    this.#port = port;
  }

  hear(said: ToDesk): void {
    if (said.word === "drop") return this.#drop(said.id);
    const call = new LazyCall(said.sentAtMs);
    this.#calls.set(said.id, call);
    void (said.word === "ask" ? this.#ask(said, call) : this.#watch(said, call));
  }

  async #ask({ id, request }: Extract<ToDesk, { word: "ask" }>, call: LazyCall): Promise<void> {
    const answer = await invoke(this.#store, request, call).catch((error: unknown) => unknown(error));
    if (this.#calls.delete(id)) this.#send({ word: "answer", id, answer: plain(answer) });
  }

  async #watch({ id, questions }: Extract<ToDesk, { word: "watch" }>, call: LazyCall): Promise<void> {
    try {
      for await (const hint of this.#store.watch(questions, call)) this.#send({ word: "hint", id, hint });
    } catch {
      // A broken watch only means that hints are missing, here as everywhere, and its reader begins anew.
    }
    if (this.#calls.delete(id)) this.#send({ word: "end", id });
  }

  #drop(id: number): void {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    call?.abandon();
  }

  #send(said: FromDesk): void {
    this.#port.postMessage(said);
  }
}

/** A cause may be anything, and only plain values can be sent. */
export function plain<A extends Answer>(answer: A): A {
  if (answer.kind === "claimed") return { ...answer, claimed: answer.claimed.map(withPlainCause) };
  return withPlainCause(answer);
}

function withPlainCause<A extends { readonly kind: string }>(answer: A): A {
  if (!("cause" in answer) || answer.cause === undefined) return answer;
  return { ...answer, cause: new Error(inspect(answer.cause)) };
}
