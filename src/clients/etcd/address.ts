// Where etcd is and who we are there: a URL, several, or an object. A URL may carry a password: no message repeats one.
//
//   etcd://[user:password@]host[:port][,host[:port]…][/PREFIX][?ca=FILE&cert=FILE&key=FILE&servername=NAME]      etcds:// with TLS
import { readFileSync } from "node:fs";
import { type ConclaveError, invalidConfig } from "../../base/errors.ts";
import { show } from "../../base/show.ts";
import { looksUnset } from "../../base/url.ts";

const DEFAULT_PORT = 2379;
const SETTINGS = ["ca", "cert", "key", "servername"] as const;

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** PEM text, as `node:tls` takes it. */
export interface EtcdTls {
  readonly ca?: string | Buffer | undefined;
  /** With `key`: who we are, where etcd asks for client certificates. */
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
  /** The name to find in etcd's certificate, if not the host of the URL. */
  readonly servername?: string | undefined;
}

export interface EtcdAddress {
  readonly endpoints: readonly Endpoint[];
  readonly tls: EtcdTls | undefined;
  readonly user: { readonly name: string; readonly password: string } | undefined;
  /** What every key begins with. */
  readonly prefix: string;
  /** All of it as one URL, with the password: what another process needs. Never for a message. */
  readonly url: string;
}

/** Reads URLs of one cluster. Everything but the hosts is taken from the first. Throws `CONFIG_INVALID`. */
export function parseAddress(urls: string | readonly string[]): EtcdAddress {
  const given = Array.isArray(urls) ? (urls as readonly unknown[]) : [urls];
  const parts = given.map(partsOf);
  const [first] = parts;
  if (first === undefined) throw invalid("pass a URL: etcd://host:2379, or etcd://a:2379,b:2379,c:2379");
  if (parts.some(({ scheme }) => scheme !== first.scheme)) throw invalid("etcd:// and etcds:// do not go together");
  const hosts = parts.flatMap(({ hosts }) => hosts);
  const endpoints = hosts.map(endpointOf);
  return {
    endpoints,
    tls: first.scheme === "etcds" ? tlsOf(first.query) : undefined,
    user: userOf(first.credentials),
    prefix: decode(first.path),
    url: `${first.scheme}://${first.credentials}${hosts.join(",")}${first.path === "" ? "" : `/${first.path}`}${first.query === "" ? "" : `?${first.query}`}`,
  };
}

interface UrlParts {
  readonly scheme: "etcd" | "etcds";
  readonly credentials: string;
  readonly hosts: readonly string[];
  readonly path: string;
  readonly query: string;
}

const FORM = /^(etcds?):\/\/([^@/?#]*@)?([^@/?#]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/i;

function partsOf(url: unknown): UrlParts {
  if (looksUnset(url)) throw invalid(`${show(url)} is not a URL. Is the environment variable set?`);
  const match = typeof url === "string" ? FORM.exec(url) : null;
  if (typeof url === "string" && /^https?:/i.test(url))
    throw invalid("write etcd:// where etcd's own tools have http://, and etcds:// for https://");
  if (match === null)
    throw invalid(
      "a URL is etcd://[user:password@]host[:port][,host[:port]…][/PREFIX] or the same with etcds://; signs like @ : / in a password are written as %40 %3A %2F",
    );
  const [, scheme = "", credentials = "", hosts = "", path = "", query = ""] = match;
  const settings = [...new URLSearchParams(query).keys()];
  const unknown = settings.filter((key) => !SETTINGS.some((known) => known === key));
  if (unknown.length > 0)
    throw invalid(`${unknown.map(show).join(", ")} is not a setting of it: ${SETTINGS.join(", ")} are`);
  if (scheme.toLowerCase() === "etcd" && settings.length > 0)
    throw invalid(`${settings.join(", ")} belongs to TLS: write etcds://`);
  return {
    scheme: scheme.toLowerCase() as UrlParts["scheme"],
    credentials,
    hosts: hosts.split(","),
    path,
    query,
  };
}

function endpointOf(host: string): Endpoint {
  const match = /^(\[[0-9a-f:.%]+\]|[^:[\]\s]+)(?::([0-9]{1,5}))?$/i.exec(host);
  const port = Number(match?.[2] ?? DEFAULT_PORT);
  if (match === null || port < 1 || port > 65_535) throw invalid(`${show(host)} is not host:port`);
  return { host: (match[1] ?? "").replace(/^\[|\]$/g, ""), port };
}

function userOf(credentials: string): EtcdAddress["user"] {
  if (credentials === "") return undefined;
  const text = credentials.slice(0, -1);
  const colon = text.indexOf(":");
  if (colon < 1) throw invalid("before the @ stands user:password");
  return { name: decode(text.slice(0, colon)), password: decode(text.slice(colon + 1)) };
}

function tlsOf(query: string): EtcdTls {
  const settings = new URLSearchParams(query);
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
    const why = cause instanceof Error ? cause.message : String(cause);
    throw invalid(`${key} cannot be read: ${why}`, cause);
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
  return invalidConfig("etcd", [problem], cause);
}
