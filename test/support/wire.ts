// A wire between a client and a real server, which can go dead or be slow: bytes vanish, or are kept and delivered later, and nobody is told.
import { connect, createServer, type Server, type Socket } from "node:net";

/** What passes through here of one connection. */
interface Pair {
  readonly near: Socket;
  readonly far: Socket;
  isDead: boolean;
  /** Bytes on their way to the server that are kept back. */
  kept: Buffer | undefined;
  /** The next answer of the server is lost, and the connection with it. */
  losesAnswer: boolean;
}

export class Wire {
  /** As the server's own, with the port of this wire. */
  readonly url: string;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #isCut = false;
  #keep: string | undefined;
  #lose: string | undefined;
  #target: URL;
  /** How many connections there have been. */
  opened = 0;

  private constructor(server: Server, url: string, target: URL) {
    this.#server = server;
    this.url = url;
    this.#target = target;
  }

  /** `url`: any with a host and a port in it. */
  static async to(url: string): Promise<Wire> {
    const target = new URL(url);
    const server = createServer((socket) => wire.#join(socket));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const here = new URL(url);
    here.port = `${(server.address() as { port: number }).port}`;
    const wire = new Wire(server, here.href, target);
    return wire;
  }

  /** Where new connections go, from now on; the others end. */
  lead(url: string): void {
    this.#target = new URL(url);
    for (const { near, far } of this.#pairs) {
      near.destroy();
      far.destroy();
    }
  }

  /** From now on nothing passes: neither on what is connected, which stays dead, nor on what connects now. */
  cut(): void {
    this.#isCut = true;
    this.swallow();
  }

  /** What is connected now stays dead. New connections work. */
  swallow(): void {
    for (const pair of this.#pairs) pair.isDead = true;
  }

  /** New connections work again. */
  mend(): void {
    this.#isCut = false;
  }

  /** The next request with `text` in it is kept back, from that text on, and nothing passes after it on that connection. */
  keepBack(text: string): void {
    this.#keep = text;
  }

  /** The next request with `text` in it reaches the server, and its answer is lost: the connection breaks when it comes. New connections work. */
  loseAnswer(text: string): void {
    this.#lose = text;
  }

  /** Whether something is kept back. */
  get hasKept(): boolean {
    return [...this.#pairs].some(({ kept }) => kept !== undefined);
  }

  /** What was kept back reaches the server, also if its sender has gone. Only that, and nothing that was sent after it: no change of mind. */
  deliver(): void {
    for (const { kept, far } of this.#pairs) if (kept !== undefined) far.write(kept);
  }

  end(): void {
    this.#server.close();
    for (const { near, far } of this.#pairs) {
      near.destroy();
      far.destroy();
    }
  }

  #join(near: Socket): void {
    this.opened++;
    const far = connect({ host: this.#target.hostname, port: Number(this.#target.port), noDelay: true });
    near.setNoDelay(true);
    const pair: Pair = { near, far, isDead: this.#isCut, kept: undefined, losesAnswer: false };
    this.#pairs.add(pair);
    near.on("data", (bytes: Buffer) => this.#toServer(pair, bytes));
    far.on("data", (bytes: Buffer) => {
      if (pair.losesAnswer) near.destroy();
      else if (!pair.isDead) near.write(bytes);
    });
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

  #toServer(pair: Pair, bytes: Buffer): void {
    if (pair.isDead) return;
    if (this.#lose !== undefined && bytes.includes(this.#lose)) {
      this.#lose = undefined;
      pair.losesAnswer = true;
    }
    const at = this.#keep === undefined ? -1 : bytes.indexOf(this.#keep);
    if (at < 0) return void pair.far.write(bytes);
    this.#keep = undefined;
    pair.isDead = true;
    // The beginning passes: a server closes a connection on which nothing is asked for a while, and waits longer for the rest of what is. It ends within the text, and not with the bytes: on a busy machine a
    // further request comes with the same bytes, and then the one with the text would be whole.
    pair.far.write(bytes.subarray(0, at + 1));
    pair.kept = bytes.subarray(at + 1);
  }
}
