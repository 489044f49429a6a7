// The way of one member to its store, through this process, so that it can be cut: bytes are lost in both directions, and neither side is told, as with a broken switch. It needs neither root nor
// namespaces (`conclave drill` needs both). Only for a store at one address: a port in its URL, or the one server in the kubeconfig that its URL names.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, isIP, type Server, type Socket } from "node:net";
import { type HostAndPort, addressesOf } from "../drill/network.ts";

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
  isDead: boolean;
}

/** How a store is reached, and how it is reached through a relay instead. */
interface Way {
  readonly address: HostAndPort;
  /** The URL for a member behind the relay at this port of this host. `end` removes what was made for it. */
  readonly through: (port: number) => { readonly url: string; readonly end: () => void };
}

/** Why no member can be cut off from this store; undefined if one can. */
export function whyNoRelay(url: string): string | undefined {
  const way = wayTo(url);
  return typeof way === "string" ? way : undefined;
}

/** A text: why there is none. */
function wayTo(url: string): Way | string {
  if (/^kubernetes:/i.test(url)) return wayToKubernetes(url);
  const [address, another] = addressesOf(url, undefined);
  if (address === undefined) return "the store is not reached over a network, or its URL names no port";
  if (another !== undefined) return "the store has several addresses";
  const shown = address.host.includes(":") ? `[${address.host}]` : address.host;
  const through = (port: number): string => url.replace(`${shown}:${address.port}`, `127.0.0.1:${port}`);
  return { address, through: (port) => ({ url: through(port), end: () => {} }) };
}

const SERVER_LINE = /^([ \t-]*)server:[ \t]*["']?(https?:\/\/[^\s"']+)["']?[ \t]*$/gm;

/** The address of an API server stands in a kubeconfig: the member gets a copy of it with another address, beside the file, so that relative paths in it stay right. */
function wayToKubernetes(url: string): Way | string {
  const [place = "", query = ""] = url.split("?");
  const settings = new URLSearchParams(query);
  const file = settings.get("kubeconfig");
  if (file === null) return "the URL of the store names no kubeconfig: kubernetes://NAMESPACE?kubeconfig=FILE";
  const text = readFileSync(file, "utf8");
  const [line, another] = text.matchAll(SERVER_LINE);
  const [all = "", indent = "", server = ""] = line ?? [];
  if (server === "" || another !== undefined) return `${file} does not name exactly one server`;
  const { protocol, hostname, port, pathname } = new URL(server);
  const host = hostname.replace(/^\[|\]$/g, "");
  const isSecure = protocol === "https:";
  if (isSecure && isIP(host) !== 0 && host !== "127.0.0.1")
    return `${file} names a server by its number over TLS, and its certificate would not be right for a relay`;
  const address = { host, port: port === "" ? (isSecure ? 443 : 80) : Number(port) };
  const name = isSecure && isIP(host) === 0 && !text.includes("tls-server-name:") ? host : undefined;
  const through = (at: number): { readonly url: string; readonly end: () => void } => {
    const copy = `${file}.relay-${process.pid}-${at}`;
    const path = pathname.replace(/\/$/, "");
    const named = name === undefined ? "" : `\n${indent.replaceAll("-", " ")}tls-server-name: ${name}`;
    const relayed = text.replace(all, () => `${indent}server: ${protocol}//127.0.0.1:${at}${path}${named}`);
    writeFileSync(copy, relayed, { mode: 0o600 });
    settings.set("kubeconfig", copy);
    return { url: `${place}?${settings.toString()}`, end: () => rmSync(copy, { force: true }) };
  };
  return { address, through };
}

export class Relay {
  /** The store's URL, with the address of this relay. */
  readonly url: string;
  readonly #server: Server;
  readonly #target: HostAndPort;
  readonly #end: () => void;
  readonly #pairs = new Set<Pair>();
  #isCut = false;

  private constructor(server: Server, { address, through }: Way) {
    const { url, end } = through((server.address() as { readonly port: number }).port);
    this.url = url;
    this.#end = end;
    this.#server = server;
    this.#target = address;
  }

  static async to(url: string): Promise<Relay> {
    const way = wayTo(url);
    if (typeof way === "string") throw new Error(way);
    const server = createServer((socket) => relay.#join(socket));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const relay = new Relay(server, way);
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
    this.#end();
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
