// A store whose sessions belong to one connection (`previous-send`), used together with a renewal thread. The session can have only one connection, and that connection is
// the thread's. So the thread opens the session, and it also carries out every request of the machine, over a port of its own (store-desk.ts). This file is the end of the
// main loop: the runner sees it as a store.
//
// Why two cannot lead. A renewal proves the one before it only if both came by the same connection (lease/session.ts). Requests and renewals go over the thread's one
//   connection, and an answer says by which connection it came, wherever it was received. So the machine and the deputy judge pairs as they do without a thread.
// When the thread is lost, the requests that it was asked for have an unknown outcome, and from then on the store of the main loop is used. That store takes the session
//   over by its id and password, by another connection: connections have names, and no two of them have the same name (clients/zookeeper/session.ts).
import type { MessagePort } from "node:worker_threads";
import { type Unknown, unknown } from "../base/outcome.ts";
import type { Guarantee } from "../lease/guarantee.ts";
import type { Answer, Request } from "../lease/state.ts";
import { whenGivenUp } from "../stores/call.ts";
import {
  type Call,
  type Claim,
  type Claimed,
  type Hint,
  keepsMemos,
  type KeepsMemos,
  type Question,
  type Store,
} from "../stores/contract.ts";
import { type Mailbox, Mailboxes } from "../stores/mailbox.ts";

/** Messages to the thread. `id` is the number of one request or watch. */
export type ToDesk =
  | { readonly word: "ask"; readonly id: number; readonly request: Request; readonly sentAtMs: number }
  | { readonly word: "watch"; readonly id: number; readonly questions: readonly Question[]; readonly sentAtMs: number }
  /** Nobody waits for this request any more. */
  | { readonly word: "drop"; readonly id: number };

/** Messages from the thread. */
export type FromDesk =
  | { readonly word: "answer"; readonly id: number; readonly answer: Answer }
  | { readonly word: "hint"; readonly id: number; readonly hint: Hint }
  | { readonly word: "end"; readonly id: number };

/** True if only one connection can act for a session of this store. */
export function isBound({ keepProves }: Guarantee): boolean {
  return keepProves === "previous-send";
}

type Settle = (answer: Answer) => void;

export class BoundStore {
  /** The store that the runner calls. Everything except requests and watches is done by the store of the main loop itself. */
  readonly store: Store;
  /** The end of the port that the thread gets. */
  readonly theirs: MessagePort;
  readonly #own: Store;
  readonly #port: MessagePort;
  readonly #asked = new Map<number, Settle>();
  readonly #watched = new Map<number, Mailbox>();
  readonly #mailboxes = new Mailboxes();
  #count = 0;
  #lostBy: Error | undefined;

  constructor(own: Store) {
    const { port1, port2 } = new (process.getBuiltinModule("node:worker_threads").MessageChannel)();
    this.#own = own;
    this.#port = port1;
    this.theirs = port2;
    port1.on("message", (said: FromDesk) => this.#hear(said));
    // This port need not keep the process alive: a request that is awaited has a timer of the runner.
    port1.unref();
    this.store = this.#face();
  }

  /** The thread is lost, for any reason. */
  lose(error: Error): void {
    if (this.#lostBy !== undefined) return;
    this.#lostBy = error;
    this.#port.close();
    for (const settle of this.#asked.values()) settle(unknown(error));
    this.#asked.clear();
    this.#mailboxes.endAll();
  }

  #face(): Store {
    const calls: Pick<Store, "keep" | "claim" | "release" | "look" | "watch"> & Partial<KeepsMemos> = {
      keep: (session, holds, call, wish) =>
        this.#ask({ method: "keep", session, holds, ...(wish === undefined ? {} : { wish }) }, call, () =>
          this.#own.keep(session, holds, call, wish),
        ),
      claim: (claims, call) => this.#claim(claims, call),
      release: (will, call) => this.#ask({ method: "release", will }, call, () => this.#own.release(will, call)),
      look: (questions, call) => this.#ask({ method: "look", questions }, call, () => this.#own.look(questions, call)),
      watch: (questions, call) => this.#watch(questions, call),
      ...(keepsMemos(this.#own) ? this.#memos(this.#own) : {}),
    };
    return new Proxy(this.#own, {
      get(own, name) {
        const found: unknown = Reflect.get(name in calls ? calls : own, name);
        return typeof found === "function" && !(name in calls) ? (found.bind(own) as unknown) : found;
      },
    });
  }

  #memos(own: KeepsMemos): KeepsMemos {
    return {
      writeMemo: (write, call) => this.#ask({ method: "writeMemo", write }, call, () => own.writeMemo(write, call)),
      readMemos: (name, key, call) =>
        this.#ask({ method: "readMemos", name, key }, call, () => own.readMemos(name, key, call)),
    };
  }

  /** `ask.ts` checks that an answer fits its request. It does so for the answers of a thread too. */
  #ask<A>(request: Request, call: Call, byItself: () => Promise<A>): Promise<A | Unknown> {
    if (this.#lostBy !== undefined) return byItself();
    const id = ++this.#count;
    return new Promise((resolve) => {
      const listening = whenGivenUp(call, () => this.#drop(id));
      this.#asked.set(id, (answer) => {
        listening?.();
        resolve(answer as A);
      });
      this.#say({ word: "ask", id, request, sentAtMs: call.sentAtMs });
    });
  }

  async #claim(claims: readonly Claim[], call: Call): Promise<readonly Claimed[]> {
    if (this.#lostBy !== undefined) return await this.#own.claim(claims, call);
    const answer = await this.#ask<Answer>({ method: "claim", claims }, call, () => Promise.resolve(NEVER));
    if (answer.kind === "claimed") return answer.claimed;
    const none = answer.kind === "unknown" ? answer : unknown(new TypeError(`${answer.kind} is no answer to a claim`));
    return claims.map(() => none);
  }

  #watch(questions: readonly Question[], call: Call): AsyncIterable<Hint> {
    if (this.#lostBy !== undefined) return this.#own.watch(questions, call);
    return this.#mailboxes.watch(call.signal, (mailbox) => {
      const id = ++this.#count;
      this.#watched.set(id, mailbox);
      this.#say({ word: "watch", id, questions, sentAtMs: call.sentAtMs });
      return () => {
        if (this.#watched.delete(id)) this.#say({ word: "drop", id });
      };
    });
  }

  #drop(id: number): void {
    const settle = this.#asked.get(id);
    if (settle === undefined) return;
    this.#asked.delete(id);
    this.#say({ word: "drop", id });
    settle(unknown(new Error("nobody waits for the answer any more")));
  }

  #say(said: ToDesk): void {
    if (this.#lostBy === undefined) this.#port.postMessage(said);
  }

  #hear(said: FromDesk): void {
    if (said.word === "hint") return this.#watched.get(said.id)?.put(said.hint);
    if (said.word === "end") {
      const mailbox = this.#watched.get(said.id);
      this.#watched.delete(said.id);
      return mailbox?.end();
    }
    const settle = this.#asked.get(said.id);
    this.#asked.delete(said.id);
    return settle?.(said.answer);
  }
}

const NEVER: Unknown = unknown(new Error("the renewal thread is lost"));
