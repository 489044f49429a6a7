// A server that is scripted byte for byte: what the protocol does not allow ends the connection, and all that wait learn that there is no answer. What it allows has one outcome, however its bytes are cut.
import { afterEach, describe, expect, it } from "vitest";
import {
  ACK,
  answer,
  block,
  connected,
  CONTINUATION,
  DATA,
  END,
  END_HEADERS,
  frame,
  GOAWAY,
  GREETING,
  HEADERS,
  int32,
  OK,
  PADDED,
  PING,
  PRIORITY,
  PUSH,
  type RawServer,
  rawServer,
  RESET,
  setting,
  SETTINGS,
  settled,
  soon,
  TRAILERS,
  WINDOW,
  Wire,
  WITH_PRIORITY,
  Heard,
} from "./wire.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const each = (bytes: Buffer): Buffer[] => Array.from(bytes, (byte) => Buffer.of(byte));
const cutAt = (bytes: Buffer, at: number): Buffer[] => [bytes.subarray(0, at), bytes.subarray(at)];

/** Streams 1, 3 and 5 wait: of the answer to 1 a part has come, to 3 nothing, and 5 is over. */
const BEFORE = Buffer.concat([answer(5, "five"), frame(HEADERS, END_HEADERS, 1, OK), frame(DATA, 0, 1, "begun")]);
const PROTOCOL = 1;
const FLOW = 3;
const SIZE = 6;
const UNANSWERED = [
  { end: "lost", body: "begun" },
  { end: "lost", body: "" },
  { end: "whole", body: "five" },
];

/** A size of table that is allowed, again and again. */
const LONG_BLOCK = Buffer.alloc(16_384, 0x20);

const NOT_ALLOWED: readonly (readonly [name: string, bytes: Buffer, reason: number])[] = [
  ["content of a stream never opened", frame(DATA, END, 7, "x"), PROTOCOL],
  ["content of a stream with an even number", frame(DATA, END, 2, "x"), PROTOCOL],
  ["content of no stream", frame(DATA, END, 0, "x"), PROTOCOL],
  ["headers of a stream never opened", frame(HEADERS, END_HEADERS | END, 7, OK), PROTOCOL],
  ["headers of a stream with an even number", frame(HEADERS, END_HEADERS | END, 4, OK), PROTOCOL],
  ["headers of no stream", frame(HEADERS, END_HEADERS | END, 0, OK), PROTOCOL],
  ["the end of a stream never opened", frame(RESET, 0, 7, int32(8)), PROTOCOL],
  ["the end of no stream", frame(RESET, 0, 0, int32(8)), PROTOCOL],
  ["the end of a stream, too short", frame(RESET, 0, 3, Buffer.alloc(3)), SIZE],
  ["the end of a stream, too long", frame(RESET, 0, 3, Buffer.alloc(5)), SIZE],
  ["a window of a stream never opened", frame(WINDOW, 0, 7, int32(1)), PROTOCOL],
  ["a window of a stream with an even number", frame(WINDOW, 0, 2, int32(1)), PROTOCOL],
  ["a window that does not grow", frame(WINDOW, 0, 0, int32(0)), PROTOCOL],
  ["a window of a stream that does not grow", frame(WINDOW, 0, 1, int32(0)), PROTOCOL],
  ["a window without an end", frame(WINDOW, 0, 0, int32(0x7fff_ffff)), FLOW],
  ["a window of a stream without an end", frame(WINDOW, 0, 1, int32(0x7fff_ffff)), FLOW],
  ["a window that is cut off", frame(WINDOW, 0, 0, Buffer.alloc(3, 1)), SIZE],
  ["a window that is too long", frame(WINDOW, 0, 0, Buffer.alloc(5, 1)), SIZE],
  ["a push", frame(PUSH, END_HEADERS, 1, Buffer.concat([int32(2), OK])), PROTOCOL],
  ["a continuation alone", frame(CONTINUATION, END_HEADERS, 3, OK), PROTOCOL],
  ["a continuation after a whole block", Buffer.concat([frame(HEADERS, END_HEADERS, 3, OK), frame(CONTINUATION, END_HEADERS, 3, OK)]), PROTOCOL], // prettier-ignore
  ["a continuation of another stream", Buffer.concat([frame(HEADERS, END, 3, OK), frame(CONTINUATION, END_HEADERS, 1)]), PROTOCOL], // prettier-ignore
  ["content within a block of headers", Buffer.concat([frame(HEADERS, END, 3, OK), frame(DATA, 0, 1, "x"), frame(CONTINUATION, END_HEADERS, 3)]), PROTOCOL], // prettier-ignore
  ["other headers within a block of headers", Buffer.concat([frame(HEADERS, 0, 3, OK), frame(HEADERS, END_HEADERS | END, 1, TRAILERS)]), PROTOCOL], // prettier-ignore
  ["a ping within a block of headers", Buffer.concat([frame(HEADERS, END, 3, OK), frame(PING, 0, 0, Buffer.alloc(8))]), PROTOCOL], // prettier-ignore
  ["an unknown frame within a block of headers", Buffer.concat([frame(HEADERS, END, 3, OK), frame(99, 0, 3)]), PROTOCOL], // prettier-ignore
  ["a block of headers in too many frames", Buffer.concat([frame(HEADERS, END, 3, OK), ...Array.from({ length: 63 }, () => frame(CONTINUATION, 0, 3)), frame(CONTINUATION, END_HEADERS, 3)]), PROTOCOL], // prettier-ignore
  ["a block of headers that is too long", Buffer.concat([frame(HEADERS, END, 3, OK), ...Array.from({ length: 4 }, () => frame(CONTINUATION, 0, 3, LONG_BLOCK)), frame(CONTINUATION, END_HEADERS, 3)]), PROTOCOL], // prettier-ignore
  ["a block of headers that nobody can read", frame(HEADERS, END_HEADERS | END, 3, Buffer.of(0xbe)), PROTOCOL],
  ["a block of headers that nobody can read, of a stream that is over", frame(HEADERS, END_HEADERS | END, 5, Buffer.of(0xbe)), PROTOCOL], // prettier-ignore
  ["headers without the priority that they announce", frame(HEADERS, END_HEADERS | END | WITH_PRIORITY, 3, Buffer.alloc(4)), SIZE], // prettier-ignore
  ["headers of nothing but padding", frame(HEADERS, END_HEADERS | END | PADDED, 3, Buffer.of(2, 0x88)), PROTOCOL],
  ["content whose padding is longer than the frame", frame(DATA, PADDED, 1, Buffer.of(4, 0x61, 0, 0)), PROTOCOL],
  ["content without the length of its padding", frame(DATA, PADDED, 1), PROTOCOL],
  ["content of a stream that is over, with padding longer than the frame", frame(DATA, PADDED, 5, Buffer.of(9, 0)), PROTOCOL], // prettier-ignore
  ["settings of a stream", frame(SETTINGS, 0, 1), PROTOCOL],
  ["settings that are cut off", frame(SETTINGS, 0, 0, Buffer.alloc(5)), SIZE],
  ["settings that are too long", frame(SETTINGS, 0, 0, Buffer.alloc(7)), SIZE],
  ["settings that are accepted and sent", frame(SETTINGS, ACK, 0, setting(3, 100)), SIZE],
  ["a setting of too large windows", frame(SETTINGS, 0, 0, setting(4, 0x8000_0000)), FLOW],
  ["a setting of too short frames", frame(SETTINGS, 0, 0, setting(5, 16_383)), PROTOCOL],
  ["a setting of too long frames", frame(SETTINGS, 0, 0, setting(5, 0x100_0000)), PROTOCOL],
  ["a ping of a stream", frame(PING, 0, 1, Buffer.alloc(8)), PROTOCOL],
  ["a ping that is cut off", frame(PING, 0, 0, Buffer.alloc(7)), SIZE],
  ["a ping that is too long", frame(PING, ACK, 0, Buffer.alloc(9)), SIZE],
  ["the end of the connection, cut off", frame(GOAWAY, 0, 0, Buffer.alloc(7)), SIZE],
  ["the end of the connection, of a stream", frame(GOAWAY, 0, 1, Buffer.alloc(8)), PROTOCOL],
  ["a frame that is too long", Buffer.concat([Buffer.of(0, 0x40, 1, DATA, 0, 0, 0, 0, 1)]), PROTOCOL],
];

/** Three requests, and what came of them when the server said this, with what was sent in answer. */
async function played(chunks: readonly Buffer[]): Promise<{ wire: Wire; heard: readonly Heard[] }> {
  const wire = new Wire();
  wire.say(GREETING);
  const heard = [wire.ask(), wire.ask(), wire.ask()];
  wire.say(BEFORE);
  for (const chunk of chunks) wire.say(chunk);
  await settled();
  return { wire, heard };
}

describe.each(NOT_ALLOWED)("%s", (_, bytes, reason) => {
  // An answer that comes after it is not believed either.
  const all = Buffer.concat([bytes, answer(3, "late")]);

  it("ends the connection, and all that wait learn that there is no answer", async () => {
    for (const chunks of [[all], each(all), [bytes, answer(3, "late")]]) {
      const { wire, heard } = await played(chunks);
      expect(heard.map(({ end, body }) => ({ end, body }))).toEqual(UNANSWERED);
      expect(wire.told.all).toEqual(["greeted", "closed"]);
      expect(wire.told.cause).toMatchObject({ name: "Http2Error", code: "ERR_HTTP2", reason });
      expect(wire.sentOf(GOAWAY).map(({ content }) => [...content])).toEqual([[...int32(0, reason)]]);
      expect([wire.connection.isFit, wire.destroyed, wire.isLetEnd]).toEqual([false, true, true]);
      const next = wire.ask();
      await settled();
      expect(next.end).toBe("unsent");
    }
  });
});

describe("what does not begin with settings", () => {
  it.each([
    ["HTTP/1.1", Buffer.from("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")],
    ["a ping", frame(PING, 0, 0, Buffer.alloc(8))],
    ["the acceptance of settings", frame(SETTINGS, ACK, 0)],
    ["an answer", answer(1, "x")],
    ["an unknown frame", frame(99, 0, 0)],
    ["the end of the connection", frame(GOAWAY, 0, 0, int32(0, 0))],
  ])("%s: does not speak HTTP/2", async (_, bytes) => {
    for (const chunks of [[bytes], each(bytes)]) {
      const wire = new Wire();
      const heard = wire.ask();
      wire.say(...chunks, GREETING, answer(1, "late"));
      await settled();
      expect({ told: wire.told.all, end: heard.end, body: heard.body }).toEqual({
        told: ["closed"],
        end: "lost",
        body: "",
      });
    }
  });
});

const ONLY_ITS_STREAM: readonly (readonly [name: string, bytes: Buffer])[] = [
  ["content before headers", frame(DATA, END, 3, "x")],
  ["a block without a status", frame(HEADERS, END_HEADERS | END, 3, TRAILERS)],
  ["a passing status that ends the stream", frame(HEADERS, END_HEADERS | END, 3, block([":status", "103"]))],
  ["a second block that is not the last", Buffer.concat([frame(HEADERS, END_HEADERS, 3, OK), frame(HEADERS, END_HEADERS, 3, TRAILERS), frame(DATA, END, 3)])], // prettier-ignore
  ["a second block with a status", Buffer.concat([frame(HEADERS, END_HEADERS, 3, OK), frame(HEADERS, END_HEADERS | END, 3, OK)])], // prettier-ignore
  ["a passing status after the headers", Buffer.concat([frame(HEADERS, END_HEADERS, 3, OK), frame(HEADERS, END_HEADERS, 3, block([":status", "100"]))])], // prettier-ignore
];

describe.each(ONLY_ITS_STREAM)("%s", (_, bytes) => {
  it("ends its stream without an answer, and no other", async () => {
    const all = Buffer.concat([bytes, answer(3, "late"), frame(DATA, 0, 1, "!"), frame(HEADERS, END_HEADERS | END, 1, TRAILERS)]); // prettier-ignore
    for (const chunks of [[all], each(all)]) {
      const { wire, heard } = await played(chunks);
      expect(heard.map(({ end }) => end)).toEqual(["whole", "code 1", "whole"]);
      expect(heard.map(({ body }) => body)).toEqual(["begun!", "", "five"]);
      expect(wire.sentOf(RESET).map(({ stream, content }) => [stream, ...content])).toEqual([[3, 0, 0, 0, 1]]);
      expect(wire.told.all).toEqual(["greeted"]);
    }
  });
});

const ALLOWED: readonly (readonly [name: string, bytes: Buffer, outcome: readonly (string | undefined)[]])[] = [
  ["two answers, one within the other", Buffer.concat([frame(HEADERS, END_HEADERS, 3, OK), frame(DATA, 0, 3, "th"), frame(DATA, END, 1, " one"), frame(DATA, END, 3, "ree")]), ["whole begun one", "whole three"]], // prettier-ignore
  ["an answer in one block", frame(HEADERS, END_HEADERS | END, 3, OK), ["begun", "whole "]],
  ["headers in many frames", Buffer.concat([frame(HEADERS, END, 3, OK.subarray(0, 1)), frame(CONTINUATION, 0, 3), frame(CONTINUATION, 0, 3, OK.subarray(1, 4)), frame(CONTINUATION, END_HEADERS, 3, OK.subarray(4))]), ["begun", "whole "]], // prettier-ignore
  ["headers in the most frames", Buffer.concat([frame(HEADERS, END, 3, OK), ...Array.from({ length: 62 }, () => frame(CONTINUATION, 0, 3)), frame(CONTINUATION, END_HEADERS, 3)]), ["begun", "whole "]], // prettier-ignore
  ["padding", Buffer.concat([frame(DATA, PADDED, 1, Buffer.from("\u0003!\0\0\0")), frame(DATA, PADDED, 1, "\0?"), frame(DATA, PADDED, 1, "\u0001\0"), frame(DATA, PADDED | END, 1, "\0")]), ["whole begun!?", undefined]], // prettier-ignore
  ["headers with padding and a priority", frame(HEADERS, END_HEADERS | END | PADDED | WITH_PRIORITY, 3, Buffer.concat([Buffer.of(2), Buffer.alloc(5), OK, Buffer.alloc(2)])), ["begun", "whole "]], // prettier-ignore
  ["passing headers", Buffer.concat([frame(HEADERS, END_HEADERS, 3, block([":status", "100"])), frame(HEADERS, END_HEADERS, 3, block([":status", "103"])), answer(3, "three")]), ["begun", "whole three"]], // prettier-ignore
  ["frames of streams that are over", Buffer.concat([answer(5, "more"), frame(DATA, END, 5, "more"), frame(RESET, 0, 5, int32(8)), frame(WINDOW, 0, 5, int32(9)), frame(HEADERS, END, 5, OK), frame(CONTINUATION, END_HEADERS, 5), answer(3, "three")]), ["begun", "whole three"]], // prettier-ignore
  ["what nobody knows", Buffer.concat([frame(99, 255, 77, "x"), frame(PRIORITY, 0, 1, Buffer.alloc(5)), frame(SETTINGS, 0, 0, setting(77, 7)), answer(3, "three")]), ["begun", "whole three"]], // prettier-ignore
  ["the end of a stream", Buffer.concat([frame(RESET, 0, 1, int32(2)), frame(DATA, END, 1, "late"), frame(RESET, 0, 3, int32(7))]), ["code 2 begun", "code 7 "]], // prettier-ignore
  ["the end of a stream that says no error, before its answer is whole", frame(RESET, 0, 1, int32(0)), ["code 0 begun", undefined]], // prettier-ignore
  ["a refusal of what was begun to be answered", Buffer.concat([frame(RESET, 0, 1, int32(7)), frame(HEADERS, END_HEADERS, 3, OK), frame(RESET, 0, 3, int32(7))]), ["code 7 begun", "code 7 "]], // prettier-ignore
  ["the end of the connection before what was begun to be answered", frame(GOAWAY, 0, 0, int32(0, 0)), ["code 7 begun", "code 7 "]], // prettier-ignore
  ["the end of the connection after stream 1", Buffer.concat([frame(GOAWAY, 0, 0, int32(1, 0)), answer(3, "late"), frame(DATA, END, 1, " one")]), ["whole begun one", "code 7 "]], // prettier-ignore
  ["the end of the connection after stream 3", Buffer.concat([frame(GOAWAY, 0, 0, int32(3, 0)), answer(3, "three"), frame(DATA, END, 1, " one")]), ["whole begun one", "whole three"]], // prettier-ignore
  ["trailers without a field, with a priority", frame(HEADERS, END_HEADERS | END | WITH_PRIORITY, 1, Buffer.alloc(5)), ["whole begun", undefined]], // prettier-ignore
  ["the acceptance of settings", Buffer.concat([frame(SETTINGS, ACK, 0), answer(3, "three")]), ["begun", "whole three"]], // prettier-ignore
  ["the end of the connection, announced", Buffer.concat([frame(GOAWAY, 0, 0, Buffer.concat([int32(0x7fff_ffff, 0), Buffer.from("soon")])), frame(GOAWAY, 0, 0, int32(1, 0)), frame(DATA, END, 1, " one")]), ["whole begun one", "code 7 "]], // prettier-ignore
];

describe.each(ALLOWED)("%s", (_, bytes, outcome) => {
  it("has the same outcome however it is cut", async () => {
    const outcomes = new Set<string>();
    const cuts = Array.from({ length: bytes.length - 1 }, (_, index) => cutAt(bytes, index + 1));
    for (const chunks of [[bytes], each(bytes), ...cuts]) {
      const { wire, heard } = await played(chunks);
      const said = heard.slice(0, 2).map(({ end, body }) => (end === undefined ? body || undefined : `${end} ${body}`));
      expect(said).toEqual(outcome);
      expect(wire.told.cause).toBe(undefined);
      outcomes.add(JSON.stringify([heard.map(({ story }) => story), wire.told.all, wire.sent]));
    }
    expect(outcomes.size).toBe(1);
  });
});

it("headers and trailers are told in order, and passing headers are not", async () => {
  const { heard } = await played([
    frame(HEADERS, END_HEADERS, 3, block([":status", "100"], ["x", "passing"])),
    frame(HEADERS, END_HEADERS, 3, block([":status", "200"], ["x", "first"])),
    frame(HEADERS, END_HEADERS | END, 3, block(["x", "last"])),
  ]);
  expect(heard[1]?.story).toEqual({
    end: "whole",
    body: "",
    fields: [{ ":status": "200", x: "first" }, { x: "last" }],
  });
});

describe("over a real socket", () => {
  const started = async (): Promise<RawServer> => {
    const server = await rawServer();
    ends.push(() => server.stop());
    return server;
  };

  it.each([
    ["what is not allowed", frame(DATA, END, 7, "x")],
    ["HTTP/1.1", Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")],
  ])("%s closes it, and tells the server why", async (_, bytes) => {
    const server = await started();
    const { connection, told } = await connected(server.port);
    const socket = await server.socket;
    const heard = new Heard();
    socket.write(GREETING);
    await soon("the greeting", told.greeted);
    connection.request(OK, Buffer.from("x"), heard);
    await server.untilSent(DATA, 1);
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.write(bytes);
    expect(await heard.untilEnd()).toBe("lost");
    expect((await server.untilSent(GOAWAY, 0)).content).toEqual(int32(0, 1));
    await soon("the end of the connection", closed);
    expect(told.all).toEqual(["greeted", "closed"]);
  });

  it.each(["end", "destroy", "resetAndDestroy"] as const)(
    "a server that goes in the middle of an answer (%s) leaves no answer",
    async (how) => {
      const server = await started();
      const { connection, told } = await connected(server.port);
      const socket = await server.socket;
      const heard = [new Heard(), new Heard()];
      socket.write(GREETING);
      for (const each of heard) connection.request(OK, Buffer.from("x"), each);
      await server.untilSent(DATA, 3);
      const part = Buffer.concat([answer(1, "one"), answer(3, "three")]).subarray(0, -1);
      await new Promise<void>((resolve) => socket.write(part, () => resolve()));
      expect(await heard[0]?.untilEnd()).toBe("whole");
      socket[how]();
      expect(await heard[1]?.untilEnd()).toBe("lost");
      await soon("the end of the connection", told.closed);
      expect(connection.isFit).toBe(false);
    },
  );
});
