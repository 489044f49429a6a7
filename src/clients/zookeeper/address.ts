// The address of a ZooKeeper ensemble and our credentials there. A URL may carry a password: no message repeats one.
//
//   zookeeper://[user:password@]host[:port][,host[:port]…][/CHROOT][?tickMs=2000&layout=latch&acl=open]
//   zookeepers:// with TLS, and ca=FILE&cert=FILE&key=FILE&servername=NAME beside these
import { invalidConfig } from "../../base/errors.ts";
import {
  decode,
  type Endpoint,
  endpointOf,
  serverUrlOf,
  tlsOf,
  type TlsSettings,
  type User,
  userOf,
} from "../url-parts.ts";

const DEFAULT_PORT = 2181;
const STORE = "zookeeper";

export interface ZooKeeperAddress {
  readonly endpoints: readonly Endpoint[];
  readonly tls: TlsSettings | undefined;
  readonly user: User | undefined;
  /** "" or /app: everything lies below it. */
  readonly chroot: string;
  /** The other settings of the query, for the caller. */
  readonly settings: ReadonlyMap<string, string>;
  /** The whole address as one URL, with the password, for another process that needs it. It must never be in a message. */
  readonly url: string;
}

/** `others`: settings that the caller knows. Throws `CONFIG_INVALID`. */
export function parseAddress(url: unknown, others: readonly string[]): ZooKeeperAddress {
  const { isSecure, credentials, hosts, path, settings } = serverUrlOf(STORE, url, "CHROOT", others);
  return {
    endpoints: hosts.map((host) => endpointOf(STORE, host, DEFAULT_PORT)),
    tls: isSecure ? tlsOf(STORE, settings) : undefined,
    user: userOf(STORE, credentials),
    chroot: chrootOf(path),
    settings: new Map([...settings].filter(([key]) => others.includes(key))),
    url: String(url),
  };
}

function chrootOf(path: string): string {
  const chroot = decode(STORE, path).replace(/\/$/, "");
  const parts = chroot.split("/").slice(1);
  if (parts.some((part) => part === "" || part === "." || part === ".."))
    throw invalidConfig(STORE, ["the chroot is a path like /app/locks, without empty parts, . and .."]);
  return chroot;
}
