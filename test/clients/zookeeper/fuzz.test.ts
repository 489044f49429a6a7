// The decoders of ZooKeeper's messages, fed with anything: they answer or throw an error of their own, at once, and make nothing larger than what they were given.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ZooKeeperError } from "../../../src/clients/zookeeper/errors.ts";
import { ZooKeeperFrames } from "../../../src/clients/zookeeper/frames.ts";
import { JuteReader, JuteWriter } from "../../../src/clients/zookeeper/jute.ts";
import {
  readChildren,
  readConnected,
  readCreated,
  readData,
  readEvent,
  readHead,
  readMulti,
  readStat,
  readTexts,
} from "../../../src/clients/zookeeper/messages.ts";
import { statBytes } from "./fake-zookeeper.ts";

const DECODERS: Readonly<Record<string, (bytes: Buffer) => unknown>> = {
  connected: readConnected,
  head: (bytes) => readHead(new JuteReader(bytes)),
  stat: (bytes) => readStat(new JuteReader(bytes)),
  created: (bytes) => readCreated(new JuteReader(bytes)),
  data: (bytes) => readData(new JuteReader(bytes)),
  children: (bytes) => readChildren(new JuteReader(bytes)),
  texts: (bytes) => readTexts(new JuteReader(bytes)),
  multi: (bytes) => readMulti(new JuteReader(bytes)),
  event: (bytes) => readEvent(new JuteReader(bytes)),
};

/** Something true, so that changes of it reach the deeper parts. */
const SAMPLES: readonly Buffer[] = [
  Buffer.concat([new JuteWriter().text("/a/b").finish(), statBytes()]),
  Buffer.concat([new JuteWriter().int(2).text("one").text("two").finish(), statBytes()]),
  new JuteWriter().int(15).bool(false).int(0).text("/a").finish(),
  new JuteWriter().int(-1).bool(false).int(-101).int(-101).int(-1).bool(true).int(-1).finish(),
  new JuteWriter().int(0).int(4000).long(5n).bytes(Buffer.alloc(16)).bool(false).finish(),
];

const changed = fc
  .tuple(fc.constantFrom(...SAMPLES), fc.array(fc.tuple(fc.nat(200), fc.nat(255)), { maxLength: 6 }), fc.nat(120))
  .map(([sample, changes, length]) => {
    const bytes = Buffer.from(sample);
    for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
    return bytes.subarray(0, Math.max(0, bytes.length - (length % 7)));
  });
const anything = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  changed,
);

describe.each(Object.entries(DECODERS))("the decoder of %s", (_, decode) => {
  it("answers, or throws an error of its own", () => {
    fc.assert(
      fc.property(anything, (bytes) => {
        try {
          decode(bytes);
        } catch (error) {
          if (!(error instanceof ZooKeeperError)) throw error;
        }
      }),
      { numRuns: 3000 },
    );
  });
});

it("a count that cannot be true is refused before anything is made of it", () => {
  const bytes = new JuteWriter().int(0x7fff_ffff).finish();
  expect(() => readTexts(new JuteReader(bytes))).toThrow(/a vector of 2147483647 items/);
});

it("messages come out whole, however the bytes are cut", () => {
  const message = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes));
  fc.assert(
    fc.property(
      fc.array(message, { maxLength: 8 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
      (messages, cuts) => {
        const bytes = Buffer.concat(messages.flatMap((each) => [new JuteWriter().bytes(each).finish()]));
        const frames = new ZooKeeperFrames();
        const got: Buffer[] = [];
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const length = cuts[turn % cuts.length] ?? 1;
          got.push(...frames.add(bytes.subarray(at, at + length)).map((frame) => Buffer.from(frame)));
          at += length;
        }
        expect(got).toEqual(messages);
      },
    ),
    { numRuns: 500 },
  );
});

it("bytes that are no messages are refused at once, or waited for without growing beyond the longest message", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      try {
        new ZooKeeperFrames().add(Buffer.from(bytes));
      } catch (error) {
        if (!(error instanceof ZooKeeperError)) throw error;
      }
    }),
    { numRuns: 2000 },
  );
});

it("what is written is read again, however long it is", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: "binary", maxLength: 400 }), { maxLength: 20 }),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      (texts, n) => {
        const writer = new JuteWriter();
        for (const text of texts) writer.text(text).long(n).bool(true).int(7).bytes(Buffer.from(text));
        const reader = new JuteReader(writer.finish());
        for (const text of texts) {
          const bytes = Buffer.from(text);
          const read = [reader.text(), reader.long(), reader.bool(), reader.int(), reader.bytes().equals(bytes)];
          expect(read).toEqual([bytes.toString(), n, true, 7, true]);
        }
        expect(reader.left).toBe(0);
      },
    ),
  );
});
