// Whatever a server sends: the decoder of etcd's messages reads it or refuses it, and does nothing else. No crash, no hang, memory that is bounded. Seeded: a failure
// prints the seed and the path that replay it.
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { etcd } from "conclave/stores/etcd";
import { etcdFence } from "conclave/fencing/etcd";
import type { FencedStore, Looked } from "conclave/stores/contract";
import { EtcdFrames, MESSAGE_MAX } from "../../../src/clients/etcd/frames.ts";
import {
  readHeader,
  readKeepAlive,
  readLeaseGrant,
  readRange,
  readStatus,
  readTimeToLive,
  readTxn,
  readWatch,
} from "../../../src/clients/etcd/messages.ts";
import { encode, FIELDS_MAX, ProtobufMessage } from "../../../src/clients/etcd/protobuf.ts";
import { codeOf, by } from "../../fencing/tokens.ts";
import { FakeEtcd } from "./fake-etcd.ts";

const SEED = 15;
const READERS = [readHeader, readKeepAlive, readLeaseGrant, readRange, readStatus, readTimeToLive, readTxn, readWatch];

/** Read by every reader, or refused by a RangeError; anything else is thrown on. */
function readAll(bytes: Buffer): "read" | "refused" {
  let outcome: "read" | "refused" = "read";
  for (const read of READERS)
    try {
      read(new ProtobufMessage(bytes));
    } catch (error) {
      if (!(error instanceof RangeError) || /call stack/.test(error.message)) throw error;
      outcome = "refused";
    }
  return outcome;
}

const refusal = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof RangeError) return error.message;
    throw error;
  }
  return "read";
};

const HEADER = encode([[1, 7n], [2, 1n], [3, 10n], [4, 2n]]); // prettier-ignore
const KEY_VALUE = encode([[1, "key"], [2, 5n], [3, 6n], [5, "value"], [6, 9n]]); // prettier-ignore
const RANGE = encode([[1, HEADER], [2, KEY_VALUE], [2, KEY_VALUE], [3, true]]); // prettier-ignore
const TXN = encode([[1, HEADER], [2, true], [3, encode([[1, RANGE]])], [3, encode([[4, encode([[3, encode([[1, RANGE]])]])]])]]); // prettier-ignore
const WATCH = encode([[1, HEADER], [2, 3n], [11, encode([[1, 1n], [2, KEY_VALUE]])]]); // prettier-ignore
const WHOLE = [HEADER, RANGE, TXN, WATCH, encode([[1, HEADER], [3, -1n], [4, 5n], [5, "key"]])]; // prettier-ignore

/** A whole answer with a few bytes changed, taken out, put in or repeated. */
const spoiled = fc
  .record({
    whole: fc.constantFrom(...WHOLE),
    spots: fc.array(fc.record({ at: fc.nat(200), cut: fc.nat(6), put: fc.uint8Array({ maxLength: 12 }) }), {
      minLength: 1,
      maxLength: 6,
    }),
  })
  .map(({ whole, spots }) =>
    spots.reduce<Buffer>((bytes, { at, cut, put }) => {
      const start = at % (bytes.length + 1);
      return Buffer.concat([bytes.subarray(0, start), put, bytes.subarray(start + cut)]);
    }, whole),
  );
const garbage = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes));

describe("the decoder of etcd's messages", () => {
  it("reads what is whole", () => {
    expect(WHOLE.map(readAll)).toEqual(WHOLE.map(() => "read"));
    expect(readTxn(new ProtobufMessage(TXN)).responses[1]?.txn?.responses[0]?.kvs[1]?.value.toString()).toBe("value");
  });

  it("reads or refuses anything else, and does nothing else", () => {
    const seen = { read: 0, refused: 0 };
    fc.assert(
      fc.property(fc.oneof(garbage, spoiled), (bytes) => {
        seen[readAll(bytes)] += 1;
      }),
      { seed: SEED, numRuns: 20_000 },
    );
    expect(Math.min(seen.read, seen.refused)).toBeGreaterThan(500);
  });

  it("gives back what was written, whatever the fields", () => {
    const value = fc.oneof(
      fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
      fc.bigInt(1n, 2n ** 64n - 1n),
    );
    const fields = fc.array(fc.tuple(fc.integer({ min: 1, max: 2 ** 28 - 1 }), value), { maxLength: 12 });
    fc.assert(
      fc.property(fields, (written) => {
        const message = new ProtobufMessage(encode(written));
        const last = new Map(written.map(([number, each]) => [`${number} ${typeof each}`, each]));
        for (const [key, each] of last) {
          const number = Number(key.split(" ")[0]);
          expect(typeof each === "bigint" ? message.uint64(number) : message.bytes(number)).toEqual(each);
        }
      }),
      { seed: SEED },
    );
  });

  it.each([
    ["a number that never ends", Buffer.alloc(100, 0xff), "64 bits"],
    ["a number of 65 bits", Buffer.from("08ffffffffffffffffff02", "hex"), "64 bits"],
    ["a field with the number 0", Buffer.from("0001", "hex"), "without a number"],
    ["a tag beyond 32 bits, which would pass for another", Buffer.from("888080801001", "hex"), "without a number"],
    ["a group, which nobody sends any more", Buffer.from("0b0c", "hex"), "wire type 3"],
    ["bytes longer than the message, by a length of 64 bits", Buffer.from("0affffffffffffffffff01", "hex"), "middle"],
    ["half a fixed number", Buffer.from("0900", "hex"), "middle"],
  ])("refuses %s", (_, bytes, why) => {
    expect(refusal(() => new ProtobufMessage(bytes))).toContain(why);
  });

  it("refuses transactions inside each other without end, before the stack does", () => {
    let inner: Buffer = Buffer.alloc(0);
    for (let depth = 0; depth < 5_000; depth++) inner = encode([[3, encode([[4, inner]])]]);
    expect(refusal(() => readTxn(new ProtobufMessage(inner)))).toContain("more than 32 deep");
  });

  it("makes no more of a message than a million fields, however they are nested", () => {
    const many = Buffer.alloc(2 * (FIELDS_MAX + 1)); // fields of two bytes each: the number 1, and nothing in it
    many.fill(Buffer.from([0x0a, 0x00]));
    expect(refusal(() => new ProtobufMessage(many))).toContain(`more than ${FIELDS_MAX} fields`);
    const nested = encode([[2, many.subarray(0, FIELDS_MAX)], [2, many.subarray(0, FIELDS_MAX)], [2, many.subarray(0, FIELDS_MAX)]]); // prettier-ignore
    expect(refusal(() => readRange(new ProtobufMessage(nested)))).toContain(`more than ${FIELDS_MAX} fields`);
  });
});

describe("the frames of a stream", () => {
  const frame = (body: Buffer): Buffer => {
    const head = Buffer.alloc(5);
    head.writeUInt32BE(body.length, 1);
    return Buffer.concat([head, body]);
  };

  it("are the same however the stream is cut", () => {
    const bodies = fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 6 });
    fc.assert(
      fc.property(bodies, fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (sent, cuts) => {
        const stream = Buffer.concat(sent.map((body) => frame(Buffer.from(body))));
        const heard: Buffer[] = [];
        const frames = new EtcdFrames((message) => heard.push(message));
        for (let at = 0, turn = 0; at < stream.length; turn++) {
          const end = at + (cuts[turn % cuts.length] ?? 1);
          frames.push(stream.subarray(at, end));
          at = end;
        }
        expect(heard.map((message) => [...message])).toEqual(sent.map((body) => [...body]));
      }),
      { seed: SEED },
    );
  });

  it("of a great message in small chunks cost what they carry", () => {
    const body = Buffer.alloc(8 * 1024 * 1024, 1);
    const whole = frame(body);
    let heard = 0;
    const frames = new EtcdFrames((message) => (heard = message.length));
    for (let at = 0; at < whole.length; at += 100) frames.push(whole.subarray(at, at + 100));
    expect(heard).toBe(body.length);
  });

  it.each([
    ["announces more than any answer has", Buffer.from("00ffffffff", "hex"), "4294967295 bytes"],
    ["announces one byte too many", Buffer.concat([Buffer.of(0), int32(MESSAGE_MAX + 1)]), `${MESSAGE_MAX + 1} bytes`],
    ["is compressed", Buffer.from("0100000000", "hex"), "compressed"],
  ])("one that %s is refused as soon as its head is there", (_, head, why) => {
    expect(refusal(() => new EtcdFrames(() => {}).push(head))).toContain(why);
    const slow = new EtcdFrames(() => {});
    slow.push(head.subarray(0, 3));
    expect(refusal(() => slow.push(Buffer.concat([head.subarray(3), Buffer.of(0)])))).toContain(why);
  });
});

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

describe("a server that sends what is no answer", () => {
  let fake: FakeEtcd;
  let store: FencedStore;
  beforeEach(async () => {
    fake = await FakeEtcd.start();
    store = etcd(fake.url);
  });
  afterEach(async () => {
    await store.close();
    await fake.stop();
  });
  const look = (): Promise<Looked> => store.look([{ name: "x" }], { signal: AbortSignal.timeout(5_000), sentAtMs: 0 });
  const BAD: readonly (readonly [string, Buffer])[] = [
    ["a message of garbage", Buffer.from("0000000003ffffff", "hex")],
    ["a length of four gigabytes", Buffer.from("00ffffffff0a", "hex")],
    ["a compressed message", Buffer.from("01000000020a00", "hex")],
  ];

  it.each(BAD)("%s: what was asked is unknown, and the next answer counts", async (_, raw) => {
    expect((await look()).kind).toBe("seen");
    fake.answers.set("Txn", () => ({ raw }));
    expect(await look()).toMatchObject({ kind: "unknown" });
    fake.answers.delete("Txn");
    expect((await look()).kind).toBe("seen");
  });

  it.each(BAD)("%s in a stream of watches: the watch ends, and not the process", async (_, raw) => {
    fake.answers.set("Watch", () => ({ raw }));
    const call = { signal: AbortSignal.timeout(20_000), sentAtMs: 0 };
    const heard: unknown[] = [];
    for await (const hint of store.watch([{ name: "x" }], call)) heard.push(hint);
    expect(fake.asked).toContain("Watch");
    expect(call.signal.aborted).toBe(false);
  });

  it("a guard says that it may have been written", async () => {
    const fence = etcdFence(fake.url);
    fake.answers.set("Txn", () => ({ raw: Buffer.from("0000000003ffffff", "hex") }));
    expect(await codeOf(fence.raise("ledger", by(1)))).toBe("STORE_TIMEOUT");
    await fence.close();
  });
});
