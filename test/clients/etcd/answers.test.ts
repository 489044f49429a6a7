// When an answer to a single request counts: as soon as its message is whole and the server has said by its status that all went well. Anything else is an error, and leaves it open what has happened.
import { constants, createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { EtcdConnection } from "../../../src/clients/etcd/connection.ts";

const { NGHTTP2_INTERNAL_ERROR } = constants;
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
  await expect(ask()).rejects.toMatchObject({ name: "EtcdError", outcome: "unknown" });
});

it("is not a message whose stream was reset before a status came", async () => {
  answer = (stream) => {
    stream.respond({ ":status": 200 });
    stream.write(WHOLE, () => stream.close(NGHTTP2_INTERNAL_ERROR));
  };
  await expect(ask()).rejects.toMatchObject({ name: "EtcdError", outcome: "unknown" });
});

it("is not a status without a message", async () => {
  answer = (stream) => stream.respond({ ":status": 200, "grpc-status": "0" }, { endStream: true });
  await expect(ask()).rejects.toMatchObject({ name: "EtcdError", outcome: "unknown" });
});
