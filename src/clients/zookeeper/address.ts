// The address of a ZooKeeper ensemble and our credentials there. A URL may carry a password: no message repeats one.
//
//   zookeeper://[user:password@]host[:port][,host[:port]…][/CHROOT][?tickMs=2000&layout=latch&acl=open]
//   zookeepers:// with TLS, and ca=FILE&cert=FILE&key=FILE&servername=NAME beside these
import { type ConclaveError, invalidConfig } from "../../base/errors.ts";
import { show } from "../../base/show.ts";
import { looksUnset } from "../../base/url.ts";
import {
  decode,
  type Endpoint,
  endpointOf,
  shownSettings,
  TLS_SETTINGS,
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

const FORM = /^(zookeepers?):\/\/([^@/?#]*@)?([^@/?#]+)(\/[^?#]*)?(?:\?([^#]*))?$/i;

/** `others`: settings that the caller knows. Throws `CONFIG_INVALID`. */
export function parseAddress(url: unknown, others: readonly string[]): ZooKeeperAddress {
  if (looksUnset(url)) throw invalid(`${show(url)} is not a URL. Is the environment variable set?`);
  const match = typeof url === "string" ? FORM.exec(url) : null;
  if (typeof url !== "string" || match === null)
    throw invalid(
      "a URL is zookeeper://[user:password@]host[:port][,host[:port]…][/CHROOT] or the same with zookeepers://; signs like @ : / in a password are written as %40 %3A %2F",
    );
  const [, scheme = "", credentials = "", hosts = "", path = "", query = ""] = match;
  const isSecure = scheme.toLowerCase() === "zookeepers";
  const given = new URLSearchParams(query);
  const problem = problemOfSettings([...given.keys()], isSecure, others);
  if (problem !== undefined) throw invalid(problem);
  return {
    endpoints: hosts.split(",").map((host) => endpointOf(STORE, host, DEFAULT_PORT)),
    tls: isSecure ? tlsOf(STORE, given) : undefined,
    user: userOf(STORE, credentials),
    chroot: chrootOf(path),
    settings: new Map([...given].filter(([key]) => others.includes(key))),
    url,
  };
}

function problemOfSettings(keys: readonly string[], isSecure: boolean, others: readonly string[]): string | undefined {
  const known: readonly string[] = [...others, ...TLS_SETTINGS];
  const unknown = keys.filter((key) => !known.includes(key));
  if (unknown.length > 0) return `${shownSettings(unknown)} is not a setting of it: ${known.join(", ")} are`;
  const secure = keys.filter((key) => TLS_SETTINGS.some((known) => known === key));
  return !isSecure && secure.length > 0 ? `${secure.join(", ")} belongs to TLS: write zookeepers://` : undefined;
}

function chrootOf(path: string): string {
  const chroot = decode(STORE, path).replace(/\/$/, "");
  const parts = chroot.split("/").slice(1);
  if (parts.some((part) => part === "" || part === "." || part === ".."))
    throw invalid("the chroot is a path like /app/locks, without empty parts, . and ..");
  return chroot;
}

function invalid(problem: string): ConclaveError {
  return invalidConfig(STORE, [problem]);
}
