// Reads a URL of Redis: one server, or several that know nothing of each other; a user, a password, a database, TLS, a certificate of ours. It is read here and not by a client, so that two clients cannot read it differently,
// and so that no message repeats a password.
import { invalidConfig } from "../../base/errors.ts";
import { show } from "../../base/show.ts";
import { looksUnset } from "../../base/url.ts";
import { decode, readPem } from "../url-parts.ts";

/** The address of one server, and the user and password to log in with. */
export interface Server {
  readonly host: string;
  readonly port: number;
  /** The path of a Unix socket, in place of host and port. */
  readonly path?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly database: number;
  readonly tls?: ServerTls | undefined;
}

/** Texts as PEM. `cert` and `key`: our own certificate, where the server asks for client certificates. */
interface ServerTls {
  readonly servername?: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** What a URL says of TLS, for advice. */
export type TlsOfUrl = "none" | "without-certificate" | "with-certificate";

export function tlsOfUrl({ tls }: Server): TlsOfUrl {
  if (tls === undefined) return "none";
  return tls.cert === undefined ? "without-certificate" : "with-certificate";
}

export interface ParsedUrl {
  readonly servers: readonly Server[];
  readonly settings: URLSearchParams;
}

const PORT = 6379;
/** The settings that name files: the authority that is trusted, our own certificate and its key. */
export const TLS_SETTINGS = ["conclave_ca", "conclave_cert", "conclave_key"] as const;

/** Host and port, for messages. */
export function placeOf(server: Server): string {
  return server.path ?? `${server.host}:${server.port}`;
}

/** The returned text repeats only those parts of the URL that cannot be a password. */
export function problemOfUrl(url: string): string | undefined {
  if (looksUnset(url)) return `${show(url)} is not a URL. Is the environment variable set?`;
  const parts = partsOf(url);
  if (parts === undefined) return "what was passed does not begin with redis:// or rediss://";
  if (parts.hosts.some(({ host }) => host.includes("@"))) return "an @ in a user or a password is written %40";
  if (parts.hosts.some(({ host }) => host === "")) return "the URL names no host";
  if (parts.hosts.some(({ port }) => !(port > 0 && port < 65_536)))
    return "a port of the URL is not a number up to 65535";
  if (!/^\d*$/.test(parts.database)) return "the path of the URL is the number of a database, such as /0";
  if (new Set(parts.hosts.map(({ host, port }) => `${host}:${port}`)).size < parts.hosts.length)
    return "the URL names one server twice, which would count as two";
  return undefined;
}

/** Reads a URL that has no problem. Throws if a password is not encoded as URLs require, or if a file of TLS cannot be read or lacks its other half. */
export function parseUrl(url: string): ParsedUrl {
  const { scheme, user, password, hosts, database, query } = partsOf(url) ?? FAILED;
  const settings = new URLSearchParams(query);
  const files = filesOf(settings, scheme === "rediss");
  const servers = hosts.map(({ host, port }) => ({
    host,
    port,
    username: user === "" ? undefined : decode("redis", user),
    password: password === undefined ? undefined : decode("redis", password),
    database: Number(database),
    tls: scheme === "rediss" ? { ...(isAddress(host) ? {} : { servername: host }), ...files } : undefined,
  }));
  return { servers, settings };
}

function filesOf(settings: URLSearchParams, isSecure: boolean): Omit<ServerTls, "servername"> {
  const given = TLS_SETTINGS.filter((setting) => settings.has(setting));
  if (given.length > 0 && !isSecure)
    throw invalidConfig("redis", [`${given.join(", ")} belongs to TLS: write rediss://`]);
  if (settings.has("conclave_cert") !== settings.has("conclave_key"))
    throw invalidConfig("redis", ["conclave_cert and conclave_key go together"]);
  const read = (setting: string): string => readPem("redis", setting, settings.get(setting) ?? "").toString();
  return Object.fromEntries(given.map((setting) => [setting.replace("conclave_", ""), read(setting)]));
}

interface Parts {
  readonly scheme: string;
  readonly user: string;
  readonly password: string | undefined;
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  readonly database: string;
  readonly query: string;
}

const FAILED: Parts = { scheme: "redis", user: "", password: undefined, hosts: [], database: "", query: "" };

function partsOf(url: string): Parts | undefined {
  const parsed = /^(rediss?):\/\/(?:([^:@/?#]*)(?::([^@/?#]*))?@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?/i.exec(url);
  if (parsed === null) return undefined;
  const [, scheme = "", user = "", password, hosts = "", database = "", query = ""] = parsed;
  return { scheme: scheme.toLowerCase(), user, password, hosts: hosts.split(",").map(hostOf), database, query };
}

function hostOf(text: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain = "", port = `${PORT}`] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d*))?$/.exec(text) ?? [];
  return { host: bracketed ?? plain, port: Number(port) };
}

function isAddress(host: string): boolean {
  return /^[\d.]+$/.test(host) || host.includes(":");
}
