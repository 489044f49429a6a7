// Makes a socket to one server, plain or with TLS, that is still connecting. node:net and node:tls are loaded with the first one: that takes longer than loading the driver.
import type { Socket } from "node:net";
import type { Endpoint, TlsSettings } from "../url-parts.ts";

export function startSocket({ host, port }: Endpoint, tls: TlsSettings | undefined): Socket {
  const { connect, isIP } = process.getBuiltinModule("node:net");
  if (tls === undefined) return connect({ host, port });
  // An IP address is not a name that a server could be asked for; and node:tls takes a setting that is there and undefined as given.
  const named = isIP(host) === 0 ? { servername: host } : {};
  const given = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined));
  return process.getBuiltinModule("node:tls").connect({ host, port, ...named, ...given });
}
