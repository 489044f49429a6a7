// The messages between main loop and renewal thread, and the memory that they share.
//
// The shared memory says when the main loop last turned, on both clocks, how many messages the thread has sent, and whether it listens. Each number is read and written whole. The two
// clocks may be of two turns, which makes the loop look slower than it was, never faster. A message is in the port before it is counted: a reader that sees the
// count can read the message at once, without a turn of the loop (`receiveMessageOnPort`).
import type { MessagePort } from "node:worker_threads";
import type { Reading } from "../base/clock.ts";
import type { Charge, KeepOrder } from "../lease/deputy.ts";
import type { Hold } from "../lease/exchange.ts";
import type { Settings } from "../lease/settings.ts";

/** The data with which the thread is started. */
export interface ThreadData {
  readonly url: string;
  readonly settings: Settings;
  readonly seed: number;
  readonly memory: SharedArrayBuffer;
  readonly port: MessagePort;
  /** For a store whose sessions belong to one connection: the port at which the main loop sends its requests to the store (bound-store.ts). */
  readonly desk?: MessagePort | undefined;
}

/** Messages to the thread. The thread answers with the messages of its deputy (lease/deputy.ts). */
export type ToThread =
  | { readonly word: "charge"; readonly charge: Charge }
  | { readonly word: "carry"; readonly opened: number; readonly keep: number; readonly hold: Hold }
  | { readonly word: "order"; readonly order: KeepOrder }
  /** Before the thread listens, the main loop sends keeps itself. This keep leaves that beat. */
  | { readonly word: "beat"; readonly opened: number; readonly beat: string }
  /** There is nothing to renew. */
  | { readonly word: "rest" }
  | { readonly word: "end" };

const [MONO, BOOT, WORDS, LISTENS] = [0, 1, 2, 3];
/** The clocks are stored in whole microseconds, rounded down. */
const PER_MS = 1000;

export class SharedMemory {
  readonly buffer: SharedArrayBuffer;
  readonly #cells: BigInt64Array;

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(4 * BigInt64Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer;
    this.#cells = new BigInt64Array(buffer);
  }

  /** The main loop has turned. */
  turn({ mono, boot }: Reading): void {
    Atomics.store(this.#cells, MONO, BigInt(Math.floor(mono * PER_MS)));
    Atomics.store(this.#cells, BOOT, BigInt(Math.floor(boot * PER_MS)));
  }

  turnedAt(): Reading {
    const [mono, boot] = [Atomics.load(this.#cells, MONO), Atomics.load(this.#cells, BOOT)];
    return { mono: Number(mono) / PER_MS, boot: Number(boot) / PER_MS };
  }

  /** This is called after the message has been posted. */
  countWord(): void {
    Atomics.add(this.#cells, WORDS, 1n);
  }

  /** The store of the thread is open. */
  listen(): void {
    Atomics.store(this.#cells, LISTENS, 1n);
  }

  listens(): boolean {
    return Atomics.load(this.#cells, LISTENS) === 1n;
  }

  words(): bigint {
    return Atomics.load(this.#cells, WORDS);
  }
}
