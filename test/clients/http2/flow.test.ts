// What goes on beside the answers, against a server that is scripted byte for byte: windows, how many streams there are at once, pings, and the order in which things are sent.
import { expect, it } from "vitest";
import {
  ACK,
  answer,
  DATA,
  END,
  END_HEADERS,
  frame,
  framesIn,
  GOAWAY,
  GREETING,
  Heard,
  HEADERS,
  int32,
  OK,
  PADDED,
  PING,
  RESET,
  setting,
  SETTINGS,
  settled,
  WINDOW,
  WINDOW_SIZE,
  Wire,
} from "./wire.ts";

it("an answer that is whole before the request was sent ends the stream on both sides", async () => {
  const wire = new Wire();
  wire.say(frame(SETTINGS, 0, 0, setting(4, 3)));
  const heard = wire.ask(Buffer.from("long"));
  wire.say(answer(1, "whole"), frame(WINDOW, 0, 1, int32(100)));
  await settled();
  expect([heard.end, heard.body]).toEqual(["whole", "whole"]);
  expect(wire.sentOf(RESET).map(({ stream, content }) => [stream, ...content])).toEqual([[1, 0, 0, 0, 8]]);
  expect(wire.sentOf(DATA).map(({ content }) => content.toString())).toEqual(["lon"]);
});

it("a stream that was given up hears nothing more, whatever comes in the same chunk", async () => {
  const wire = new Wire();
  wire.say(GREETING);
  const heard = new Heard();
  const stream = wire.connection.request(OK, Buffer.from("x"), heard);
  const other = wire.ask();
  heard.hearData = () => stream.cancel();
  wire.say(Buffer.concat([answer(1, "one"), answer(3, "three")]));
  await settled();
  expect([heard.end, heard.fields.length, other.end, other.body]).toEqual(["code 8", 1, "whole", "three"]);
  expect(wire.sentOf(RESET).map((each) => each.stream)).toEqual([1]);
});

it("the windows are told to the server when half of them has come, of streams that are over, too", async () => {
  const wire = new Wire(100_000);
  wire.say(GREETING);
  const heard = wire.ask();
  await settled();
  expect(wire.sentOf(WINDOW).map(({ content }) => content.readUInt32BE())).toEqual([100_000 - 65_535]);
  const settings = wire.sentOf(SETTINGS).map(({ flags, content }) => [flags, content.toString("hex")]);
  expect(settings).toEqual([[0, "0001000000000002000000000004000186a0"], [ACK, ""]]); // prettier-ignore
  const padded = Buffer.concat([Buffer.of(99), Buffer.alloc(10_000 - 1)]);
  wire.say(frame(HEADERS, END_HEADERS, 1, OK), ...Array.from({ length: 5 }, () => frame(DATA, PADDED, 1, padded)));
  await settled();
  const told = () => wire.sentOf(WINDOW).slice(1).map(({ stream, content }) => [stream, content.readUInt32BE()]); // prettier-ignore
  expect(told()).toEqual([[0, 50_000], [1, 50_000]]); // prettier-ignore
  expect(heard.body).toHaveLength(5 * 9_900);
  wire.say(frame(DATA, END, 1, "end"), ...Array.from({ length: 5 }, () => frame(DATA, 0, 1, Buffer.alloc(10_000))));
  await settled();
  expect(told().slice(2)).toEqual([[0, 50_003]]);
  expect(heard.end).toBe("whole");
});

it("content waits for both windows, and an end without content for none", async () => {
  const wire = new Wire();
  wire.say(frame(SETTINGS, 0, 0, setting(4, 10)));
  const open = (body: Buffer | undefined) => wire.connection.request(OK, body, new Heard());
  const first = open(undefined);
  first.write(Buffer.from("12345678"));
  // The window is now -8, and the rest must not count as given back.
  wire.say(frame(SETTINGS, 0, 0, setting(4, 0)));
  first.finish(Buffer.alloc(0));
  await settled();
  const sent = (stream: number) => wire.sentOf(DATA, stream).map(({ flags, content }) => `${content.length}${flags === END ? " end" : ""}`); // prettier-ignore
  expect(sent(1)).toEqual(["8", "0 end"]);
  // The whole connection has 65535, of which 8 are gone.
  wire.say(frame(SETTINGS, 0, 0, setting(4, 1_000_000)));
  open(Buffer.alloc(70_000));
  await settled();
  expect(sent(3)).toEqual(["16384", "16384", "16384", `${65_535 - 8 - 3 * 16_384}`]);
  const third = open(undefined);
  third.write(Buffer.from("waits"));
  await settled();
  expect(sent(5)).toEqual([]);
  wire.say(frame(WINDOW, 0, 5, int32(100)));
  await settled();
  expect(sent(5)).toEqual([]);
  wire.say(frame(WINDOW, 0, 0, int32(70_000 - 65_535 + 8)));
  await settled();
  expect(sent(3).slice(4)).toEqual([`${70_000 - 65_535 + 8} end`]);
  expect(sent(5)).toEqual([]);
  wire.say(frame(WINDOW, 0, 0, int32(3)), frame(WINDOW, 0, 0, int32(3)));
  await settled();
  expect(sent(5)).toEqual(["3", "2"]);
});

it("the window of a stream is opened for that stream, and a setting opens it for all", async () => {
  const wire = new Wire();
  wire.say(frame(SETTINGS, 0, 0, setting(4, 0)));
  const heard = [wire.ask(), wire.ask()];
  const sent = (stream: number) => wire.sentOf(DATA, stream).map(({ content }) => content.toString()).join(); // prettier-ignore
  await settled();
  expect([sent(1), sent(3)]).toEqual(["", ""]);
  wire.say(frame(WINDOW, 0, 3, int32(2)));
  await settled();
  expect([sent(1), sent(3)]).toEqual(["", "as"]);
  wire.say(frame(SETTINGS, 0, 0, setting(4, 2)));
  await settled();
  expect([sent(1), sent(3)]).toEqual(["as", "as,k"]);
  expect(heard.map(({ end }) => end)).toEqual([undefined, undefined]);
  // A server may count with the larger window only when it reads that the setting is accepted.
  const last = wire.sent.slice(-3).map(({ type, stream }) => `${type}/${stream}`);
  expect(last).toEqual(["4/0", "0/1", "0/3"]);
});

it("no more streams are begun than the server takes, and those that wait begin in order", async () => {
  const wire = new Wire();
  wire.say(frame(SETTINGS, 0, 0, setting(3, 2)));
  const heard = Array.from({ length: 6 }, () => wire.ask());
  const begun = () => wire.sentOf(HEADERS).map(({ stream }) => stream);
  await settled();
  expect(begun()).toEqual([1, 3]);
  wire.say(answer(3, "3"));
  await settled();
  expect(begun()).toEqual([1, 3, 5]);
  wire.say(frame(SETTINGS, 0, 0, setting(3, 3)), frame(RESET, 0, 1, int32(8)));
  await settled();
  expect(begun()).toEqual([1, 3, 5, 7, 9]);
  // The server has not looked at the last two, of which one was never sent.
  wire.say(frame(GOAWAY, 0, 0, int32(7, 0)));
  expect(heard.map(({ end }) => end)).toEqual(["code 8", "whole", undefined, undefined, "code 7", "code 7"]);
  expect(wire.told.all).toEqual(["greeted", "goes away"]);
  const late = wire.ask();
  await settled();
  expect(late.end).toBe("code 7");
  wire.say(answer(5, "5"), answer(7, "7"));
  await settled();
  expect(heard.map(({ body }) => body)).toEqual(["", "3", "5", "7", "", ""]);
  expect(begun()).toEqual([1, 3, 5, 7, 9]);
  expect(wire.told.all).toEqual(["greeted", "goes away", "closed"]);
});

it("of what was never sent, the end of the connection says so, and of nothing else", async () => {
  const wire = new Wire();
  wire.say(frame(SETTINGS, 0, 0, setting(3, 1)));
  const heard = [wire.ask(), wire.ask()];
  const cause = new Error("cut");
  wire.emit("error", cause);
  wire.destroy();
  await settled();
  expect(heard.map(({ end }) => end)).toEqual(["lost", "code 7"]);
  expect(heard[0]?.ends[0]).toEqual({ lost: cause });
  expect(wire.told).toMatchObject({ all: ["greeted", "closed"], cause });
});

it("all that is sent in one turn goes out together, and in order", async () => {
  const wire = new Wire();
  await settled();
  expect(wire.writes).toBe(1);
  wire.say(Buffer.concat([GREETING, frame(PING, 0, 0, "12345678")]));
  for (let count = 0; count < 3; count++) wire.ask();
  wire.connection.ping(() => {});
  expect(wire.writes).toBe(1);
  await settled();
  expect(wire.writes).toBe(2);
  const order = wire.sent.map(({ type, stream }) => `${type}/${stream}`);
  expect(order).toEqual(["4/0", "8/0", "4/0", "6/0", "1/1", "0/1", "1/3", "0/3", "1/5", "0/5", "6/0"]);
});

it("a ping is answered by what it bears, and not by another one's answer", async () => {
  const wire = new Wire();
  wire.say(GREETING);
  const answered: string[] = [];
  wire.connection.ping(() => answered.push("first"));
  wire.connection.ping(() => answered.push("second"));
  await settled();
  const [first, second] = wire.sentOf(PING).map(({ content }) => content);
  wire.say(frame(PING, ACK, 0, "whatever"));
  expect(answered).toEqual([]);
  for (let time = 0; time < 2; time++) wire.say(frame(PING, ACK, 0, second));
  expect(answered).toEqual(["second"]);
  wire.say(frame(PING, ACK, 0, first));
  expect(answered).toEqual(["second", "first"]);
});

it("the preface comes first, and frames after it", async () => {
  const wire = new Wire(WINDOW_SIZE);
  await settled();
  expect(wire.sent.map(({ type }) => type)).toEqual([SETTINGS, WINDOW]);
  expect(framesIn(Buffer.alloc(0))).toEqual([]);
});

it.each([
  ["pings", frame(PING, 0, 0, "12345678"), PING],
  ["settings", frame(SETTINGS, 0, 0, setting(77, 7)), SETTINGS],
])("a server that sends %s without end and reads nothing is left", async (_, bytes, type) => {
  const wire = new Wire();
  wire.say(GREETING);
  const heard = wire.ask();
  for (let time = 0; time < 3000; time++) wire.say(bytes);
  await settled();
  expect(wire.sentOf(type).length).toBeGreaterThanOrEqual(3000);
  const before = wire.sentOf(type).length;
  expect(wire.told.all).toEqual(["greeted"]);
  wire.writableNeedDrain = true;
  for (let time = 0; time < 3000; time++) wire.say(bytes);
  await settled();
  expect(wire.sentOf(type).length - before).toBe(1000);
  expect([wire.told.all, heard.end]).toEqual([["greeted", "closed"], "lost"]);
});
