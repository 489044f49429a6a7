// Headers as bytes: what a real encoder writes is read exactly, a real decoder reads exactly what we write, anything else is refused, and no block changes what another one means.
import fc from "fast-check";
import { createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Fields, FieldsReader, readFields, writeFields } from "../../../src/clients/http2/fields.ts";
import { readHuffman } from "../../../src/clients/http2/huffman.ts";
import type { Http2Connection } from "../../../src/clients/http2/connection.ts";
import { connected, Heard } from "./wire.ts";

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");
const plain = (fields: Fields): Record<string, string> => Object.fromEntries(fields);

/** What was thrown; the fields, if nothing was. */
function outcome(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    return error instanceof RangeError ? error.message : error;
  }
}

describe("between us and Node's own HTTP/2", () => {
  let server: Http2Server;
  let connection: Http2Connection;
  let sends: Record<string, string> = {};
  const received: IncomingHttpHeaders[] = [];
  const sessions: ServerHttp2Session[] = [];
  beforeAll(async () => {
    server = createServer({ maxHeaderListPairs: 1000, settings: { maxHeaderListSize: 1_000_000 } });
    server.on("session", (session) => sessions.push(session));
    server.on("stream", (stream, headers) => {
      stream.on("error", () => {});
      received.push(headers);
      stream.respond({ ":status": 200, ...sends }, { sendDate: false } as object);
      stream.end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const made = await connected((server.address() as AddressInfo).port);
    connection = made.connection;
    await made.told.greeted;
  });
  afterAll(() => {
    connection.destroy();
    for (const session of sessions) session.destroy();
    server.close();
  });

  const HEAD = [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", "/x"],
    [":authority", "a"],
  ] as const;
  async function ask(fields: readonly (readonly [string, string])[] = []): Promise<Heard> {
    const heard = new Heard();
    connection.request(writeFields([...HEAD, ...fields]), Buffer.from("x"), heard);
    expect(await heard.untilEnd()).toBe("whole");
    return heard;
  }

  const name = fc
    .array(fc.constantFrom(...Array.from("abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*.^_`|~-")), {
      minLength: 1,
      maxLength: 20,
    })
    .map((characters) => `x-${characters.join("")}`);
  const from = (least: number, length: object) =>
    fc.array(fc.integer({ min: least, max: 255 }), length).map((codes) => String.fromCharCode(...codes));

  it("what it sends is what we read", async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(name, from(1, { maxLength: 200 }), { maxKeys: 12 }), async (fields) => {
        sends = fields;
        const heard = await ask();
        expect(heard.fields).toHaveLength(1);
        const { date: _, ...read } = plain(heard.fields[0] ?? new Map());
        expect(read).toEqual({ ":status": "200", ...fields });
      }),
      { numRuns: 200 },
    );
  });

  it("every byte that it sends in its Huffman code is the byte that we read", async () => {
    const around = "a".repeat(30);
    sends = Object.fromEntries(
      Array.from({ length: 255 }, (_, index) => [`x-${index}`, `${around}${String.fromCharCode(index + 1)}e`]),
    );
    const heard = await ask();
    const { date: _, ...read } = plain(heard.fields[0] ?? new Map());
    expect(read).toEqual({ ":status": "200", ...sends });
  });

  it("what we write is what it reads, in one frame or in many", async () => {
    sends = {};
    const visible = fc.constantFrom(
      ...Array.from({ length: 255 - 32 }, (_, index) => index + 33).filter((code) => code !== 127),
    );
    const value = fc.oneof(
      fc.array(visible, { maxLength: 300 }).map((codes) => String.fromCharCode(...codes)),
      fc.tuple(fc.constantFrom(126, 127, 128, 254, 255, 256, 383), visible).map(([length, code]) => String.fromCharCode(code).repeat(length)), // prettier-ignore
    );
    await fc.assert(
      fc.asyncProperty(fc.dictionary(name, value, { maxKeys: 6 }), async (fields) => {
        received.length = 0;
        await ask(Object.entries(fields));
        expect({ ...received[0] }).toMatchObject({ ...Object.fromEntries(HEAD), ...fields });
      }),
      { numRuns: 100 },
    );
    for (const length of [16_300, 16_384, 16_500, 40_000]) {
      received.length = 0;
      await ask([["x-long", "~".repeat(length)]]);
      expect(received[0]?.["x-long"]).toBe("~".repeat(length));
    }
  });
});

// The strings and their codes are the examples of RFC 7541, appendix C.
const CODED = [
  ["www.example.com", "f1e3 c2e5 f23a 6ba0 ab90 f4ff"],
  ["no-cache", "a8eb 1064 9cbf"],
  ["custom-key", "25a8 49e9 5ba9 7d7f"],
  ["custom-value", "25a8 49e9 5bb8 e8b4 bf"],
  ["302", "6402"],
  ["307", "640e ff"],
  ["private", "aec3 771a 4b"],
  ["gzip", "9bd9 ab"],
  ["Mon, 21 Oct 2013 20:13:21 GMT", "d07a be94 1054 d444 a820 0595 040b 8166 e082 a62d 1bff"],
  ["https://www.example.com", "9d29 ad17 1863 c78f 0b97 c8e9 ae82 ae43 d3"],
  [
    "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
    "94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
  ],
  ["", ""],
] as const;

/** A string of bits as bytes. */
const bits = (text: string): Buffer =>
  Buffer.from((text.replaceAll(" ", "").match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));

describe("the Huffman code", () => {
  it.each(CODED)("reads %j", (text, code) => {
    expect(readHuffman(hex(code))).toBe(text);
  });

  it("reads the byte 0, which no server may send, and the longest codes", () => {
    // 0 has 13 bits; line feed, carriage return and 22 have 30 each, as the end has.
    expect(readHuffman(bits("1111111111000 111"))).toBe("\0");
    const longest = ["00", "01", "10"].map((last) => "1".repeat(28) + last).join("");
    expect(readHuffman(bits(longest + "111111"))).toBe("\n\r\u0016");
  });

  it.each([
    ["is filled up with a bit that is 0", "00011 110"],
    ["is filled up with bits that are 0", "00011 000"],
    ["is filled up with a byte too much", "00011 111 11111111"],
    ["is only filling, a whole byte", "11111111"],
    ["breaks off in a long code", "1111111111000".slice(0, 8)],
  ])("refuses a string that %s", (_, code) => {
    expect(outcome(() => readHuffman(bits(code)))).toBe("a string with a wrong end");
  });

  it("refuses the end of a string within a string", () => {
    expect(outcome(() => readHuffman(bits("1".repeat(32))))).toBe("the end of a string within a string");
    expect(outcome(() => readHuffman(bits("00011" + "1".repeat(30) + "00011")))).toBe(
      "the end of a string within a string",
    );
  });

  it("accepts up to seven bits of filling", () => {
    // "0" has 5 bits, "-" has 6, "A" also 6, ":" has 7, "&" has 8.
    expect(readHuffman(bits("00000 111"))).toBe("0");
    expect(readHuffman(bits("11111000"))).toBe("&");
    expect(readHuffman(bits("11111000 00000 00000 00000 1"))).toBe("&000");
    expect(readHuffman(bits("1011100 1"))).toBe(":");
    expect(readHuffman(bits("11111000 1011100 1011100 11"))).toBe("&::");
    expect(readHuffman(bits("11111000 010110 010110 1111"))).toBe("&--");
    expect(readHuffman(bits("00000 010110 11111"))).toBe("0-");
    expect(readHuffman(bits("00000 00000 111111"))).toBe("00");
    expect(readHuffman(bits("010110 010110 00000 1111111"))).toBe("--0");
  });
});

describe("a block of headers", () => {
  it("is read as in the examples of RFC 7541, appendix C", () => {
    expect(plain(readFields(hex("400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572")))).toEqual({
      "custom-key": "custom-header",
    });
    expect(plain(readFields(hex("040c 2f73 616d 706c 652f 7061 7468")))).toEqual({ ":path": "/sample/path" });
    expect(plain(readFields(hex("1008 7061 7373 776f 7264 0673 6563 7265 74")))).toEqual({ password: "secret" });
    expect(plain(readFields(hex("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff")))).toEqual({
      ":method": "GET",
      ":scheme": "http",
      ":path": "/",
      ":authority": "www.example.com",
    });
    expect(
      plain(
        readFields(hex("4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3")), // prettier-ignore
      ),
    ).toEqual({
      ":status": "302",
      "cache-control": "private",
      date: "Mon, 21 Oct 2013 20:13:21 GMT",
      location: "https://www.example.com",
    });
  });

  it("has the numbers of RFC 7541, appendix A", () => {
    const field = (index: number) => [...readFields(Buffer.of(0x80 | index))][0];
    expect([8, 9, 10, 11, 12, 13, 14].map((index) => field(index))).toEqual(
      ["200", "204", "206", "304", "400", "404", "500"].map((status) => [":status", status]),
    );
    expect([1, 2, 3, 4, 5, 6, 7].map((index) => field(index)?.join("="))).toEqual([
      ":authority=",
      ":method=GET",
      ":method=POST",
      ":path=/",
      ":path=/index.html",
      ":scheme=http",
      ":scheme=https",
    ]);
    expect([15, 16, 28, 31, 32, 33, 54, 55, 61].map((index) => field(index)?.join("="))).toEqual([
      "accept-charset=",
      "accept-encoding=gzip, deflate",
      "content-length=",
      "content-type=",
      "cookie=",
      "date=",
      "server=",
      "set-cookie=",
      "www-authenticate=",
    ]);
  });

  const LARGE = "7f ff ff ff ff ff ff 7f";
  it.each([
    ["with the number 0", "80", "header 0 of a table that was not allowed"],
    ["with a number of a table that neither side keeps", "be", "header 62 of a table that was not allowed"],
    ["with a great number", "ff 80 01", "header 255 of a table that was not allowed"],
    ["with a name of a table that neither side keeps", "7e 01 61", "header 62 of a table that was not allowed"],
    ["whose number has too many bytes", "ff 80 80 80 80 80 80 00", "a number in a header that is too large"],
    ["whose number is too large", "ff ff ff ff ff 7f", "a number in a header that is too large"],
    ["whose length is too large", `00 ${LARGE}`, "a number in a header that is too large"],
    ["whose number is cut off", "ff", "a header that is cut off"],
    ["whose number goes on and is cut off", "ff 80", "a header that is cut off"],
    ["whose name is not there", "00", "a header that is cut off"],
    ["whose name is cut off", "00 02 61", "a header that is cut off"],
    ["whose value is not there", "00 01 61", "a header that is cut off"],
    ["whose value is cut off", "00 01 61 02 62", "a header that is cut off"],
    ["whose coded value is cut off", "00 01 61 82 64", "a header that is cut off"],
    ["whose coded value has a wrong end", "00 01 61 81 ff", "a string with a wrong end"],
    ["that wants a table", "21", "a table of headers that was not allowed"],
    ["that wants a large table", "3f e1 1f", "a table of headers that was not allowed"],
    ["that wants a table after the first header", "88 21", "a table of headers that was not allowed"],
  ])("%s is refused", (_, bytes, why) => {
    expect(outcome(() => plain(readFields(hex(bytes))))).toBe(why);
    expect(outcome(() => plain(new FieldsReader().read(hex(bytes))))).toBe(why);
  });

  it("may say that there is no table", () => {
    expect(plain(readFields(hex("20 88")))).toEqual({ ":status": "200" });
    expect(plain(readFields(hex("20")))).toEqual({});
    expect(plain(readFields(hex("")))).toEqual({});
  });

  it("is refused when it is cut off at any byte within a header", () => {
    const whole = writeFields([["name", "value".repeat(100)]]);
    for (let length = 1; length < whole.length; length++)
      expect(outcome(() => plain(readFields(whole.subarray(0, length))))).toBe("a header that is cut off");
  });

  it("is read or refused, whatever its bytes are", () => {
    const seen = { read: 0, refused: 0 };
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        const came = outcome(() => readFields(Buffer.from(bytes)));
        expect(came instanceof Map || typeof came === "string").toBe(true);
        seen[typeof came === "string" ? "refused" : "read"]++;
      }),
      { numRuns: 5000 },
    );
    expect(seen.read).toBeGreaterThan(50);
    expect(seen.refused).toBeGreaterThan(500);
  });

  it("adds nothing to any table, although it may ask for it", () => {
    const reader = new FieldsReader();
    const asking = hex("400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572");
    for (const each of [reader, reader, new FieldsReader()]) {
      expect(plain(each.read(asking))).toEqual({ "custom-key": "custom-header" });
      expect(outcome(() => plain(each.read(hex("be"))))).toBe("header 62 of a table that was not allowed");
    }
  });
});

describe("what a reader remembers", () => {
  const numbered = (index: number, length = 0): Buffer => writeFields([["n", `${index}${".".repeat(length)}`]]);

  it("is never another block's fields", () => {
    const reader = new FieldsReader();
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(40), fc.constantFrom(0, 1, 90, 150)), { maxLength: 100 }), (asked) => {
        for (const [index, length] of asked)
          expect(plain(reader.read(numbered(index, length)))).toEqual({ n: `${index}${".".repeat(length)}` });
      }),
      { numRuns: 200 },
    );
  });

  it("tells blocks apart that differ in one byte, whichever it is", () => {
    const reader = new FieldsReader();
    for (let at = 0; at < 100; at++)
      for (const code of [0, 0x41, 0x7f, 0x80, 0xc1, 0xff]) {
        const value = Buffer.alloc(100, 0x61);
        value[at] = code;
        const block = writeFields([["n", value.toString("latin1")]]);
        expect(plain(reader.read(block))).toEqual({ n: value.toString("latin1") });
      }
  });

  it("is not changed by what becomes of the bytes", () => {
    const reader = new FieldsReader();
    const bytes = numbered(1);
    const first = reader.read(bytes);
    bytes[bytes.length - 1] = 0x32;
    expect([plain(first), plain(reader.read(bytes)), plain(reader.read(numbered(1)))]).toEqual([
      { n: "1" },
      { n: "2" },
      { n: "1" },
    ]);
  });

  it("is a few short blocks: the same again is the same, and what is long or long ago is read anew", () => {
    const reader = new FieldsReader();
    const first = reader.read(numbered(0));
    expect(reader.read(numbered(0)) === first).toBe(true);
    const long = numbered(0, 200);
    expect(reader.read(long) === reader.read(long)).toBe(false);
    for (let index = 1; index <= 16; index++) reader.read(numbered(index));
    expect(reader.read(numbered(0)) === first).toBe(false);
    const refused = hex("be");
    for (let time = 0; time < 3; time++)
      expect(outcome(() => reader.read(refused))).toBe("header 62 of a table that was not allowed");
  });
});
