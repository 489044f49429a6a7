// The address of an etcd cluster and our credentials there: a URL, several URLs, or an object. A URL may carry a password: no message repeats one.
//
//   etcd://[user:password@]host[:port][,host[:port]…][/PREFIX][?ca=FILE&cert=FILE&key=FILE&servername=NAME]      etcds:// with TLS
import { type ConclaveError, invalidConfig } from "../../base/errors.ts";
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
  if (given.some((url) => typeof url === "string" && /^https?:/i.test(url)))
    throw invalid("write etcd:// where etcd's own tools have http://, and etcds:// for https://");
  const parts = given.map((url) => serverUrlOf(STORE, url, "PREFIX", []));
  const [first] = parts;
  if (first === undefined) throw invalid("pass a URL: etcd://host:2379, or etcd://a:2379,b:2379,c:2379");
  const { isSecure, credentials, path, settings } = first;
  if (parts.some((each) => each.isSecure !== isSecure)) throw invalid("etcd:// and etcds:// do not go together");
  const hosts = parts.flatMap(({ hosts }) => hosts);
  const query = settings.size === 0 ? "" : `?${settings.toString()}`;
  return {
    endpoints: hosts.map((host) => endpointOf(STORE, host, DEFAULT_PORT)),
    tls: isSecure ? tlsOf(STORE, settings) : undefined,
    user: userOf(STORE, credentials),
    prefix: decode(STORE, path.slice(1)),
    url: `${isSecure ? "etcds" : "etcd"}://${credentials}${hosts.join(",")}${path}${query}`,
  };
}

function invalid(problem: string): ConclaveError {
  return invalidConfig(STORE, [problem]);
}
