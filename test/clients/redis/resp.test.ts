// The reader of Redis' protocol: whole values come out however the bytes are cut, and bytes that are no RESP, or too many, are refused. The next monitor, any server, and any program that finds the port
// of a monitor may be at the other end.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeCommand, encodeReply, type Reply, ReplyError, RespReader } from "../../../src/clients/redis/resp.ts";

const SEED = 20261119;
const BYTES_MAX = 4 * 1024 * 1024;

/** Of the length of `cuts`, again and again. */
function piecesOf(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const end = at + (cuts[turn % cuts.length] ?? 1);
    pieces.push(bytes.subarray(at, end));
    at = end;
  }
  return pieces;
}

function readAll(pieces: readonly Buffer[]): Reply[] {
  const reader = new RespReader();
  return pieces.flatMap((piece) => reader.push(piece));
}

const line = fc.string({ unit: "grapheme", maxLength: 8 }).filter((text) => !/[\r\n]/.test(text));
const { reply } = fc.letrec<{ reply: Reply }>((tie) => ({
  reply: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: "binary", maxLength: 8 }),
    fc.integer(),
    fc.constant(null),
    line.map((text) => new ReplyError(text)),
    fc.array(tie("reply"), { maxLength: 4 }),
  ),
}));
const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });

describe("values", () => {
  it("come out whole, in any pieces", () => {
    const bytes = Buffer.from(`${encodeCommand(["SET", "ü", ""])}:12\r\n$-1\r\n*-1\r\n*0\r\n-ERR no\r\n+OK\r\n`);
    for (let size = 1; size <= bytes.length; size++)
      expect(readAll(piecesOf(bytes, [size]))).toEqual([
        ["SET", "ü", ""],
        12,
        null,
        null,
        [],
        new ReplyError("ERR no"),
        "OK",
      ]);
  });

  it("come out as they were written, whatever they are and however they are cut", () => {
    fc.assert(
      fc.property(fc.array(reply, { maxLength: 6 }), cuts, (replies, sizes) => {
        expect(readAll(piecesOf(Buffer.from(replies.map(encodeReply).join("")), sizes))).toEqual(replies);
      }),
      { seed: SEED },
    );
  });
});

describe("what is no RESP, or too large", () => {
  it.each([
    ["another protocol", "GET /\r\n"],
    ["a text longer than any answer", "$99999999999\r\n"],
    ["an array of less than nothing", "*-7\r\n"],
    ["an array of too many items", "*100001\r\n"],
    ["no number", ":x\r\n"],
    ["arrays in each other without end", "*1\r\n".repeat(20)],
    ["a text that goes on after its end", "$1\r\nabc"],
    ["a line without an end", "+".repeat(65 * 1024)],
    ["a line that ends too late", `+${"a".repeat(65 * 1024)}\r\n`],
  ])("is refused: %s", (_, text) => {
    expect(() => new RespReader().push(Buffer.from(text))).toThrow(RangeError);
    expect(() => readAll(piecesOf(Buffer.from(text), [7]))).toThrow(RangeError);
  });

  it("is refused once a value is larger than any answer, although each item of it is small", () => {
    const item = Buffer.from(encodeReply("a".repeat(1000)));
    const reader = new RespReader();
    reader.push(Buffer.from("*100000\r\n"));
    expect(() => {
      for (let bytes = 0; bytes <= BYTES_MAX + item.length; bytes += item.length) reader.push(item);
    }).toThrow(/without an end/);
  });

  it("fuzzed: any bytes are read or refused, and nothing else happens", () => {
    const alphabet = fc.constantFrom(..."*$:+-0123456789\r\na".split(""), "\r\n", "*1\r\n", "$2\r\n");
    fc.assert(
      fc.property(fc.array(alphabet, { maxLength: 60 }), cuts, (signs, sizes) => {
        try {
          readAll(piecesOf(Buffer.from(signs.join("")), sizes));
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
      { seed: SEED, numRuns: 2000 },
    );
  });
});

// A reader that begins anew with each piece would take minutes for these.
describe("a great value in small pieces costs what it carries", () => {
  it("as one text", () => {
    const text = "a".repeat(BYTES_MAX - 100);
    expect(readAll(piecesOf(Buffer.from(encodeReply(text)), [64]))).toEqual([text]);
  });

  it("as an array of many items", () => {
    const items = Array.from({ length: 100_000 }, (_, index) => index);
    expect(readAll(piecesOf(Buffer.from(encodeReply(items)), [10]))).toEqual([items]);
  });
});
