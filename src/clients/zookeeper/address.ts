// Where ZooKeeper is and who we are there. A URL may carry a password: no message repeats one.
//
//   zookeeper://[user:password@]host[:port][,host[:port]…][/CHROOT][?tickMs=2000&layout=latch&acl=open]
//   zookeepers:// with TLS, and ca=FILE&cert=FILE&key=FILE&servername=NAME beside these
import { readFileSync } from "node:fs";
import { type ConclaveError, invalidConfig } from "../../base/errors.ts";
import { show } from "../../base/show.ts";
import { looksUnset } from "../../base/url.ts";

const DEFAULT_PORT = 2181;
const TLS_SETTINGS = ["ca", "cert", "key", "servername"];

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** PEM text, as `node:tls` takes it. */
export interface ZooKeeperTls {
  readonly ca?: Buffer | undefined;
  /** With `key`: who we are, where ZooKeeper asks for client certificates. */
  readonly cert?: Buffer | undefined;
  readonly key?: Buffer | undefined;
  /** The name to find in the certificate, if not the host of the URL. */
  readonly servername?: string | undefined;
}

export interface ZooKeeperAddress {
  readonly endpoints: readonly Endpoint[];
  readonly tls: ZooKeeperTls | undefined;
  readonly user: { readonly name: string; readonly password: string } | undefined;
  /** "" or /app: below it everything lies. */
  readonly chroot: string;
  /** What is left of the query, for whom it concerns. */
  readonly settings: ReadonlyMap<string, string>;
  /** All of it as one URL, with the password: what another process needs. Never for a message. */
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
    endpoints: hosts.split(",").map(endpointOf),
    tls: isSecure ? tlsOf(given) : undefined,
    user: userOf(credentials),
    chroot: chrootOf(path),
    settings: new Map([...given].filter(([key]) => others.includes(key))),
    url,
  };
}

function problemOfSettings(keys: readonly string[], isSecure: boolean, others: readonly string[]): string | undefined {
  const known = [...others, ...TLS_SETTINGS];
  const unknown = keys.filter((key) => !known.includes(key));
  if (unknown.length > 0) return `${unknown.map(show).join(", ")} is not a setting of it: ${known.join(", ")} are`;
  const secure = keys.filter((key) => TLS_SETTINGS.includes(key));
  return !isSecure && secure.length > 0 ? `${secure.join(", ")} belongs to TLS: write zookeepers://` : undefined;
}

function endpointOf(host: string): Endpoint {
  const match = /^(\[[0-9a-f:.%]+\]|[^:[\]\s]+)(?::([0-9]{1,5}))?$/i.exec(host);
  const port = Number(match?.[2] ?? DEFAULT_PORT);
  if (match === null || port < 1 || port > 65_535) throw invalid(`${show(host)} is not host:port`);
  return { host: (match[1] ?? "").replace(/^\[|\]$/g, ""), port };
}

function userOf(credentials: string): ZooKeeperAddress["user"] {
  if (credentials === "") return undefined;
  const text = credentials.slice(0, -1);
  const colon = text.indexOf(":");
  if (colon < 1) throw invalid("before the @ stands user:password");
  return { name: decode(text.slice(0, colon)), password: decode(text.slice(colon + 1)) };
}

function chrootOf(path: string): string {
  const chroot = decode(path).replace(/\/$/, "");
  const parts = chroot.split("/").slice(1);
  if (parts.some((part) => part === "" || part === "." || part === ".."))
    throw invalid("the chroot is a path like /app/locks, without empty parts, . and ..");
  return chroot;
}

function tlsOf(settings: URLSearchParams): ZooKeeperTls {
  const file = (key: string): Buffer | undefined => {
    const path = settings.get(key);
    return path === null ? undefined : readPem(key, path);
  };
  const tls = {
    ca: file("ca"),
    cert: file("cert"),
    key: file("key"),
    servername: settings.get("servername") ?? undefined,
  };
  if ((tls.cert === undefined) !== (tls.key === undefined)) throw invalid("cert and key go together");
  return tls;
}

function readPem(key: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw invalid(`${key} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalid("a % in a URL begins an escape of two hexadecimal digits; write %25 for the sign itself");
  }
}

function invalid(problem: string, cause?: unknown): ConclaveError {
  return invalidConfig("zookeeper", [problem], cause);
}
