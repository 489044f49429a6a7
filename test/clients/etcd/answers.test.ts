// When an answer to a single request counts: as soon as its message is whole and the server has said by its status that all went well. Anything else is an error, and leaves it open what has happened.
import { constants, createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { EtcdConnection, NOT_WANTED } from "../../../src/clients/etcd/connection.ts";
import { EtcdError } from "../../../src/clients/etcd/errors.ts";

const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = constants;
/** This is more than a server takes that reads nothing: HTTP/2 lets 64 KiB of a request come before it has to be read. */
const LONG = Buffer.alloc(200_000);
const WHOLE = Buffer.from("0000000002abcd", "hex");

let server: Http2Server;
let answer: (stream: ServerHttp2Stream) => void;
let connection: EtcdConnection;
const sessions = new Set<ServerHttp2Session>();
beforeEach(async () => {
  server = createServer();
  server.on("session", (session) => sessions.add(session));
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    answer(stream);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const endpoint = { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
  connection = await EtcdConnection.open(endpoint, undefined, new AbortController().signal, () => {});
});
afterEach(async () => {
  connection.destroy();
  for (const session of sessions) session.destroy();
  sessions.clear();
  await new Promise((resolve) => server.close(resolve));
});

/** Sends bytes and then a status. */
function says(bytes: Buffer, status: string): (stream: ServerHttp2Stream) => void {
  return (stream) => {
    stream.respond({ ":status": 200 }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": status, "grpc-message": "because" }));
    stream.end(bytes);
  };
}

function ask(body: Buffer = Buffer.alloc(0)): Promise<Buffer> {
  return connection.unary("/x", body, {}, AbortSignal.timeout(10_000));
}

/** Of a request that must fail. */
async function outcome(): Promise<string> {
  const came: unknown = await ask().catch((error: unknown) => error);
  return came instanceof EtcdError ? came.outcome : String(came);
}

it("is the message, once the status has come, although the server has not read all of the request", async () => {
  answer = (stream) => {
    stream.pause();
    says(WHOLE, "0")(stream);
  };
  expect((await ask(LONG)).toString("hex")).toBe("abcd");
  answer = says(WHOLE, "0");
  expect((await ask()).toString("hex")).toBe("abcd");
});

it.each([
  ["with another status after it", WHOLE, "14"],
  ["with what is no message after it", Buffer.concat([WHOLE, Buffer.from("ffffffffff", "hex")]), "0"],
  ["that was cut off", WHOLE.subarray(0, -1), "0"],
  ["that is not there", Buffer.alloc(0), "0"],
])("is not a message %s", async (_, bytes, status) => {
  answer = says(bytes, status);
  expect(await outcome()).toBe("unknown");
});

it("is not a message whose stream was reset before a status came", async () => {
  answer = (stream) => {
    stream.respond({ ":status": 200 });
    stream.write(WHOLE, () => stream.close(NGHTTP2_INTERNAL_ERROR));
  };
  expect(await outcome()).toBe("unknown");
});

it("is not a status without a message", async () => {
  answer = (stream) => stream.respond({ ":status": 200, "grpc-status": "0" }, { endStream: true });
  expect(await outcome()).toBe("unknown");
});

it.each(["", " ", "0x0", "-0", "0.0", "zero", "00e1"])(
  "is not a message with the status %j, which is no number",
  async (status) => {
    answer = says(WHOLE, status);
    expect(await outcome()).toBe("unknown");
  },
);

it.each([NGHTTP2_NO_ERROR, NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR])(
  "is not a message whose stream was reset with code %i, although its status stood in front",
  async (code) => {
    answer = (stream) => {
      // Node would end the answer before it resets the stream, if it did not wait for trailers.
      stream.respond({ ":status": 200, "grpc-status": "0" }, { waitForTrailers: true });
      stream.write(WHOLE, () => stream.close(code));
    };
    expect(await outcome()).toBe("unknown");
  },
);

it("is not a refusal whose stream was reset before its end", async () => {
  answer = (stream) => {
    const refusal = { "grpc-status": "3", "grpc-message": "etcdserver: request is too large" };
    stream.respond({ ":status": 200, ...refusal }, { waitForTrailers: true });
    setImmediate(() => stream.close(NGHTTP2_INTERNAL_ERROR));
  };
  expect(await outcome()).toBe("unknown");
  answer = (stream) =>
    stream.respond(
      { ":status": 200, "grpc-status": "3", "grpc-message": "etcdserver: request is too large" },
      { endStream: true },
    );
  expect(await outcome()).toBe("not-applied");
});

it("is not a message whose status stands in front of it, and not at its end", async () => {
  answer = (stream) => {
    stream.respond({ ":status": 200, "grpc-status": "0" });
    stream.end(WHOLE);
  };
  expect(await outcome()).toBe("unknown");
  answer = (stream) => {
    stream.respond({ ":status": 200, "grpc-status": "0" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ other: "x" }));
    stream.end(WHOLE);
  };
  expect(await outcome()).toBe("unknown");
});

it("is not a message whose stream ended without a status", async () => {
  answer = (stream) => {
    stream.respond({ ":status": 200 });
    stream.end(WHOLE);
  };
  expect(await outcome()).toBe("unknown");
});

it("is that it was not carried out, when it was not sent, and only then", async () => {
  answer = (stream) => stream.close(NGHTTP2_REFUSED_STREAM);
  expect(await outcome()).toBe("unknown");
  answer = (stream) => stream.close(NGHTTP2_INTERNAL_ERROR);
  expect(await outcome()).toBe("unknown");
  answer = (stream) => stream.session?.destroy();
  expect(await outcome()).toBe("unknown");
  await expect.poll(() => connection.isFit).toBe(false);
  expect(await outcome()).toBe("not-applied");
});

it("that cannot be read ends its own stream, and no other", async () => {
  const held: (() => void)[] = [];
  answer = (stream) => void held.push(() => says(WHOLE, "0")(stream));
  const waiting = ask();
  await expect.poll(() => held.length).toBe(1);
  answer = says(Buffer.from("0100000000", "hex"), "0");
  const problem: unknown = await ask().catch((error: unknown) => error);
  expect((problem as EtcdError).message).toContain("compressed");
  expect(problem).toMatchObject({ name: "EtcdError", outcome: "unknown" });
  held[0]?.();
  const came: unknown = await waiting.catch((error: unknown) => error);
  expect(Buffer.isBuffer(came) ? came.toString("hex") : came).toBe("abcd");
  expect(connection.isFit).toBe(true);
});

it("stays what it was when the next one comes in the same bytes", async () => {
  const message = (byte: number) => Buffer.concat([Buffer.from("0000000400", "hex"), Buffer.alloc(1024, byte)]);
  answer = says(message(1), "0");
  const first = await ask();
  answer = says(message(2), "0");
  const second = await ask();
  expect([new Set(first), new Set(second)]).toEqual([new Set([1]), new Set([2])]);
});

it("that nobody waits for any more makes its connection suspect, unless it was merely no longer wanted", async () => {
  answer = () => {};
  const given = async (reason: Error): Promise<unknown> => {
    const over = new AbortController();
    const asked = connection.unary("/x", Buffer.alloc(0), {}, over.signal).catch((error: unknown) => error);
    over.abort(reason);
    return await asked;
  };
  expect(await given(NOT_WANTED)).toMatchObject({ name: "EtcdError", outcome: "unknown" });
  expect(connection.isFit).toBe(true);
  expect(await given(new Error("late"))).toMatchObject({ name: "EtcdError", outcome: "unknown" });
  expect(connection.isFit).toBe(false);
});
