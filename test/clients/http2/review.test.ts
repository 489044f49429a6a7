// What a server may do that few do: a table of headers that is smaller than usual, a connection that is closed in one direction, an end in the middle of a beginning, and a refusal of what was carried out.
import { constants, createServer as createHttp2Server, type ServerHttp2Stream, type ServerOptions } from "node:http2";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, expect, it } from "vitest";
import { EtcdConnection } from "../../../src/clients/etcd/connection.ts";
import { Http2Connection, type Http2Handlers } from "../../../src/clients/http2/connection.ts";
import { FLAG, type Frame, frameOf, FrameReader, TYPE } from "../../../src/clients/http2/frames.ts";
import { writeFields } from "../../../src/clients/http2/fields.ts";
import type { StreamEnd, StreamListener } from "../../../src/clients/http2/stream.ts";

const PREFACE_LENGTH = 24;
const SETTING = { streams: 3, window: 4 } as const;
const WINDOW = 4 * 1024 * 1024;
const HEAD = writeFields([[":method", "POST"]]);
const NOTHING = Buffer.alloc(0);

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

/** Listens, and does with each connection what the test says. */
async function listen(serve: (socket: Socket) => void): Promise<{ host: string; port: number }> {
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    undo.push(() => socket.destroy());
    socket.on("error", () => {});
    serve(socket);
  });
  undo.push(() => new Promise((resolve) => server.close(resolve)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
}

function settings(...pairs: readonly (readonly [setting: number, value: number])[]): Buffer {
  const content = Buffer.alloc(6 * pairs.length);
  for (const [index, [setting, value]] of pairs.entries()) {
    content.writeUInt16BE(setting, 6 * index);
    content.writeUInt32BE(value, 6 * index + 2);
  }
  return frameOf(TYPE.settings, 0, 0, content);
}

function moreWindow(by: number): Buffer {
  const content = Buffer.alloc(4);
  content.writeUInt32BE(by);
  return frameOf(TYPE.windowUpdate, 0, 0, content);
}

/** Calls `hear` with every frame of the client. */
function readFrames(socket: Socket, hear: (frame: Frame) => void): void {
  const reader = new FrameReader(hear);
  let toSkip = PREFACE_LENGTH;
  socket.on("data", (chunk: Buffer) => {
    const skipped = Math.min(toSkip, chunk.length);
    toSkip -= skipped;
    reader.push(chunk.subarray(skipped));
  });
}

/** A client that is greeted, and its connection at the server with all the frames that have come there. */
async function pair(
  greeting: Buffer,
  handlers: Partial<Http2Handlers> = {},
): Promise<{ client: Http2Connection; server: Socket; frames: Frame[] }> {
  const frames: Frame[] = [];
  let server: Socket | undefined;
  const endpoint = await listen((socket) => {
    server = socket;
    readFrames(socket, (frame) => frames.push(frame));
    socket.write(greeting);
  });
  const socket = connect(endpoint);
  undo.push(() => socket.destroy());
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  const client = await new Promise<Http2Connection>((resolve) => {
    const connection: Http2Connection = new Http2Connection(socket, WINDOW, {
      greeted: () => resolve(connection),
      goesAway: () => {},
      closed: () => {},
      ...handlers,
    });
  });
  if (server === undefined) throw new Error("nobody has connected");
  return { client, server, frames };
}

function listener(hearEnd: (end: StreamEnd) => void = () => {}): StreamListener {
  return { hearFields: () => {}, hearData: () => {}, hearEnd };
}

/** A server of Node's own that does with each request what the test says, and a connection to it. */
async function toNode(options: ServerOptions, serve: (stream: ServerHttp2Stream) => void): Promise<EtcdConnection> {
  const server = createHttp2Server(options);
  server.on("session", (session) => undo.push(() => session.destroy()));
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    serve(stream);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  undo.push(() => new Promise((resolve) => server.close(resolve)));
  const endpoint = { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
  const connection = await EtcdConnection.open(endpoint, undefined, new AbortController().signal, () => {});
  undo.push(() => connection.destroy());
  return connection;
}

it.each([0, 100, 4095, 8192])(
  "is answered by a server with a table of headers of %d bytes",
  async (headerTableSize) => {
    const connection = await toNode({ settings: { headerTableSize } }, (stream) => {
      stream.respond({ ":status": 200 }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(Buffer.from("0000000002abcd", "hex"));
    });
    const answers = ["/x", "/y", "/x"].map((path) => connection.unary(path, NOTHING, {}, AbortSignal.timeout(5000)));
    expect((await Promise.all(answers)).map((answer) => answer.toString("hex"))).toEqual(["abcd", "abcd", "abcd"]);
  },
);

it("is unknown what became of a request that was refused: a proxy says so of what a server has carried out that is gone", async () => {
  const connection = await toNode({}, (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM));
  const asked = connection.unary("/x", NOTHING, {}, AbortSignal.timeout(5000));
  await expect(asked).rejects.toMatchObject({ name: "EtcdError", outcome: "unknown" });
  expect(connection.isFit).toBe(true);
});

it("ends with the server's side, whatever of ours the server has not read", async () => {
  let server: Socket | undefined;
  const endpoint = await listen((socket) => {
    server = socket;
    socket.write(Buffer.concat([settings([SETTING.window, 0x7fff_ffff]), moreWindow(0x7000_0000)]));
    socket.pause();
  });
  const connection = await EtcdConnection.open(endpoint, undefined, new AbortController().signal, () => {});
  undo.push(() => connection.destroy());
  await new Promise((resolve) => setTimeout(resolve, 50));
  const begunAt = performance.now();
  const asked = connection.unary("/x", Buffer.alloc(30_000_000), {}, AbortSignal.timeout(30_000));
  setTimeout(() => server?.end(), 50);
  await expect(asked).rejects.toMatchObject({ outcome: "unknown", message: /connection was lost/ });
  expect(performance.now() - begunAt).toBeLessThan(8000);
});

it("refuses what is not sent yet as soon as it is closed, and lets the others end", async () => {
  const { client, server, frames } = await pair(settings([SETTING.streams, 1]));
  await expect.poll(() => frames.some(({ type, flags }) => type === TYPE.settings && flags === FLAG.ack)).toBe(true);
  const ends: Record<string, StreamEnd> = {};
  client.request(HEAD, NOTHING, listener((end) => (ends["first"] = end))); // prettier-ignore
  client.request(HEAD, NOTHING, listener((end) => (ends["second"] = end))); // prettier-ignore
  client.close();
  expect(ends).toEqual({ second: "unsent" });
  const answer = writeFields([[":status", "200"]]);
  server.write(frameOf(TYPE.headers, FLAG.endHeaders | FLAG.endStream, 1, answer));
  await expect.poll(() => ends["first"]).toBe("whole");
  expect(frames.filter(({ type }) => type === TYPE.headers).map(({ stream }) => stream)).toEqual([1]);
});

it("is given up when the caller leaves just as the socket is connected", async () => {
  const endpoint = await listen(() => {});
  const controller = new AbortController();
  const { signal } = controller;
  // The connected socket is the first thing after which this side stops listening.
  signal.removeEventListener = (...args: Parameters<EventTarget["removeEventListener"]>) => {
    EventTarget.prototype.removeEventListener.apply(signal, args);
    controller.abort();
  };
  const opened = EtcdConnection.open(endpoint, undefined, signal, () => {});
  await expect(opened).rejects.toMatchObject({ outcome: "not-applied", message: /did not answer in time/ });
});
