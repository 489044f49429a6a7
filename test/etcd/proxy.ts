// A wire that can go dead: everything passes until it is told to swallow. Nothing is closed or reset then, as when a firewall forgets a connection.
import { connect, createServer, type Server, type Socket } from "node:net";

export class Wire {
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  readonly #dead = new Set<Socket>();
  opened = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async to(url: string): Promise<Wire> {
    const { hostname, port } = new URL(url);
    const wire = new Wire(
      createServer((near) => wire.#join(near, connect({ host: hostname, port: Number(port), noDelay: true }))),
    );
    await new Promise<void>((resolve) => wire.#server.listen(0, "127.0.0.1", resolve));
    return wire;
  }

  get url(): string {
    return `etcd://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  #join(near: Socket, far: Socket): void {
    this.opened++;
    near.setNoDelay(true);
    const pair = [near, far] as const;
    this.#pairs.add(pair);
    for (const [from, to] of [pair, [far, near] as const]) {
      from.on("data", (bytes) => void (this.#dead.has(near) || to.write(bytes)));
      from.on("error", () => {});
      from.on("close", () => {
        if (!this.#dead.has(near)) to.destroy();
        this.#pairs.delete(pair);
      });
    }
  }

  /** The connections that are open now carry nothing any more; new ones do. */
  swallow(): void {
    for (const [near] of this.#pairs) this.#dead.add(near);
  }

  close(): void {
    this.#server.close();
    for (const [near, far] of this.#pairs) {
      near.destroy();
      far.destroy();
    }
  }
}
