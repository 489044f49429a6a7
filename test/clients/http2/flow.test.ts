// What goes on beside the answers, against a server that is scripted byte for byte: windows, how many streams there are at once, pings, and the order in which things are sent.
import { expect, it } from "vitest";
import {
  ACK,
  answer,
  CONTINUATION,
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
  // The server has not looked at the last two, it says; of these one was never sent.
  wire.say(frame(GOAWAY, 0, 0, int32(7, 0)));
  expect(heard.map(({ end }) => end)).toEqual(["code 8", "whole", undefined, undefined, "code 7", "unsent"]);
  expect(wire.told.all).toEqual(["greeted", "goes away"]);
  const late = wire.ask();
  await settled();
  expect(late.end).toBe("unsent");
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
  expect(heard.map(({ end }) => end)).toEqual(["lost", "unsent"]);
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
  // It would wait for ever for the server to read.
  expect([wire.destroyed, wire.isLetEnd]).toEqual([true, false]);
});

it("only the setting of windows changes windows, and a window of a stream that is over changes none", async () => {
  const wire = new Wire();
  wire.say(frame(SETTINGS, 0, 0, Buffer.concat([setting(3, 2), setting(1, 0), setting(6, 1), setting(5, 16_384)])));
  const first = wire.ask();
  wire.say(answer(1, ""));
  expect(first.end).toBe("whole");
  wire.say(frame(WINDOW, 0, 1, int32(1_000_000)), frame(SETTINGS, 0, 0, setting(4, 1_000_000)));
  wire.ask(Buffer.alloc(100_000));
  await settled();
  const sent = wire.sentOf(DATA, 3).map(({ content }) => content.length);
  expect(sent.reduce((sum, length) => sum + length, 0)).toBe(65_535 - "ask".length);
});

it("settings that open room begin what waits for it, and the server's acceptance of ours is not accepted", async () => {
  const wire = new Wire();
  wire.say(frame(SETTINGS, 0, 0, setting(3, 0)));
  wire.ask();
  wire.ask();
  await settled();
  expect(wire.sentOf(HEADERS)).toEqual([]);
  const accepted = wire.sentOf(SETTINGS).length;
  wire.say(frame(SETTINGS, ACK, 0));
  await settled();
  expect(wire.sentOf(SETTINGS)).toHaveLength(accepted);
  wire.say(frame(SETTINGS, 0, 0, setting(3, 2)));
  await settled();
  expect(wire.sentOf(HEADERS).map(({ stream }) => stream)).toEqual([1, 3]);
  expect(wire.told.all).toEqual(["greeted"]);
});

it("a stream that is given up while it waits is never begun, and each is told of its end once", async () => {
  const wire = new Wire();
  wire.say(frame(SETTINGS, 0, 0, setting(3, 1)));
  const heard = [new Heard(), new Heard(), new Heard()];
  const streams = heard.map((each) => wire.connection.request(OK, Buffer.from("x"), each));
  for (let time = 0; time < 2; time++) streams[1]?.cancel();
  expect(heard.map(({ end }) => end)).toEqual([undefined, "code 8", undefined]);
  // The first one's end makes room, and what its listener does then must not tell anybody twice.
  if (heard[0] !== undefined) heard[0].hearEnd = (end) => (heard[0]?.ends.push(end), streams[0]?.cancel());
  wire.say(answer(1, "one"));
  await settled();
  expect(wire.sentOf(HEADERS).map(({ stream }) => stream)).toEqual([1, 3]);
  expect(wire.sentOf(RESET)).toEqual([]);
  wire.say(answer(3, "three"));
  expect(heard.map(({ end, body }) => [end, body])).toEqual([
    ["whole", "one"],
    ["code 8", ""],
    ["whole", "three"],
  ]);
});

it("the greatest windows and frames that the protocol allows are allowed", async () => {
  const wire = new Wire();
  const most = 0x7fff_ffff;
  wire.say(frame(SETTINGS, 0, 0, Buffer.concat([setting(4, most), setting(5, 0xff_ffff), setting(5, 16_384)])));
  const heard = wire.ask(Buffer.alloc(0));
  wire.say(frame(WINDOW, 0, 0, int32(most - 65_535)), frame(SETTINGS, 0, 0, setting(4, 1)));
  wire.say(frame(WINDOW, 0, 1, int32(most - 1)), answer(1, "one"));
  await settled();
  expect([wire.told.all, heard.end, heard.body]).toEqual([["greeted"], "whole", "one"]);
});

it("what is closed is no longer fit at once: by us, by close and by destroy", async () => {
  const cut = new Wire();
  cut.say(GREETING);
  const waiting = cut.ask();
  expect(cut.connection.isFit).toBe(true);
  cut.connection.destroy();
  expect([cut.connection.isFit, cut.told.all]).toEqual([false, ["greeted"]]);
  await settled();
  expect([waiting.end, cut.told.all]).toEqual(["lost", ["greeted", "closed"]]);
  const closed = new Wire();
  closed.say(GREETING);
  const answered = closed.ask();
  closed.connection.close();
  closed.connection.close();
  expect([closed.connection.isFit, closed.destroyed]).toEqual([false, false]);
  closed.say(answer(1, "one"));
  await settled();
  expect([answered.end, closed.told.all]).toEqual(["whole", ["greeted", "closed"]]);
  expect(closed.sentOf(GOAWAY).map(({ content }) => [...content])).toEqual([[...int32(0, 0)]]);
});

it("a connection says whether it keeps its process alive", () => {
  const wire = new Wire();
  wire.connection.unref();
  wire.connection.ref();
  wire.connection.unref();
  expect(wire.refs).toEqual(["unref", "ref", "unref"]);
});

it("nothing of a request is sent before its stream has begun, and nothing after its end", async () => {
  const wire = new Wire();
  wire.say(frame(SETTINGS, 0, 0, setting(3, 1)));
  const first = wire.connection.request(OK, undefined, new Heard());
  const waiting = new Heard();
  const second = wire.connection.request(OK, undefined, waiting);
  second.write(Buffer.from("second"));
  second.finish(Buffer.alloc(0));
  // What has no content needs no window, and must wait all the same.
  const empty = wire.ask(Buffer.alloc(0));
  wire.say(frame(WINDOW, 0, 0, int32(1000)));
  await settled();
  expect(wire.sentOf(DATA)).toEqual([]);
  wire.say(answer(1, "one"));
  first.write(Buffer.from("late"));
  first.finish(Buffer.from("late"));
  await settled();
  expect(wire.sentOf(DATA).map(({ stream, flags, content }) => [stream, flags, content.toString()])).toEqual([
    [3, 0, "second"],
    [3, END, ""],
  ]);
  wire.say(answer(3, "two"));
  expect([waiting.end, waiting.body]).toEqual(["whole", "two"]);
  await settled();
  expect(wire.sentOf(DATA, 5).map(({ flags, content }) => [flags, content.length])).toEqual([[END, 0]]);
  wire.say(answer(5, "three"));
  expect([empty.end, empty.body]).toEqual(["whole", "three"]);
});

it("a long block of headers is sent in frames of which the last says that it ends", async () => {
  const wire = new Wire();
  wire.connection.request(Buffer.alloc(40_000, 1), Buffer.from("x"), new Heard());
  await settled();
  expect(wire.sent.slice(2).map(({ type, flags, stream, content }) => [type, flags, stream, content.length])).toEqual([
    [HEADERS, 0, 1, 16_384],
    [CONTINUATION, 0, 1, 16_384],
    // The first block of a connection begins with a byte that says that no table is used.
    [CONTINUATION, END_HEADERS, 1, 1 + 40_000 - 2 * 16_384],
    [DATA, END, 1, 1],
  ]);
});
