// Our own HTTP/2 with Node's server over real sockets, plain and with TLS: bodies that no window holds, more streams than the server takes, settings in mid-flight, and every way in which a stream or a
// connection ends.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import {
  constants,
  createSecureServer,
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { connect as connectSecurely } from "node:tls";
import { afterEach, expect, it } from "vitest";
import { Http2Connection } from "../../../src/clients/http2/connection.ts";
import { writeFields } from "../../../src/clients/http2/fields.ts";
import { bundle } from "../../support/bundle.ts";
import { makeCertificates } from "../../stores/etcd/certificates.ts";
import { connected, Heard, soon, Told, WINDOW_SIZE } from "./wire.ts";

type Serve = (stream: ServerHttp2Stream, body: Buffer) => void;

interface Peer {
  readonly port: number;
  readonly sessions: ServerHttp2Session[];
  readonly connection: Http2Connection;
  readonly told: Told;
  readonly socket: Socket;
  readonly ask: (body?: Buffer | string, path?: string) => Heard;
}

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0).toReversed()) end();
});

const head = (path: string): Buffer =>
  writeFields([
    [":method", "POST"],
    [":scheme", "http"],
    [":path", path],
    [":authority", "a"],
  ]);

/** `serve` hears of a stream when all of its request has come; `open` when it begins. */
async function peer(
  options: ServerOptions,
  serve: Serve,
  open: (stream: ServerHttp2Stream) => void = () => {},
): Promise<Peer> {
  const server = createServer(options);
  const { port, sessions } = await listening(server, serve, open);
  const { connection, told, socket } = await connected(port);
  ends.push(() => connection.destroy());
  await soon("the greeting", told.greeted);
  return { port, sessions, connection, told, socket, ask: asking(connection) };
}

async function listening(server: Http2Server, serve: Serve, open: (stream: ServerHttp2Stream) => void) {
  const sessions: ServerHttp2Session[] = [];
  server.on("session", (session) => {
    session.on("error", () => {});
    sessions.push(session);
  });
  server.on("stream", (stream) => {
    const chunks: Buffer[] = [];
    stream.on("error", () => {});
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => serve(stream, Buffer.concat(chunks)));
    open(stream);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, sessions };
}

const asking =
  (connection: Http2Connection) =>
  (body: Buffer | string = "x", path = "/") => {
    const heard = new Heard();
    connection.request(head(path), Buffer.from(body as string), heard);
    return heard;
  };

/** Bytes of which no part is like another. */
function bytes(length: number, seed = 1): Buffer {
  const made = Buffer.alloc(length);
  for (let at = 0; at + 4 <= length; at += 4) made.writeUInt32BE((at * 2_654_435_761 + seed) >>> 0, at);
  return made;
}

const echo: Serve = (stream, body) => {
  if (stream.destroyed) return;
  stream.respond({ ":status": 200 }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "x-length": String(body.length) }));
  stream.end(body);
};

/** Whether it is this body, without a difference of megabytes to print. */
const isBody = (heard: Heard, body: Buffer): boolean => Buffer.concat(heard.chunks).equals(body);

it("a large request is read by a slow server, and a large answer by us, whatever the windows are", async () => {
  const up = bytes(3_000_000);
  const down = bytes(10_000_000, 7);
  let received: Buffer = Buffer.alloc(0);
  const { ask } = await peer(
    {},
    (stream, body) => {
      received = body;
      stream.respond({ ":status": 200 });
      stream.end(down);
    },
    (stream) => {
      stream.on("data", () => {
        stream.pause();
        setTimeout(() => stream.resume(), 1);
      });
    },
  );
  const heard = ask(up);
  expect(await heard.untilEnd()).toBe("whole");
  expect([received.equals(up), isBody(heard, down)]).toEqual([true, true]);
});

it("a hundred streams at once have their own answers from a server that takes three", async () => {
  let atOnce = 0;
  let most = 0;
  const { ask } = await peer(
    { settings: { maxConcurrentStreams: 3 } },
    (stream, body) => setTimeout(() => echo(stream, body), 1),
    (stream) => {
      most = Math.max(most, ++atOnce);
      stream.once("close", () => atOnce--);
    },
  );
  const bodies = Array.from({ length: 100 }, (_, index) => bytes(1 + index * 777, index));
  const heard = bodies.map((body) => ask(body));
  for (const each of heard) expect(await each.untilEnd()).toBe("whole");
  expect(heard.map((each, index) => isBody(each, bodies[index] ?? Buffer.alloc(0)))).toEqual(bodies.map(() => true));
  expect(heard.map(({ fields }) => fields[1]?.get("x-length"))).toEqual(bodies.map(({ length }) => String(length)));
  // A stream that is over here can still be open for Node's server, for a moment.
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(4);
});

it("windows that the server changes in mid-flight lose nothing", async () => {
  const body = bytes(1_500_000);
  const sizes = [10, 100_000, 0, 70_000, 1, 1_000_000];
  const { ask } = await peer({ settings: { initialWindowSize: 1000 } }, echo, (stream) => {
    const next = (): void => {
      const size = sizes.shift();
      if (size === undefined || stream.session === undefined) return;
      stream.session.settings({ initialWindowSize: size }, next);
    };
    next();
  });
  const heard = [ask(body), ask(body.subarray(0, 300_000))];
  for (const each of heard) expect(await each.untilEnd()).toBe("whole");
  expect([isBody(heard[0] as Heard, body), isBody(heard[1] as Heard, body.subarray(0, 300_000))]).toEqual([true, true]);
});

/** Node's own constant for this one has no type. */
const ALIGNED = 1;

it.each([constants.PADDING_STRATEGY_MAX, ALIGNED])(
  "padding is no part of an answer (strategy %i)",
  async (strategy) => {
    const body = bytes(2_000_001);
    const { ask } = await peer({ paddingStrategy: strategy }, echo);
    const heard = ask(body);
    expect(await heard.untilEnd()).toBe("whole");
    expect([isBody(heard, body), heard.fields[1]?.get("x-length")]).toEqual([true, "2000001"]);
  },
);

it("headers that say that the server is still at it are no answer; headers and trailers are told in order", async () => {
  const { ask } = await peer({}, (stream, body) => {
    stream.additionalHeaders({ ":status": 102, x: "passing" });
    stream.additionalHeaders({ ":status": 103, x: "passing" });
    echo(stream, body);
  });
  const heard = ask("body");
  expect(await heard.untilEnd()).toBe("whole");
  expect(heard.fields.map((fields) => [fields.get(":status"), fields.get("x"), fields.get("x-length")])).toEqual([
    ["200", undefined, undefined],
    [undefined, undefined, "4"],
  ]);
  expect(heard.body).toBe("body");
});

it.each([0, 1, 2, 7, 8, 11])(
  "a stream that the server ends with code %i has no answer, and the next one has",
  async (code) => {
    const { ask } = await peer({}, (stream, body) => {
      if (body.toString() === "whole") return echo(stream, body);
      // Without this, Node ends the answer before it closes the stream, and the answer is whole.
      stream.respond({ ":status": 200 }, { waitForTrailers: true });
      stream.write("part", () => stream.close(code));
    });
    const heard = ask("reset");
    expect(await heard.untilEnd()).toBe(`code ${code}`);
    const next = ask("whole");
    expect([await next.untilEnd(), next.body]).toEqual(["whole", "whole"]);
  },
);

it("a stream that we give up is over for the server, too, and hears nothing more", async () => {
  let tell: (code: number) => void = () => {};
  const closed = new Promise<number>((resolve) => (tell = resolve));
  const { connection, ask } = await peer(
    {},
    () => {},
    (stream) => stream.once("close", () => tell(stream.rstCode)),
  );
  const heard = new Heard();
  const stream = connection.request(head("/"), undefined, heard);
  stream.write(Buffer.from("begun"));
  await new Promise((resolve) => setTimeout(resolve, 10));
  stream.cancel();
  expect(heard.end).toBe("code 8");
  expect(await soon("the end", closed)).toBe(8);
  stream.write(Buffer.from("more"));
  stream.cancel();
  expect(heard.end).toBe("code 8");
  expect(ask("x").end).toBe(undefined);
});

it("what the server says that it has not looked at ends at once, and the rest is answered", async () => {
  const held: (() => void)[] = [];
  const { ask, told, connection, sessions } = await peer(
    {},
    (stream, body) => void held.push(() => echo(stream, body)),
  );
  const heard = [ask("1"), ask("3"), ask("5"), ask("7")];
  await expect.poll(() => held.length).toBe(4);
  sessions[0]?.goaway(0, 3);
  expect(await heard[2]?.untilEnd()).toBe("code 7");
  expect(heard.map(({ end }) => end)).toEqual([undefined, undefined, "code 7", "code 7"]);
  expect([told.all, connection.isFit]).toEqual([["greeted", "goes away"], false]);
  expect(await ask("late").untilEnd()).toBe("unsent");
  for (const answer of held) answer();
  expect([await heard[0]?.untilEnd(), await heard[1]?.untilEnd()]).toEqual(["whole", "whole"]);
  expect(heard.map(({ body }) => body)).toEqual(["1", "3", "", ""]);
  await soon("the end of the connection", told.closed);
});

it("a ping is answered, and a server's ping too", async () => {
  const { connection, sessions } = await peer({}, echo);
  await soon("the answer to a ping", new Promise<void>((resolve) => connection.ping(resolve)));
  const payload = Buffer.from("12345678");
  const returned = new Promise((resolve) =>
    sessions[0]?.ping(payload, (_error, _duration, content) => resolve(content)),
  );
  expect(await soon("the answer to the server's ping", returned)).toEqual(payload);
});

it("a connection that closes lets its streams end, and takes no further ones", async () => {
  const held: (() => void)[] = [];
  const { ask, told, connection } = await peer({}, (stream, body) => void held.push(() => echo(stream, body)));
  const heard = [ask("1"), ask("3")];
  await expect.poll(() => held.length).toBe(2);
  connection.close();
  const late = ask("late");
  expect(await late.untilEnd()).toBe("unsent");
  expect([heard.map(({ end }) => end), told.all]).toEqual([[undefined, undefined], ["greeted"]]);
  for (const answer of held) answer();
  for (const each of heard) expect(await each.untilEnd()).toBe("whole");
  await soon("the end of the connection", told.closed);
  expect([told.cause, held.length]).toEqual([undefined, 2]);
});

it("a connection that closes when nothing waits is over at once", async () => {
  const { told, connection, sessions } = await peer({}, echo);
  const gone = new Promise((resolve) => sessions[0]?.once("goaway", resolve));
  connection.close();
  await soon("the end of the connection", told.closed);
  expect(await soon("the reason", gone)).toBe(0);
});

it.each(["us", "the server", "the network"])(
  "a connection that is cut by %s in the middle of answers tells all streams",
  async (side) => {
    const { ask, told, connection, sessions, socket } = await peer({}, (stream) => {
      stream.respond({ ":status": 200 }, { waitForTrailers: true });
      stream.write("part");
    });
    const heard = [ask("1"), ask("3")];
    await expect.poll(() => heard.map(({ body }) => body)).toEqual(["part", "part"]);
    if (side === "us") connection.destroy();
    else if (side === "the server") sessions[0]?.destroy();
    else socket.destroy(new Error("cut"));
    for (const each of heard)
      expect(await each.untilEnd()).toMatch(side === "the server" ? /^(?:lost|code \d+)$/ : /^lost$/);
    if (side === "the network") expect(heard[1]?.ends).toEqual([{ lost: new Error("cut") }]);
    await soon("the end of the connection", told.closed);
    expect(await ask("late").untilEnd()).toBe("unsent");
  },
);

it("with TLS it is the same", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-http2-"));
  ends.push(() => rmSync(folder, { recursive: true, force: true }));
  const files = makeCertificates(folder);
  const [ca, cert, key] = [files.ca, files.cert, files.key].map((file) => readFileSync(file));
  const { port } = await listening(createSecureServer({ cert, key } as object), echo, () => {});
  const socket = connectSecurely({
    host: "127.0.0.1",
    port,
    ALPNProtocols: ["h2"],
    ...(ca === undefined ? {} : { ca }),
  });
  await new Promise((resolve) => socket.once("secureConnect", resolve));
  const told = new Told();
  const connection = new Http2Connection(socket, WINDOW_SIZE, told.handlers);
  ends.push(() => connection.destroy());
  const bodies = [bytes(1_000_000), bytes(700_000, 3), bytes(3)];
  const heard = bodies.map((body) => asking(connection)(body));
  for (const each of heard) expect(await each.untilEnd()).toBe("whole");
  expect(heard.map((each, index) => isBody(each, bodies[index] ?? Buffer.alloc(0)))).toEqual([true, true, true]);
});

// Says what it hears, and ends when nothing keeps it alive.
const CHILD = `
import { connect } from "node:net";
import { Http2Connection } from "./connection.mjs";
import { writeFields } from "./fields.mjs";
const [port, isKept] = process.argv.slice(2);
const say = (what) => console.log(what);
const socket = connect({ host: "127.0.0.1", port: Number(port) });
socket.once("connect", () => {
  const connection = new Http2Connection(socket, 262144, {
    goesAway() {},
    closed() {},
    greeted() {
      say("greeted");
      if (isKept !== "always") connection.unref();
      const head = writeFields([[":method", "POST"], [":scheme", "http"], [":path", "/"], [":authority", "a"]]);
      if (isKept === "while it waits") connection.ref();
      connection.request(head, Buffer.from("x"), {
        hearFields() {},
        hearData() {},
        hearEnd(end) {
          say(end);
          if (isKept === "while it waits") connection.unref();
        },
      });
    },
  });
});
`;

it("a connection keeps its process alive only while it is asked to", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-http2-"));
  ends.push(() => rmSync(folder, { recursive: true, force: true }));
  await bundle(
    { connection: "src/clients/http2/connection.ts", fields: "src/clients/http2/fields.ts" },
    { dir: folder, entryFileNames: "[name].mjs", chunkFileNames: "[name].mjs" },
  );
  writeFileSync(path.join(folder, "child.mjs"), CHILD);
  const { port } = await peer({}, (stream, body) => setTimeout(() => echo(stream, body), 300));
  const said = async (isKept: string, lastsMs: number): Promise<string> => {
    const child = spawn(process.execPath, [path.join(folder, "child.mjs"), String(port), isKept]);
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
    const timer = setTimeout(() => child.kill("SIGKILL"), lastsMs);
    const code = await new Promise((resolve) => child.once("close", resolve));
    clearTimeout(timer);
    return `${text}${code === 0 ? "ended" : "was killed"}`;
  };
  expect(await Promise.all([said("never", 12_000), said("while it waits", 12_000), said("always", 3_000)])).toEqual([
    "greeted\nended",
    "greeted\nwhole\nended",
    "greeted\nwhole\nwas killed",
  ]);
});
