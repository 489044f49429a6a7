// The parts of a URL that clients of several servers share: scheme://[user:password@]host[:port][,host[:port]…][/PATH][?ca=FILE&cert=FILE&key=FILE&servername=NAME]. The scheme ends with an s for TLS.
// `store` is the name of the function that messages begin with. All functions throw `CONFIG_INVALID`, and no message repeats a password.
import { readFileSync } from "node:fs";
import { invalidConfig } from "../base/errors.ts";
import { show } from "../base/show.ts";
import { flawOf } from "../base/text.ts";
import { looksUnset } from "../base/url.ts";
import { problemsOfPems } from "./pem.ts";

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** PEM text, as `node:tls` takes it. */
export interface TlsSettings {
  readonly ca?: string | Buffer | undefined;
  /** With `key`: our own certificate, where the server asks for client certificates. */
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
  /** The name to find in the server's certificate, if not the host of the URL. */
  readonly servername?: string | undefined;
}

export interface User {
  readonly name: string;
  readonly password: string;
}

/** The settings in the query of a URL with TLS. */
export const TLS_SETTINGS = ["ca", "cert", "key", "servername"] as const;

/** A URL of a server that our own code connects to. */
export interface ServerUrl {
  readonly isSecure: boolean;
  /** "" or "user:password@". */
  readonly credentials: string;
  /** Each is host[:port]. */
  readonly hosts: readonly string[];
  /** "" or what begins with a /, as it stands in the URL. */
  readonly path: string;
  readonly settings: URLSearchParams;
}

/** `store` is also the scheme without TLS. `path`: how messages call it. `others`: the settings that are known beside those of TLS. */
export function serverUrlOf(store: string, url: unknown, path: string, others: readonly string[]): ServerUrl {
  if (looksUnset(url)) throw invalidConfig(store, [`${show(url)} is not a URL. Is the environment variable set?`]);
  const form = new RegExp(`^(${store}s?)://([^@/?#]*@)?([^@/?#]+)(/[^?#]*)?(?:\\?([^#]*))?$`, "i");
  const match = typeof url === "string" ? form.exec(url) : null;
  if (match === null)
    throw invalidConfig(store, [
      `a URL is ${store}://[user:password@]host[:port][,host[:port]…][/${path}] or the same with ${store}s://; signs like @ : / in a password are written as %40 %3A %2F`,
    ]);
  const isSecure = match[1]?.toLowerCase() === `${store}s`;
  const settings = new URLSearchParams(match[5]);
  const problem = problemOfSettings([...settings.keys()], isSecure, others, `${store}s://`);
  if (problem !== undefined) throw invalidConfig(store, [problem]);
  return { isSecure, credentials: match[2] ?? "", hosts: (match[3] ?? "").split(","), path: match[4] ?? "", settings };
}

function problemOfSettings(
  keys: readonly string[],
  isSecure: boolean,
  others: readonly string[],
  secureScheme: string,
): string | undefined {
  const known: readonly string[] = [...others, ...TLS_SETTINGS];
  const unknown = keys.filter((key) => !known.includes(key));
  if (unknown.length > 0) return `${shownSettings(unknown)} is not a setting of it: ${known.join(", ")} are`;
  const secure = keys.filter((key) => TLS_SETTINGS.some((each) => each === key));
  return !isSecure && secure.length > 0 ? `${secure.join(", ")} belongs to TLS: write ${secureScheme}` : undefined;
}

export function nameOf({ host, port }: Endpoint): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

export function endpointOf(store: string, host: string, defaultPort: number): Endpoint {
  const match = /^(\[[0-9a-f:.%]+\]|[^:[\]\s]+)(?::([0-9]{1,5}))?$/i.exec(host);
  const port = Number(match?.[2] ?? defaultPort);
  if (match === null || port < 1 || port > 65_535)
    throw invalidConfig(store, [`${show(withoutTail(host))} is not host:port`]);
  return { host: (match[1] ?? "").replace(/^\[|\]$/g, ""), port };
}

/** Where a password has a / in it, what looks like a port is its beginning. */
function withoutTail(host: string): string {
  return host.replace(/^([^:[\]]*):.*\D.*$/s, "$1:…");
}

/** The names of settings, for messages. Where a password has a ? in it, what looks like a setting is its end. */
function shownSettings(keys: readonly string[]): string {
  return keys.map((key) => (key.includes("@") ? "a text with an @" : show(key))).join(", ");
}

/** `credentials`: "" or "user:password@". */
export function userOf(store: string, credentials: string): User | undefined {
  if (credentials === "") return undefined;
  const text = credentials.slice(0, -1);
  const colon = text.indexOf(":");
  if (colon < 1) throw invalidConfig(store, ["before the @ stands user:password"]);
  return { name: decode(store, text.slice(0, colon)), password: decode(store, text.slice(colon + 1)) };
}

/** Reads the files at once. */
export function tlsOf(store: string, settings: URLSearchParams): TlsSettings {
  const file = (key: string): Buffer | undefined => {
    const path = settings.get(key);
    return path === null ? undefined : readPem(store, key, path);
  };
  const tls = {
    ca: file("ca"),
    cert: file("cert"),
    key: file("key"),
    servername: settings.get("servername") ?? undefined,
  };
  if ((tls.cert === undefined) !== (tls.key === undefined)) throw invalidConfig(store, ["cert and key go together"]);
  const problems = problemsOfPems(tls);
  if (problems.length > 0) throw invalidConfig(store, problems);
  return tls;
}

export function readPem(store: string, key: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw invalidConfig(store, [`${key} cannot be read: ${why}`], cause);
  }
}

export function decode(store: string, text: string): string {
  const decoded = decoding(store, text);
  const flaw = flawOf(decoded);
  if (flaw !== undefined) throw invalidConfig(store, [`a part of the URL is no text: ${flaw}`]);
  return decoded;
}

function decoding(store: string, text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidConfig(store, [
      "a % in a URL begins an escape of two hexadecimal digits; write %25 for the sign itself",
    ]);
  }
}
