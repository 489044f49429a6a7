// Reads the bytes of one connection as answers, each to the one request that waits. It keeps what is not whole yet, and nothing else.
//
// INVARIANT  a byte that is read while no request waits, or after the end of an answer, makes the connection unfit: it would be taken for the beginning of the next answer
// INVARIANT  no more is kept than a head, a line of a chunk, or a trailer may have (LONGEST_HEAD); parts of a body are passed on as they come
import { type AnswerHead, checkTrailers, readHead, shown } from "./answer-head.ts";
import { malformed } from "./errors.ts";

/** Node's own limit for a head. */
export const LONGEST_HEAD: number = 16 * 1024;
/** The hexadecimal digits of a chunk's length, and its extensions. */
const LONGEST_CHUNK_LINE = 1024;
const CHUNK_LINE = /^([0-9A-Fa-f]{1,8})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?$/;
/** A server may say several times that it still works. */
const MOST_INTERIM_HEADS = 16;

const [CR, LF] = [0x0d, 0x0a];
const HEAD_END = Buffer.from("\r\n\r\n");

export interface AnswerEars {
  head(head: AnswerHead): void;
  /** The bytes are only lent, until this returns. */
  part(bytes: Buffer): void;
  /** Bytes behind the answer are not read yet. */
  whole(): void;
}

type State = "idle" | "head" | "length" | "chunk line" | "chunk" | "chunk end" | "trailer" | "until close";

export class HttpAnswerReader {
  readonly #ears: AnswerEars;
  #state: State = "idle";
  /** What came and is no whole line or head yet. */
  #kept: Buffer | undefined;
  /** Bytes of the body, or of the chunk, that are still to come. */
  #left = 0;
  #interimHeads = 0;

  constructor(ears: AnswerEars) {
    this.#ears = ears;
  }

  /** A request is sent: the next byte begins its answer. */
  expect(): void {
    this.#state = "head";
    this.#interimHeads = 0;
  }

  /** `data` is only lent. Throws a malformed HttpError: then nothing else may be read from this connection. */
  take(data: Buffer): void {
    const bytes = this.#kept === undefined ? data : Buffer.concat([this.#kept, data]);
    this.#kept = undefined;
    let at = 0;
    while (at < bytes.length) {
      const next = this.#step(bytes, at);
      if (next === undefined) {
        this.#kept = at === 0 && bytes !== data ? bytes : Buffer.from(bytes.subarray(at));
        return;
      }
      at = next;
    }
  }

  /** The server sends nothing more. Returns whether the answer is whole. */
  finish(): boolean {
    if (this.#state !== "until close") return false;
    this.#finished();
    return true;
  }

  /** Reads from `at` on, and returns how far it came; undefined: the rest is not whole yet. */
  #step(bytes: Buffer, at: number): number | undefined {
    switch (this.#state) {
      case "idle":
        throw malformed(
          `bytes came that are no answer to any request: ${shown(bytes.toString("latin1", at, at + 60))}`,
        );
      case "head":
        return this.#head(bytes, at);
      case "chunk line":
        return this.#chunkLine(bytes, at);
      case "chunk end":
        return this.#chunkEnd(bytes, at);
      case "trailer":
        return this.#trailer(bytes, at);
      case "length":
      case "chunk":
      case "until close":
        return this.#body(bytes, at);
    }
  }

  #head(bytes: Buffer, at: number): number | undefined {
    const end = bytes.indexOf(HEAD_END, at);
    if ((end < 0 ? bytes.length : end) - at > LONGEST_HEAD)
      throw malformed(`an answer has a head of more than ${LONGEST_HEAD} bytes`);
    if (end < 0) {
      // What is no HTTP at all may never have an empty line.
      if (bytes[at] !== 0x48)
        throw malformed(`an answer begins with ${shown(bytes.toString("latin1", at, at + 60))}, and not with HTTP/1.1`);
      return undefined;
    }
    const head = readHead(bytes.toString("latin1", at, end));
    if (head.status < 200) this.#interim(head);
    else this.#begin(head);
    return end + 4;
  }

  /** "100 Continue" and the like: the answer follows. We ask for no other protocol, so a server cannot change to one. */
  #interim({ status }: AnswerHead): void {
    if (status === 101) throw malformed("the server changes to a protocol that nobody has asked for");
    if (++this.#interimHeads > MOST_INTERIM_HEADS) throw malformed("an answer has interim heads without end");
  }

  #begin(head: AnswerHead): void {
    this.#ears.head(head);
    if (head.end === 0) return this.#finished();
    if (head.end === "chunked") this.#state = "chunk line";
    else if (head.end === "close") this.#state = "until close";
    else [this.#state, this.#left] = ["length", head.end];
    return undefined;
  }

  #body(bytes: Buffer, at: number): number {
    if (this.#state === "until close") {
      this.#ears.part(bytes.subarray(at));
      return bytes.length;
    }
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    this.#ears.part(bytes.subarray(at, end));
    if (this.#left > 0) return end;
    if (this.#state === "chunk") this.#state = "chunk end";
    else this.#finished();
    return end;
  }

  #chunkLine(bytes: Buffer, at: number): number | undefined {
    const end = lineEnd(bytes, at, LONGEST_CHUNK_LINE, "a chunk's length");
    if (end === undefined) return undefined;
    const line = bytes.toString("latin1", at, end);
    const [, digits] = CHUNK_LINE.exec(line) ?? [];
    if (digits === undefined) throw malformed(`a chunk has the length ${shown(line)}`);
    this.#left = Number.parseInt(digits, 16);
    this.#state = this.#left === 0 ? "trailer" : "chunk";
    return end + 2;
  }

  #chunkEnd(bytes: Buffer, at: number): number | undefined {
    if (bytes[at] !== CR || (at + 1 < bytes.length && bytes[at + 1] !== LF))
      throw malformed("a chunk is longer than its length");
    if (at + 1 === bytes.length) return undefined;
    this.#state = "chunk line";
    return at + 2;
  }

  /** The end of a chunked body: an empty line, or headers and an empty line. */
  #trailer(bytes: Buffer, at: number): number | undefined {
    if (bytes[at] === CR && bytes[at + 1] === LF) {
      this.#finished();
      return at + 2;
    }
    const end = bytes.indexOf(HEAD_END, at);
    if ((end < 0 ? bytes.length : end) - at > LONGEST_HEAD)
      throw malformed(`a trailer has more than ${LONGEST_HEAD} bytes`);
    if (end < 0) return undefined;
    checkTrailers(bytes.toString("latin1", at, end));
    this.#finished();
    return end + 4;
  }

  #finished(): void {
    this.#state = "idle";
    this.#ears.whole();
  }
}

/** Where the line that begins at `at` ends; undefined: it has not ended yet. */
function lineEnd(bytes: Buffer, at: number, longest: number, what: string): number | undefined {
  const end = bytes.indexOf(LF, at);
  if ((end < 0 ? bytes.length : end) - at > longest) throw malformed(`${what} has no end`);
  if (end < 0) return undefined;
  if (bytes[end - 1] !== CR || end === at) throw malformed(`${what} ends with a line feed alone`);
  return end - 1;
}
