// A server that speaks ZooKeeper's protocol as a test tells it to: it accepts sessions, notes what it is asked, and answers by a function. No tree, no ensemble.
import { createServer, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { ZooKeeperFrames } from "../../../src/clients/zookeeper/frames.ts";
import { JuteReader, JuteWriter } from "../../../src/clients/zookeeper/jute.ts";

export interface Asked {
  readonly xid: number;
  readonly operation: number;
  readonly reader: JuteReader;
  readonly socket: Socket;
}

/** A body, an error code, nothing at all, or the end of the connection. */
export type Answer = Buffer | number | "silence" | "close";

export class FakeZooKeeper {
  readonly asked: number[] = [];
  /** The session that each connection asked for. */
  readonly sessions: bigint[] = [];
  /** The latest write that each connection said it had seen. */
  readonly seen: bigint[] = [];
  answer: (asked: Asked) => Answer = () => Buffer.alloc(0);
  /** 0: the session that was asked for is over. */
  accept: (asked: bigint) => bigint | "close" | "silence" = (asked) => (asked === 0n ? 0x1234n : asked);
  isReadOnly = false;
  /** The longest timeout that it grants. */
  longestMs = Infinity;
  /** The answer to the word `srvr`. */
  says = "";
  zxid = 7n;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor() {
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async start(): Promise<FakeZooKeeper> {
    const fake = new FakeZooKeeper();
    await new Promise<void>((resolve) => fake.#server.listen(0, "127.0.0.1", resolve));
    return fake;
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `zookeeper://${this.host}`;
  }

  /** To everybody. */
  tell(type: number, path: string): void {
    const body = new JuteWriter().int(type).int(3).text(path).finish();
    for (const socket of this.#sockets) socket.write(framed(-1, this.zxid, 0, body));
  }

  send(bytes: Buffer): void {
    for (const socket of this.#sockets) socket.write(bytes);
  }

  dropAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.dropAll();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => this.#sockets.delete(socket));
    const frames = new ZooKeeperFrames();
    let isConnected = false;
    socket.on("data", (part) => {
      if (!isConnected && part.toString() === "srvr") return void socket.end(this.says);
      for (const frame of frames.add(part)) {
        if (isConnected) this.#hear(socket, frame);
        else this.#connect(socket, frame);
        isConnected = true;
      }
      return undefined;
    });
  }

  #connect(socket: Socket, frame: Buffer): void {
    const reader = new JuteReader(frame);
    reader.int();
    this.seen.push(reader.long());
    const timeoutMs = reader.int();
    const asked = reader.long();
    this.sessions.push(asked);
    const id = this.accept(asked);
    if (id === "silence") return;
    if (id === "close") return void socket.destroy();
    const body = new JuteWriter()
      .int(0)
      .int(Math.min(timeoutMs, this.longestMs))
      .long(id)
      .bytes(Buffer.alloc(16, 1))
      .bool(this.isReadOnly)
      .finish();
    socket.write(Buffer.concat([lengthOf(body), body]));
    return undefined;
  }

  #hear(socket: Socket, frame: Buffer): void {
    const reader = new JuteReader(frame);
    const [xid, operation] = [reader.int(), reader.int()];
    this.asked.push(operation);
    const answer = this.answer({ xid, operation, reader, socket });
    if (answer === "silence") return;
    if (answer === "close") return void socket.destroy();
    const [code, body] = typeof answer === "number" ? [answer, Buffer.alloc(0)] : [0, answer];
    socket.write(framed(xid, ++this.zxid, code, body));
    return undefined;
  }
}

export function framed(xid: number, zxid: bigint, code: number, body: Buffer): Buffer {
  const message = Buffer.concat([new JuteWriter().int(xid).long(zxid).int(code).finish(), body]);
  return Buffer.concat([lengthOf(message), message]);
}

function lengthOf(body: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeInt32BE(body.length);
  return head;
}

export function statBytes({ czxid = 1n, owner = 0n, version = 0 } = {}): Buffer {
  const writer = new JuteWriter().long(czxid).long(czxid).long(0n).long(0n).int(version).int(0).int(0);
  return writer.long(owner).int(0).int(0).long(czxid).finish();
}
