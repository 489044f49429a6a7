// Frames come out of a stream of bytes as they were put in, however the bytes are cut; one that is too long is refused as soon as its length is there; and what of it is lent is whole while it is told.
import fc from "fast-check";
import { expect, it } from "vitest";
import { CONTENT_MAX, type Frame, frameOf, FrameReader } from "../../../src/clients/http2/frames.ts";
import { frame } from "./wire.ts";

const aFrame = fc.record({
  type: fc.nat(255),
  flags: fc.nat(255),
  stream: fc.oneof(fc.nat(9), fc.nat(0x7fff_ffff)),
  content: fc.oneof(
    { weight: 9, arbitrary: fc.uint8Array({ maxLength: 40 }) },
    { weight: 1, arbitrary: fc.constantFrom(300, 16_383, 16_384).map((length) => new Uint8Array(length).fill(7)) },
  ),
});

/** The chunks in turn are so long. */
function cut(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const length = lengths[turn % lengths.length] ?? 1;
    chunks.push(bytes.subarray(at, at + length));
    at += length;
  }
  return chunks;
}

function read(chunks: readonly Buffer[]): Frame[] {
  const heard: Frame[] = [];
  const reader = new FrameReader((frame) => heard.push({ ...frame, content: Buffer.from(frame.content) }));
  for (const chunk of chunks) {
    const lent = Buffer.from(chunk);
    reader.push(lent);
    lent.fill(0xee);
  }
  return heard;
}

const plain = ({ type, flags, stream, content }: Omit<Frame, "content"> & { content: Uint8Array }) => ({
  type,
  flags,
  stream,
  content: Buffer.from(content).toString("latin1"),
});

it("frames are the same however their bytes are cut", () => {
  fc.assert(
    fc.property(
      fc.array(aFrame, { maxLength: 8 }),
      fc.array(fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 20_000 })), {
        minLength: 1,
        maxLength: 6,
      }),
      (frames, lengths) => {
        const bytes = Buffer.concat(frames.map((each) => frame(each.type, each.flags, each.stream, each.content)));
        const wanted = frames.map(plain);
        expect(read(cut(bytes, lengths)).map(plain)).toEqual(wanted);
        expect(read([bytes]).map(plain)).toEqual(wanted);
      },
    ),
    { numRuns: 300 },
  );
});

it("frames are written as they are read, and the bit beside a stream's number means nothing", () => {
  fc.assert(
    fc.property(aFrame, (each) => {
      const bytes = frameOf(each.type, each.flags, each.stream, each.content);
      expect(bytes).toEqual(frame(each.type, each.flags, each.stream, each.content));
      bytes[5] = (bytes[5] ?? 0) | 0x80;
      expect(read([bytes]).map(plain)).toEqual([plain(each)]);
      expect(read(cut(bytes, [1])).map(plain)).toEqual([plain(each)]);
    }),
    { numRuns: 50 },
  );
});

it("a frame that is cut off at any byte is not heard", () => {
  const whole = frame(0, 1, 1, "content");
  for (let length = 0; length < whole.length; length++) {
    expect(read([whole.subarray(0, length)])).toEqual([]);
    expect(read([frame(6, 0, 0), whole.subarray(0, length)])).toHaveLength(1);
  }
});

it.each([CONTENT_MAX + 1, 0xff_ffff])("a frame of %i bytes is refused as soon as its length is there", (length) => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(length, 0, 3);
  for (const cuts of [9, 1, 5]) {
    let heard = 0;
    const reader = new FrameReader(() => heard++);
    let problem = "none";
    try {
      for (const chunk of cut(head, [cuts])) reader.push(chunk);
    } catch (error) {
      problem = (error as Error).message;
    }
    expect({ heard, problem }).toEqual({ heard: 0, problem: `a frame of ${length} bytes` });
  }
});

it("what a listener has copied stays as it was, whatever comes later in the same buffers", () => {
  const bytes = Buffer.concat(Array.from({ length: 50 }, (_, index) => frame(0, 0, 1, String(index).repeat(30))));
  for (const length of [1, 7, 40, 100]) {
    const kept = read(cut(bytes, [length]));
    expect(kept.map(({ content }) => content.toString())).toEqual(
      Array.from({ length: 50 }, (_, index) => String(index).repeat(30)),
    );
  }
});
