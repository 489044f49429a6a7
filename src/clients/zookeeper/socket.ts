// A socket to one server, plain or with TLS, that is still connecting. node:net and node:tls are loaded with the first one: that takes longer than loading the driver.
import type { Socket } from "node:net";
import type { Endpoint, TlsSettings } from "../url-parts.ts";

export function startSocket({ host, port }: Endpoint, tls: TlsSettings | undefined): Socket {
  const { connect, isIP } = process.getBuiltinModule("node:net");
  if (tls === undefined) return connect({ host, port });
  // An address is no name that a server could be asked for; and a setting that is there and undefined is one to node:tls.
  const named = isIP(host) === 0 ? { servername: host } : {};
  const given = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined));
  return process.getBuiltinModule("node:tls").connect({ host, port, ...named, ...given });
}
