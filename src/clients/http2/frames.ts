// HTTP/2's frames (RFC 9113, section 4): nine bytes of length, type, flags and stream, and a content whose length the first three tell.
//
// Input from the wire is bounded: no frame may be longer than what this side allows, and one that comes in many chunks is gathered in a buffer that is made once.

export const TYPE = {
  data: 0,
  headers: 1,
  priority: 2,
  resetStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const FLAG = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 0x20 } as const;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  /** 0: the whole connection. */
  readonly stream: number;
  /** Lent for the call that tells of the frame: the next one may be in the same place. */
  readonly content: Buffer;
}

export const HEAD = 9;
/** What a peer may send that was told nothing else. */
export const CONTENT_MAX = 16_384;

/** Writes the head of a frame, and returns where its content begins. */
export function writeHead(
  into: Buffer,
  at: number,
  type: number,
  flags: number,
  stream: number,
  length: number,
): number {
  into.writeUIntBE(length, at, 3);
  into[at + 3] = type;
  into[at + 4] = flags;
  into.writeUInt32BE(stream, at + 5);
  return at + HEAD;
}

export function frameOf(type: number, flags: number, stream: number, content: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(HEAD + content.length);
  frame.set(content, writeHead(frame, 0, type, flags, stream, content.length));
  return frame;
}

/** The server has begun no streams, so the last of them is 0. */
export function goAway(code: number): Buffer {
  return frameOf(TYPE.goAway, 0, 0, Buffer.concat([numberOf(0), numberOf(code)]));
}

export function numberOf(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Cuts chunks into frames. It throws on a frame that is too long; the connection is of no use after that. */
export class FrameReader {
  readonly #hear: (frame: Frame) => void;
  /** A frame of which a part has come. */
  readonly #gathered: Buffer = Buffer.allocUnsafe(HEAD + CONTENT_MAX);
  #filled = 0;

  constructor(hear: (frame: Frame) => void) {
    this.#hear = hear;
  }

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      const next = this.#filled === 0 ? this.#takeWhole(chunk, at) : undefined;
      at = next ?? this.#takePart(chunk, at);
    }
  }

  /** The usual case: all of a frame is in this chunk, and nothing is copied. Returns where the next frame begins. */
  #takeWhole(chunk: Buffer, at: number): number | undefined {
    if (chunk.length < at + HEAD) return undefined;
    const end = at + HEAD + lengthIn(chunk, at);
    if (chunk.length < end) return undefined;
    this.#tell(chunk, at, chunk.subarray(at + HEAD, end));
    return end;
  }

  #takePart(chunk: Buffer, at: number): number {
    const wanted = this.#filled < HEAD ? HEAD : HEAD + lengthIn(this.#gathered, 0);
    const taken = Math.min(wanted - this.#filled, chunk.length - at);
    chunk.copy(this.#gathered, this.#filled, at, at + taken);
    this.#filled += taken;
    if (this.#filled >= HEAD && this.#filled === HEAD + lengthIn(this.#gathered, 0)) {
      this.#filled = 0;
      this.#tell(this.#gathered, 0, this.#gathered.subarray(HEAD, HEAD + lengthIn(this.#gathered, 0)));
    }
    return at + taken;
  }

  #tell(from: Buffer, at: number, content: Buffer): void {
    const stream = from.readUInt32BE(at + 5) & 0x7fff_ffff;
    this.#hear({ type: from[at + 3] ?? 0, flags: from[at + 4] ?? 0, stream, content });
  }
}

function lengthIn(bytes: Buffer, at: number): number {
  const length = bytes.readUIntBE(at, 3);
  if (length > CONTENT_MAX) throw new RangeError(`a frame of ${length} bytes`);
  return length;
}
