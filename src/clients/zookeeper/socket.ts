// A socket to one server, plain or with TLS, that is still connecting.
import { connect as connectPlain, isIP, type Socket } from "node:net";
import { connect as connectSecure } from "node:tls";
import type { Endpoint, TlsSettings } from "../url-parts.ts";

export function startSocket({ host, port }: Endpoint, tls: TlsSettings | undefined): Socket {
  if (tls === undefined) return connectPlain({ host, port });
  // An address is no name that a server could be asked for; and a setting that is there and undefined is one to node:tls.
  const named = isIP(host) === 0 ? { servername: host } : {};
  const given = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined));
  return connectSecure({ host, port, ...named, ...given });
}
