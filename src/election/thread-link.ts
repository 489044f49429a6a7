// The main loop's end of its renewal thread: starts it, gives it the machine's keeps, reads its messages, shows it that the loop turns, and ends it.
//
// Messages are read without a turn of the loop (`take`), so that isHeld() in the middle of work that never yields knows what the thread knows. Only a timer shows
// that the loop turns: code that asks isHeld() for ever, or promises that resolve each other for ever, do not turn the loop.
// A thread that ends, or does not answer, is not replaced: `lost` says so once, and from then on the main loop does the renewals.
import type { MessagePort, Worker } from "node:worker_threads";
import type { Clock } from "../base/clock.ts";
import { ConclaveError } from "../base/errors.ts";
import type { Word } from "../lease/deputy.ts";
import type { Settings } from "../lease/settings.ts";
import { helperPath } from "./helper-path.ts";
import type { BeatNotes } from "./kept-store.ts";
import { randomSeed } from "./nonce.ts";
import { SharedMemory, type ThreadData, type ToThread } from "./thread-messages.ts";

/** How often the loop shows that it turns within `stallAfterMs`, and the longest time between two turns. */
const TURNS_PER_STALL = 20;
const LONGEST_TURN_MS = 500;
/** A thread that does not listen after this time never will. */
const START_WITHIN_MS = 15_000;
/** A thread that was told to end is terminated after this time. */
const END_WITHIN_MS = 1000;

export interface ThreadLinkOptions {
  readonly url: string;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly beats?: BeatNotes | undefined;
  /** The end of a bound store that the thread gets. */
  readonly desk?: MessagePort | undefined;
  /** There is something to `take`. */
  readonly news: () => void;
  readonly lost: (error: ConclaveError) => void;
}

export class ThreadLink {
  readonly #options: ThreadLinkOptions;
  readonly #memory = new SharedMemory();
  readonly #port: MessagePort;
  /** This is loaded here, because most candidates have no thread, and it takes a tenth of the time in which conclave is imported. */
  readonly #threads = process.getBuiltinModule("node:worker_threads");
  readonly #worker: Worker;
  readonly #turns: NodeJS.Timeout;
  readonly #start: NodeJS.Timeout;
  /** Messages that the loop has delivered and that are not yet taken. */
  readonly #delivered: Word[] = [];
  #taken = 0n;
  #isOver = false;
  #whenGone: (() => void) | undefined;
  #isGone = false;

  constructor(options: ThreadLinkOptions) {
    this.#options = options;
    const { url, settings, clock, desk } = options;
    const { MessageChannel, Worker } = this.#threads;
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    const turn = (): void => this.#memory.turn(clock.now());
    turn();
    const everyMs = Math.min(LONGEST_TURN_MS, Math.ceil(settings.stallAfterMs / TURNS_PER_STALL));
    this.#turns = setInterval(turn, everyMs).unref();
    this.#start = setTimeout(() => {
      if (!this.listens) this.giveUp(`it did not start within ${START_WITHIN_MS / 1000} s`);
    }, START_WITHIN_MS).unref();
    const data: ThreadData = { url, settings, seed: randomSeed(), memory: this.#memory.buffer, port: port2, desk };
    this.#worker = new Worker(helperPath("election", "renewal-thread") ?? "renewal-thread.js", {
      workerData: data,
      transferList: desk === undefined ? [port2] : [port2, desk],
      execArgv: [],
      name: "conclave renewal",
    });
    this.#worker.on("error", (error) => this.#fail(String(error), error));
    this.#worker.on("exit", (code) => this.#gone(code));
    port1.on("message", (word: Word) => {
      this.#delivered.push(word);
      options.news();
    });
    // The port need not keep the process alive: while something is held, the machine's own timers do.
    port1.unref();
    this.#worker.unref();
  }

  /** Until the thread listens, the main loop sends the keeps. */
  get listens(): boolean {
    return this.#memory.listens();
  }

  say(said: ToThread): void {
    if (said.word === "order") this.#options.beats?.sending(said.order.open.session.beats);
    this.#port.postMessage(said);
  }

  /** Returns the oldest message that has not been taken. */
  take(): Word | undefined {
    const word = this.#delivered.shift() ?? this.#receive();
    if (word === undefined) return undefined;
    this.#taken++;
    if (word.input.type === "beat") this.#options.beats?.told(word.input.beat);
    return word;
  }

  #receive(): Word | undefined {
    if (this.#memory.words() === this.#taken) return undefined;
    const received: { message: Word } | undefined = this.#threads.receiveMessageOnPort(this.#port);
    return received?.message;
  }

  /** The thread does not answer. */
  giveUp(why: string): void {
    this.#fail(why, undefined);
  }

  /** Resolves when the thread is gone, or cannot be ended. */
  async end(): Promise<void> {
    this.#isOver = true;
    clearInterval(this.#turns);
    clearTimeout(this.#start);
    if (this.#isGone) return;
    const gone = new Promise<void>((resolve) => (this.#whenGone = resolve));
    this.say({ word: "end" });
    // From here on the process waits for the thread.
    this.#worker.ref();
    const impatience = setTimeout(() => void this.#worker.terminate(), END_WITHIN_MS);
    const despair = setTimeout(() => this.#whenGone?.(), 2 * END_WITHIN_MS);
    await gone;
    clearTimeout(impatience);
    clearTimeout(despair);
    this.#worker.unref();
  }

  #gone(code: number): void {
    this.#isGone = true;
    this.#options.news(); // so that its last messages are read
    this.#port.close();
    this.#whenGone?.();
    this.#fail(`it ended (exit code ${code})`, undefined);
  }

  #fail(why: string, cause: unknown): void {
    if (this.#isOver) return;
    void this.end();
    const message = `the renewal thread is lost: ${why}. Renewals go on in the main loop, and stop when it is busy; close this candidate and make a new one to have a thread again.`;
    this.#options.lost(new ConclaveError("THREAD_LOST", message, { cause }));
  }
}
