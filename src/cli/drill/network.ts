// A candidate's way to its store that can be cut: a network namespace of its own, joined to this host by one cable, and on this side of the cable a relay to
// each address of the store. Inside, connections to these addresses are turned to the relay, so that the store's URL stays as it is. After a cut all
// packets are lost in both directions, and neither side is told, as with a broken switch. Needs Linux, root, ip and iptables. Of the host's own network nothing changes
// but the end of the cable. Everything is removed at the end. What a killed drill leaves is named after it, and the next drill removes it.
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { lookup } from "node:dns/promises";
import { connect, createServer, isIP, type Server, type Socket } from "node:net";
import path from "node:path";

export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

const PREFIX = "ccdrill";
/** In the range for tests between networks, which nobody routes (RFC 2544); each drill has another part of it. */
const NETWORK = `198.${18 + (process.pid % 2)}.${(process.pid >> 1) % 256}`;

/** Why no candidate can be cut off here; undefined if one can. */
export function whyNotCut(addresses: readonly HostAndPort[]): string | undefined {
  if (addresses.length === 0) return "this store is not reached over a network";
  if (addresses.some(({ host }) => isIP(host) === 6)) return "only a store at an IPv4 address can be cut off";
  if (process.platform !== "linux") return "network namespaces are Linux's";
  if (process.geteuid?.() !== 0) return "only root can make network namespaces";
  const missing = ["ip", "iptables"].filter((tool) => spawnSync("which", [tool]).status !== 0);
  return missing.length === 0 ? undefined : `${missing.join(" and ")} missing: apt-get install iproute2 iptables`;
}

/** The addresses in a URL such as etcd://a:1,b:2/x. Without a port an address cannot be known. */
export function addressesOf(url: string, defaultPort: number | undefined): readonly HostAndPort[] {
  const [, hosts] = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#]*@)?([^/?#]+)/i.exec(url) ?? [];
  return (hosts ?? "").split(",").flatMap((each) => {
    const [, host = "", port] = /^(\[[^\]]+\]|[^:]*)(?::(\d+))?$/.exec(each) ?? [];
    const number = port === undefined ? defaultPort : Number(port);
    return host === "" || number === undefined ? [] : [{ host: host.replace(/^\[|\]$/g, ""), port: number }];
  });
}

export class Cable {
  readonly #space: string;
  /** The end of the cable on this side. */
  readonly #here: string;
  readonly #relays: Relay[] = [];
  readonly prefix: readonly string[];

  private constructor(number: number) {
    this.#space = `${PREFIX}-${process.pid}-${number}`;
    this.#here = `ccd${number}h${process.pid % 10_000}`;
    this.prefix = ["ip", "netns", "exec", this.#space];
  }

  /** `number` 0…63, one for each candidate of this drill: four addresses of its network are this cable's. */
  static async lay(number: number, addresses: readonly HostAndPort[]): Promise<Cable> {
    const cable = new Cable(number);
    try {
      await cable.#lay(number, addresses);
      return cable;
    } catch (error) {
      cable.remove();
      throw error;
    }
  }

  async #lay(number: number, addresses: readonly HostAndPort[]): Promise<void> {
    const [space, here, there] = [this.#space, this.#here, "cable0"];
    const [near, far] = [`${NETWORK}.${4 * number + 1}`, `${NETWORK}.${4 * number + 2}`];
    ip(["netns", "add", space]);
    ip(["link", "add", here, "type", "veth", "peer", "name", there, "netns", space]);
    ip(["addr", "add", `${near}/30`, "dev", here]);
    ip(["link", "set", here, "up"]);
    for (const args of [
      ["addr", "add", `${far}/30`, "dev", there],
      ["link", "set", there, "up"],
      ["link", "set", "lo", "up"],
      ["route", "add", "default", "via", near],
    ])
      ip(["-n", space, ...args]);
    // With this, packets to 127.0.0.1 may leave by the cable.
    within(space, ["sysctl", "-qw", "net.ipv4.conf.all.route_localnet=1"]);
    within(space, ["iptables", "-t", "nat", "-A", "POSTROUTING", "-o", there, "-j", "MASQUERADE"]);
    const hosts: string[] = [];
    for (const { host, port } of addresses) {
      const relay = await Relay.open(near, { host, port });
      this.#relays.push(relay);
      const ipv4 = isIP(host) === 4 ? host : (await lookup(host, { family: 4 })).address;
      if (isIP(host) === 0) hosts.push(`${ipv4} ${host}`);
      const to = `${near}:${relay.port}`;
      const match = ["-t", "nat", "-A", "OUTPUT", "-d", ipv4, "-p", "tcp", "--dport", `${port}`];
      within(space, ["iptables", ...match, "-j", "DNAT", "--to-destination", to]);
    }
    if (hosts.length > 0) writeHosts(space, hosts);
  }

  /** Drops packets where they leave, and not where they begin: to the kernel a packet to 127.0.0.1 begins as one that stays, and is turned to the cable only later. */
  cut(): void {
    within(this.#space, ["iptables", "-t", "mangle", "-A", "POSTROUTING", "!", "-o", "lo", "-j", "DROP"]);
    within(this.#space, ["iptables", "-t", "mangle", "-A", "PREROUTING", "!", "-i", "lo", "-j", "DROP"]);
  }

  mend(): void {
    within(this.#space, ["iptables", "-t", "mangle", "-F"]);
  }

  /** Removing one end of the cable removes the other. It would also go with the namespace, but only when the kernel has time for it. */
  remove(): void {
    for (const relay of this.#relays) relay.close();
    spawnSync("ip", ["link", "delete", this.#here]);
    spawnSync("ip", ["netns", "delete", this.#space]);
    rmSync(path.join("/etc/netns", this.#space), { recursive: true, force: true });
  }
}

/** Removes what drills have left whose process is gone. */
export function sweepCables(): void {
  const { stdout } = spawnSync("ip", ["netns", "list"], { encoding: "utf8" });
  for (const [space, pid] of (stdout ?? "").matchAll(new RegExp(`^${PREFIX}-(\\d+)-\\d+`, "gm")))
    if (pid !== undefined && !isRunning(Number(pid))) {
      spawnSync("ip", ["netns", "delete", space]);
      rmSync(path.join("/etc/netns", space), { recursive: true, force: true });
    }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function writeHosts(space: string, lines: readonly string[]): void {
  const folder = path.join("/etc/netns", space);
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "hosts"), `127.0.0.1 localhost\n${lines.join("\n")}\n`);
}

/** Passes on, in both directions, whatever comes to a port of this host. */
class Relay {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(to: HostAndPort) {
    this.#server = createServer((near) => {
      const far = connect(to.port, to.host);
      near.pipe(far);
      far.pipe(near);
      this.#join(near, far);
      this.#join(far, near);
    });
  }

  static open(host: string, to: HostAndPort): Promise<Relay> {
    const relay = new Relay(to);
    const server = relay.#server;
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, host, () => resolve(relay));
    });
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  /** Closes every connection, too. A connection whose other end is gone without a word would keep this process alive for as long as TCP tries. */
  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(one: Socket, other: Socket): void {
    this.#sockets.add(one);
    one.on("error", () => other.destroy());
    one.on("close", () => {
      this.#sockets.delete(one);
      other.destroy();
    });
  }
}

function within(space: string, command: readonly string[]): void {
  ip(["netns", "exec", space, ...command]);
}

function ip(args: readonly string[]): void {
  const { status, stderr, error } = spawnSync("ip", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`ip ${args.join(" ")}: ${error?.message ?? stderr.trim()}`);
}
