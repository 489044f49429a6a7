// One request and its answer. It is given up when nobody waits any more, or after a time: then its connection ends with it, so that a late answer is read by nobody.
import type { StopSignal } from "../stop-signal.ts";
import type { AnswerHead } from "./answer-head.ts";
import type { Asker, HttpConnection } from "./connection.ts";
import { HttpError, malformed } from "./errors.ts";
import type { RequestText } from "./request-text.ts";

export interface ExchangeLimits {
  /** An answer with more is refused. */
  readonly bodyBytes: number;
  /** This limit holds whatever the caller's own patience is. */
  readonly answerMs: number;
}

export interface HttpReply {
  readonly head: AnswerHead;
  readonly text: string;
}

/** How it ends: one of the first two is called, once. */
export interface Endings {
  readonly resolve: (reply: HttpReply) => void;
  readonly reject: (error: HttpError) => void;
  /** It has no answer in time. */
  readonly gaveUp: () => void;
}

/** A part that is kept takes so much memory, however short it is. */
const PART_BYTES = 128;
const ONCE = { once: true } as const;

export class HttpExchange implements Asker {
  readonly #request: RequestText;
  readonly #bodyBytes: number;
  readonly #signal: StopSignal;
  readonly #endings: Endings;
  readonly #timer: NodeJS.Timeout;
  readonly #giveUp: () => void;
  #connection: HttpConnection | undefined;
  #head: AnswerHead | undefined;
  readonly #parts: Buffer[] = [];
  #length = 0;
  #isOver = false;

  constructor(request: RequestText, { bodyBytes, answerMs }: ExchangeLimits, signal: StopSignal, endings: Endings) {
    this.#request = request;
    this.#bodyBytes = bodyBytes;
    this.#signal = signal;
    this.#endings = endings;
    this.#giveUp = () => this.#stop();
    this.#timer = setTimeout(this.#giveUp, answerMs);
    signal.addEventListener("abort", this.#giveUp, ONCE);
  }

  /** It has its answer, or was given up. */
  get isOver(): boolean {
    return this.#isOver;
  }

  begin(connection: HttpConnection): void {
    this.#connection = connection;
    connection.ask(this.#request, this);
  }

  head(head: AnswerHead): void {
    this.#head = head;
  }

  part(bytes: Buffer): void {
    this.#parts.push(Buffer.from(bytes));
    this.#length += Math.max(bytes.length, PART_BYTES);
    if (this.#length > this.#bodyBytes) throw malformed(`an answer has more than ${this.#bodyBytes} bytes`);
  }

  whole(): void {
    this.#settle();
    const [first, second] = this.#parts;
    const bytes = first === undefined || second === undefined ? first : Buffer.concat(this.#parts);
    this.#endings.resolve({ head: this.#head as AnswerHead, text: bytes === undefined ? "" : bytes.toString() });
  }

  failed(error: HttpError): void {
    this.#settle();
    this.#endings.reject(error);
  }

  #stop(): void {
    if (this.#connection === undefined) this.failed(new HttpError("unsent", "given up before it was sent"));
    else this.#connection.end(new Error("given up before an answer came"));
    this.#endings.gaveUp();
  }

  #settle(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#signal.removeEventListener("abort", this.#giveUp);
  }
}
