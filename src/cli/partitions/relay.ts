// The way of one member to its store, through this process, so that it can be cut: bytes are lost in both directions, and neither side is told, as with a broken switch. It needs neither root nor
// namespaces (`conclave drill` needs both). Only for a store at one address with a port in its URL.
import { connect, createServer, type Server, type Socket } from "node:net";
import { type HostAndPort, addressesOf } from "../drill/network.ts";

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
  isDead: boolean;
}

/** Why no member can be cut off from this store; undefined if one can. */
export function whyNoRelay(url: string): string | undefined {
  const count = addressesOf(url, undefined).length;
  if (count === 1) return undefined;
  return count === 0
    ? "the store is not reached over a network, or its URL names no port"
    : "the store has several addresses";
}

export class Relay {
  /** The store's URL, with the address of this relay. */
  readonly url: string;
  readonly #server: Server;
  readonly #target: HostAndPort;
  readonly #pairs = new Set<Pair>();
  #isCut = false;

  private constructor(url: string, server: Server, target: HostAndPort) {
    this.url = url;
    this.#server = server;
    this.#target = target;
  }

  static async to(url: string): Promise<Relay> {
    const [target] = addressesOf(url, undefined);
    if (target === undefined) throw new Error(`${url} names no address`);
    const server = createServer((socket) => relay.#join(socket));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { readonly port: number };
    const shown = target.host.includes(":") ? `[${target.host}]` : target.host;
    const relay = new Relay(url.replace(`${shown}:${target.port}`, `127.0.0.1:${port}`), server, target);
    return relay;
  }

  /** From now on nothing passes, neither on present connections nor on new ones. */
  cut(): void {
    this.#isCut = true;
    for (const pair of this.#pairs) pair.isDead = true;
  }

  /** New connections work; connections that were cut stay dead. */
  mend(): void {
    this.#isCut = false;
  }

  end(): void {
    this.#server.close();
    for (const { near, far } of this.#pairs) {
      near.destroy();
      far.destroy();
    }
  }

  #join(near: Socket): void {
    const far = connect({ host: this.#target.host, port: this.#target.port, noDelay: true });
    near.setNoDelay(true);
    const pair: Pair = { near, far, isDead: this.#isCut };
    this.#pairs.add(pair);
    near.on("data", (bytes: Buffer) => void (pair.isDead || far.write(bytes)));
    far.on("data", (bytes: Buffer) => void (pair.isDead || near.write(bytes)));
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on("error", () => {}); // "close" follows
      from.on("close", () => {
        if (!pair.isDead) to.destroy();
        if (near.destroyed && far.destroyed) this.#pairs.delete(pair);
      });
    }
  }
}
