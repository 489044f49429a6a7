// A wire between a client and a server that can go dead: bytes vanish in both directions, and nobody is told. What was connected then stays dead.
import { createServer, connect, type Server, type Socket } from "node:net";

export class Wire {
  readonly url: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #dead = new WeakSet<Socket>();
  #isCut = false;
  #target: URL | undefined;

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  static async to(url: string): Promise<Wire> {
    const target = new URL(url);
    const server = createServer((socket) => wire.#join(socket));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    target.port = `${port}`;
    const wire = new Wire(server, target.href);
    wire.lead(url);
    return wire;
  }

  /** Where new connections go, from now on; the others end. */
  lead(url: string): void {
    this.#target = new URL(url);
    for (const socket of this.#sockets) socket.destroy();
  }

  /** From now on nothing passes: neither on what is connected, which stays dead, nor on what connects now. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) this.#dead.add(socket);
  }

  /** New connections work again. */
  mend(): void {
    this.#isCut = false;
  }

  end(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #join(near: Socket): void {
    const far = connect(Number(this.#target?.port), this.#target?.hostname ?? "");
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      if (this.#isCut) this.#dead.add(from);
      from.on("error", () => {});
      from.on("data", (bytes) => void (this.#dead.has(from) || to.write(bytes)));
      from.on("close", () => {
        this.#sockets.delete(from);
        if (!this.#dead.has(from)) to.destroy();
      });
    }
  }
}
