// The main loop's end of its renewal thread: starts it, hands it the machine's keeps, reads its words, shows it that the loop turns, and ends it.
//
// Words are read without a turn of the loop (`take`), so that isHeld() in the midst of work that never yields knows what the thread knows. The loop's
// turns are shown by a timer, and by nothing else: code that asks isHeld() for ever, or promises that resolve each other for ever, turn no loop.
// A thread that ends, or does not answer, is not replaced: `lost` says so once, and renewals are the main loop's from then on.
import type { MessagePort, Worker } from "node:worker_threads";
import type { Clock } from "../base/clock.ts";
import { ConclaveError } from "../base/errors.ts";
import type { Word } from "../lease/deputy.ts";
import type { Settings } from "../lease/settings.ts";
import { helperPath } from "./helper-path.ts";
import type { BeatNotes } from "./kept-store.ts";
import { randomSeed } from "./nonce.ts";
import { SharedMemory, type ThreadData, type ToThread } from "./thread-words.ts";

/** How often the loop shows that it turns, in each stretch of `stallAfterMs`, and at least every so often. */
const TURNS_PER_STALL = 20;
const LONGEST_TURN_MS = 500;
/** A thread that does not listen by then will not. */
const START_WITHIN_MS = 15_000;
/** A thread that was told to end, and has not, is ended. */
const END_WITHIN_MS = 1000;

export interface ThreadLinkOptions {
  readonly url: string;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly beats?: BeatNotes | undefined;
  /** The thread's end of a bound store. */
  readonly desk?: MessagePort | undefined;
  /** There is something to `take`. */
  readonly news: () => void;
  readonly lost: (error: ConclaveError) => void;
}

export class ThreadLink {
  readonly #options: ThreadLinkOptions;
  readonly #memory = new SharedMemory();
  readonly #port: MessagePort;
  /** Loaded here, because most candidates have no thread, and it takes a tenth of the time in which conclave is imported. */
  readonly #threads = process.getBuiltinModule("node:worker_threads");
  readonly #worker: Worker;
  readonly #turns: NodeJS.Timeout;
  readonly #start: NodeJS.Timeout;
  /** Delivered by the loop, and not yet taken. */
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
    // What is held keeps the process alive by the machine's own timers.
    port1.unref();
    this.#worker.unref();
  }

  /** Until it does, keeps are the main loop's. */
  get listens(): boolean {
    return this.#memory.listens();
  }

  say(said: ToThread): void {
    if (said.word === "order") this.#options.beats?.sending(said.order.open.session.beats);
    this.#port.postMessage(said);
  }

  /** The oldest word that has not been taken. */
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

  /** It does not answer. */
  giveUp(why: string): void {
    this.#fail(why, undefined);
  }

  /** Resolves when it is gone, or cannot be helped. */
  async end(): Promise<void> {
    this.#isOver = true;
    clearInterval(this.#turns);
    clearTimeout(this.#start);
    if (this.#isGone) return;
    const gone = new Promise<void>((resolve) => (this.#whenGone = resolve));
    this.say({ word: "end" });
    // From here on it is waited for.
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
    this.#options.news(); // what it said last
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
