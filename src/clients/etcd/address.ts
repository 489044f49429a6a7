// The address of an etcd cluster and our credentials there: a URL, several URLs, or an object. A URL may carry a password: no message repeats one.
//
//   etcd://[user:password@]host[:port][,host[:port]…][/PREFIX][?ca=FILE&cert=FILE&key=FILE&servername=NAME]      etcds:// with TLS
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

const DEFAULT_PORT = 2379;
const STORE = "etcd";

export interface EtcdAddress {
  readonly endpoints: readonly Endpoint[];
  readonly tls: TlsSettings | undefined;
  readonly user: User | undefined;
  /** Every key begins with it. */
  readonly prefix: string;
  /** The whole address as one URL, with the password, for another process that needs it. It must never be in a message. */
  readonly url: string;
}

/** Reads the URLs of one cluster. Everything but the hosts is taken from the first URL. Throws `CONFIG_INVALID`. */
export function parseAddress(urls: string | readonly string[]): EtcdAddress {
  const given = Array.isArray(urls) ? (urls as readonly unknown[]) : [urls];
  const parts = given.map(partsOf);
  const [first] = parts;
  if (first === undefined) throw invalid("pass a URL: etcd://host:2379, or etcd://a:2379,b:2379,c:2379");
  if (parts.some(({ scheme }) => scheme !== first.scheme)) throw invalid("etcd:// and etcds:// do not go together");
  const hosts = parts.flatMap(({ hosts }) => hosts);
  const endpoints = hosts.map((host) => endpointOf(STORE, host, DEFAULT_PORT));
  return {
    endpoints,
    tls: first.scheme === "etcds" ? tlsOf(STORE, new URLSearchParams(first.query)) : undefined,
    user: userOf(STORE, first.credentials),
    prefix: decode(STORE, first.path),
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
  const unknown = settings.filter((key) => !TLS_SETTINGS.some((known) => known === key));
  if (unknown.length > 0)
    throw invalid(`${shownSettings(unknown)} is not a setting of it: ${TLS_SETTINGS.join(", ")} are`);
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

function invalid(problem: string): ConclaveError {
  return invalidConfig(STORE, [problem]);
}
