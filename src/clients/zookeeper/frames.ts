// Cuts the bytes of a socket into messages: four bytes of length, then that many bytes. Nothing is copied until a message is whole.
//
// INVARIANT  no more is kept than the longest message that is accepted, and the bytes that came with it in one piece
import { ZooKeeperError } from "./errors.ts";

/** ZooKeeper's own limit is 1 MB; lists of children may be longer where the limit was raised. */
export const LONGEST_FRAME: number = 16 * 1024 * 1024;

export class ZooKeeperFrames {
  #parts: Buffer[] = [];
  #length = 0;

  /** Returns the messages that are whole now. Throws for a length that no message has: then the connection is of no use any more. */
  add(part: Buffer): readonly Buffer[] {
    this.#parts.push(part);
    this.#length += part.length;
    const whole: Buffer[] = [];
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) whole.push(frame);
    return whole;
  }

  #next(): Buffer | undefined {
    if (this.#length < 4) return undefined;
    const length = this.#peekLength();
    if (length < 0 || length > LONGEST_FRAME)
      throw new ZooKeeperError(
        "malformed",
        "unknown",
        `a message of ${length} bytes: this is not ZooKeeper's protocol`,
      );
    if (this.#length < 4 + length) return undefined;
    const bytes = this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts);
    const rest = bytes.subarray(4 + length);
    this.#parts = rest.length === 0 ? [] : [rest];
    this.#length = rest.length;
    return bytes.subarray(4, 4 + length);
  }

  /** The four bytes may lie in several parts. */
  #peekLength(): number {
    const [first] = this.#parts;
    if (first !== undefined && first.length >= 4) return first.readInt32BE(0);
    this.#parts = [Buffer.concat(this.#parts)];
    return (this.#parts[0] as Buffer).readInt32BE(0);
  }
}
