// What is an answer and where it ends, byte by byte: what RFC 9112 allows is read however it is cut into parts, and what it does not allow is refused with what it is.
import { describe, expect, it } from "vitest";
import { HttpAnswerReader, LONGEST_HEAD } from "../../../src/clients/http/answer-reader.ts";
import type { AnswerHead } from "../../../src/clients/http/answer-head.ts";

interface Read {
  readonly heads: AnswerHead[];
  body: string;
  whole: number;
  problem: string | undefined;
}

function reader(): { readonly reader: HttpAnswerReader; readonly read: Read } {
  const read: Read = { heads: [], body: "", whole: 0, problem: undefined };
  const made = new HttpAnswerReader({
    head: (head) => void read.heads.push(head),
    part: (bytes) => void (read.body += bytes.toString("latin1")),
    whole: () => void read.whole++,
  });
  return { reader: made, read };
}

/** The parts are read one after the other, each in memory that is overwritten afterwards. */
function readAll(parts: readonly string[], isEnded = false): Read {
  const { reader: made, read } = reader();
  made.expect();
  try {
    for (const part of parts) {
      const lent = Buffer.from(part, "latin1");
      made.take(lent);
      lent.fill("#");
    }
    if (isEnded) made.finish();
  } catch (error) {
    read.problem = (error as Error).message;
  }
  return read;
}

const problemOf = (...parts: readonly string[]) => readAll(parts).problem ?? "none";

const PLAIN = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhello";
const CHUNKED = "HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n";

describe("an answer", () => {
  const WHOLE: readonly (readonly [what: string, text: string, status: number, body: string])[] = [
    ["with a length", PLAIN, 200, "hello"],
    ["with the length 0", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", 200, ""],
    ["in chunks", CHUNKED, 201, "hello world"],
    [
      "in chunks with extensions and trailers",
      'HTTP/1.1 200 OK\r\nTransfer-Encoding:Chunked\r\n\r\n0a ;n="v;w"\r\n0123456789\r\n000;x\r\nA: b\r\nC:\r\n\r\n',
      200,
      "0123456789",
    ],
    ["without words for its status", "HTTP/1.1 409 \r\ncontent-length:2\t \r\n\r\n{}", 409, "{}"],
    ["without even a space behind its status", "HTTP/1.1 409\r\ncontent-length: 2\r\n\r\n{}", 409, "{}"],
    ["204, whatever its headers say", "HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n", 204, ""],
    ["304, whatever its headers say", "HTTP/1.1 304 Not Modified\r\ntransfer-encoding: chunked\r\n\r\n", 304, ""],
    [
      "after interim heads",
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${PLAIN}`,
      200,
      "hello",
    ],
  ];

  it.each(WHOLE)("%s is whole at its last byte, wherever it is cut", (_, text, status, body) => {
    const whole = { body, whole: 1, problem: undefined };
    expect(readAll([text])).toMatchObject(whole);
    expect(readAll([text]).heads).toMatchObject([{ status }]);
    expect(readAll(text.split(""))).toMatchObject(whole);
    for (let at = 1; at < text.length; at++) {
      expect(readAll([text.slice(0, at), text.slice(at)])).toMatchObject(whole);
      expect(readAll([text.slice(0, at)]).whole).toBe(0);
    }
  });

  it("without a length ends with its connection, and every other one is cut off by that", () => {
    const open = "HTTP/1.1 503 Busy\r\nconnection: close\r\n\r\nno length";
    expect(readAll([open])).toMatchObject({ whole: 0, heads: [{ end: "close", closes: true }] });
    expect(readAll(open.split(""), true)).toMatchObject({ whole: 1, body: "no length" });
    expect(readAll(["HTTP/1.0 400 Bad Request\r\n\r\nplain"], true)).toMatchObject({ whole: 1, body: "plain" });
    for (const text of [PLAIN, CHUNKED])
      for (let at = 0; at < text.length; at++) expect(readAll([text.slice(0, at)], true).whole).toBe(0);
  });

  it.each([
    ["HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", false],
    ["HTTP/1.1 200 OK\r\ncontent-length: 0\r\nConnection: Close\r\n\r\n", true],
    ["HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: a, close ,b\r\n\r\n", true],
    ["HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: a\r\nconnection: close\r\n\r\n", true],
    ["HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: enclosed\r\n\r\n", false],
    ["HTTP/1.0 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n", true],
  ])("%j says whether the connection serves another request", (text, closes) => {
    expect(readAll([text]).heads).toMatchObject([{ closes }]);
  });

  it("says how long an idle connection is kept, and when to come again", () => {
    const text = "HTTP/1.1 429 Busy\r\nRetry-After: 7 \r\nKeep-Alive: timeout=5, max=9\r\ncontent-length: 0\r\n\r\n";
    expect(readAll([text]).heads).toMatchObject([{ retryAfter: "7", keepsSeconds: 5 }]);
  });
});

const head = (headers: string, line = "HTTP/1.1 200 OK") => `${line}\r\n${headers}\r\n\r\n`;

describe("what is refused:", () => {
  it.each([
    ["two lengths", head("content-length: 5\r\nContent-Length: 5"), /two headers content-length/],
    ["two codings", head("transfer-encoding: chunked\r\ntransfer-encoding: chunked"), /two headers transfer-encoding/],
    [
      "a length and a coding",
      head("content-length: 5\r\ntransfer-encoding: chunked"),
      /a length and a transfer coding/,
    ],
    [
      "a coding and a length",
      head("transfer-encoding: chunked\r\ncontent-length: 5"),
      /a length and a transfer coding/,
    ],
    ["a list of lengths", head("content-length: 5, 5"), /has the length "5, 5"/],
    ["a signed length", head("content-length: +5"), /has the length "\+5"/],
    ["a negative length", head("content-length: -1"), /has the length "-1"/],
    ["a hexadecimal length", head("content-length: 0x5"), /has the length "0x5"/],
    ["a length of nothing", head("content-length:"), /has the length ""/],
    ["a length that cannot be counted", head("content-length: 9999999999999999"), /has the length "9999999999999999"/],
    ["another coding", head("transfer-encoding: gzip, chunked"), /has the coding "gzip, chunked"/],
    ["a coding that is not the last", head("transfer-encoding: chunked, identity"), /has the coding/],
    ["a coding in HTTP/1.0", head("transfer-encoding: chunked", "HTTP/1.0 200 OK"), /has the coding/],
    ["a space before the colon", head("content-length : 5"), /no header: "content-length : 5"/],
    ["a line that goes on", head("x: a\r\n b"), /no header: " b"/],
    ["a line without a colon", head("nothing"), /no header: "nothing"/],
    ["a name of nothing", head(": a"), /no header: ": a"/],
    ["a line feed alone", head("x: a\ncontent-length: 5"), /no header/],
    ["a carriage return alone", head("x: a\rcontent-length: 5"), /no header/],
    ["a null byte", head("x: \0"), /no header/],
    ["another version", head("content-length: 0", "HTTP/2 200"), /begins with "HTTP\/2 200"/],
    ["a status of two digits", head("content-length: 0", "HTTP/1.1 20 OK"), /begins with/],
    ["a status that is none", head("content-length: 0", "HTTP/1.1 600 OK"), /begins with/],
    ["two spaces in the first line", head("content-length: 0", "HTTP/1.1  200 OK"), /begins with/],
    [
      "a protocol that was not asked for",
      head("upgrade: h2c", "HTTP/1.1 101 Switching Protocols"),
      /nobody has asked for/,
    ],
    ["something else than HTTP", "SSH-2.0-OpenSSH_9.2\r\n", /begins with "S/],
    ["the alert of a server of TLS", "\x15\x03\x01\x00\x02\x02\x46", /begins with/],
    ["bytes behind the answer", `${PLAIN}!`, /no answer to any request: "!"/],
    ["two answers", `${PLAIN}${PLAIN}`, /no answer to any request: "H/],
    ["a body where there is none", `${head("content-length: 5", "HTTP/1.1 204 No Content")}hello`, /no answer to any/],
    ["a body behind the last chunk", `${CHUNKED}0\r\n\r\n`, /no answer to any request: "0/],
    ["no end of interim heads", "HTTP/1.1 100 Continue\r\n\r\n".repeat(17), /interim heads without end/],
  ])("%s", (_, text, problem) => {
    expect(problemOf(text)).toMatch(problem);
    expect(problemOf(...text.split(""))).toMatch(problem);
  });

  const chunk = (text: string) => `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${text}`;

  it.each([
    ["a chunk without a length", "\r\nhello", /a chunk has the length ""/],
    ["a chunk with a sign", "+5\r\nhello\r\n", /a chunk has the length "\+5"/],
    ["a chunk with a prefix", "0x5\r\nhello\r\n", /a chunk has the length "0x5"/],
    ["a chunk with a space before its length", " 5\r\nhello\r\n", /a chunk has the length " 5"/],
    ["a chunk with a space behind its length", "5 \r\nhello\r\n", /a chunk has the length "5 "/],
    ["a chunk whose length cannot be counted", "100000000\r\n", /a chunk has the length "100000000"/],
    ["a chunk's length that ends with a line feed", "5\nhello\r\n", /a line feed alone/],
    ["a line feed in an extension", "5;a\nb\r\nhello", /a line feed alone/],
    ["a carriage return in an extension", "5;a\rb\r\nhello", /a chunk has the length/],
    ["a chunk that is longer than its length", "4\r\nhello\r\n", /longer than its length/],
    ["a chunk that ends with a line feed", "5\r\nhello\n", /longer than its length/],
    ["a chunk that ends with a carriage return alone", "5\r\nhello\r0\r\n\r\n", /longer than its length/],
    ["an extension without end", `5;${"x".repeat(2000)}`, /has no end/],
    ["a trailer that is no header", "0\r\nnothing\r\n\r\n", /no header: "nothing"/],
    ["a trailer without end", `0\r\n${"x: y\r\n".repeat(4000)}`, /a trailer has more than 16384 bytes/],
  ])("%s", (_, text, problem) => {
    expect(problemOf(chunk(text))).toMatch(problem);
    expect(problemOf(...chunk(text).split(""))).toMatch(problem);
  });

  it("a head that has no end, before it is whole", () => {
    const { reader: made } = reader();
    made.expect();
    made.take(Buffer.from("HTTP/1.1 200 OK\r\n"));
    const line = Buffer.from(`x: ${"y".repeat(95)}\r\n`);
    let taken = 0;
    expect(() => {
      for (; taken < 10 * LONGEST_HEAD; taken += line.length) made.take(line);
    }).toThrow(/a head of more than 16384 bytes/);
    expect(taken).toBeLessThan(LONGEST_HEAD + 200);
    expect(problemOf(head(`x: ${"y".repeat(LONGEST_HEAD)}`))).toMatch(/a head of more than/);
  });

  it("bytes that come while no request waits, before the first one and between two", () => {
    const { reader: made, read } = reader();
    expect(() => made.take(Buffer.from("H"))).toThrow(/no answer to any request: "H"/);
    const second = reader();
    second.reader.expect();
    second.reader.take(Buffer.from(PLAIN));
    expect(() => second.reader.take(Buffer.from(PLAIN))).toThrow(/no answer to any request/);
    expect(read.heads).toEqual([]);
  });
});
