// A server that speaks etcd's gRPC and says what the test wants it to: for what no real etcd says on demand, such as a renewal by a leader that was replaced.
import { createServer, type Http2Server, type Http2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { encode, type Field, ProtobufMessage } from "../../../src/clients/etcd/protobuf.ts";

export interface FakeHeader {
  clusterId: bigint;
  memberId: bigint;
  revision: bigint;
  raftTerm: bigint;
}

/** Fields of the answer beyond its header; a status that is not 0; bytes as they are, after which a stream of watches stays open; or nothing at all, for ever. */
export type FakeAnswer =
  | readonly Field[]
  | { readonly status: number; readonly message: string }
  | { readonly raw: Buffer }
  | "silence";

export class FakeEtcd {
  readonly header: FakeHeader = { clusterId: 7n, memberId: 1n, revision: 10n, raftTerm: 2n };
  /** Method → what it answers. What is not here is answered as by an etcd 3.5.30 in which nothing stands. */
  readonly answers = new Map<string, (request: ProtobufMessage) => FakeAnswer>();
  readonly asked: string[] = [];
  readonly #server: Http2Server = createServer();
  readonly #sessions = new Set<Http2Session>();

  static async start(): Promise<FakeEtcd> {
    const fake = new FakeEtcd();
    fake.#server.on("session", (session) => fake.#sessions.add(session));
    fake.#server.on("stream", (stream, headers) => fake.#serve(stream, String(headers[":path"])));
    await new Promise<void>((resolve) => fake.#server.listen(0, "127.0.0.1", resolve));
    return fake;
  }

  get url(): string {
    return `etcd://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #serve(stream: ServerHttp2Stream, path: string): void {
    const method = path.split("/").at(-1) ?? "";
    const chunks: Buffer[] = [];
    stream.on("error", () => {});
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    // A stream of watches goes on: it is answered at its first message, where the test has an answer.
    if (method === "Watch") stream.once("data", () => this.#hearWatch(stream));
    stream.on("end", () => {
      if (stream.destroyed) return;
      this.asked.push(method);
      this.#answer(stream, method, new ProtobufMessage(Buffer.concat(chunks).subarray(5)));
    });
  }

  #hearWatch(stream: ServerHttp2Stream): void {
    this.asked.push("Watch");
    if (this.answers.has("Watch")) this.#answer(stream, "Watch", new ProtobufMessage(Buffer.alloc(0)));
  }

  #answer(stream: ServerHttp2Stream, method: string, request: ProtobufMessage): void {
    const answer = this.answers.get(method)?.(request) ?? USUAL[method] ?? [];
    if (answer === "silence") return;
    const said = "status" in answer ? answer : { status: 0, message: "" };
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () =>
      stream.sendTrailers({ "grpc-status": `${said.status}`, "grpc-message": said.message }),
    );
    if ("status" in answer) return void stream.end();
    if ("raw" in answer) return void (method === "Watch" ? stream.write(answer.raw) : stream.end(answer.raw));
    const { clusterId, memberId, revision, raftTerm } = this.header;
    const header = encode([
      [1, clusterId],
      [2, memberId],
      [3, revision],
      [4, raftTerm],
    ]);
    const body = encode([[1, header], ...answer]);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(body.length, 1);
    stream.end(Buffer.concat([head, body]));
  }

  /** Says goodbye to all that are connected. */
  goAway(): void {
    for (const session of this.#sessions) session.goaway();
  }

  async stop(): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const USUAL: Readonly<Record<string, readonly Field[]>> = {
  Status: [
    [2, "3.5.30"],
    [4, 1n],
  ],
  LeaseGrant: [[3, 5n]],
  LeaseKeepAlive: [[3, 5n]],
  LeaseTimeToLive: [
    [3, 4n],
    [4, 5n],
  ],
};
