// The reason why a connection to ZooKeeper could not be opened, as an error of this client.
import { connectReason, type ConnectWords } from "../connect-reasons.ts";
import { type Endpoint, nameOf, type TlsSettings } from "../url-parts.ts";
import { ZooKeeperError } from "./errors.ts";

const WORDS: ConnectWords = {
  closed: (tls) =>
    tls === undefined
      ? "closed the connection at once: it has no majority, it is stopping, or it expects TLS (then write zookeepers://)"
      : "closed the connection at once: it has no majority, it is stopping, or it does not speak TLS (then write zookeeper://)",
  speaksNoTls: "write zookeeper://, or give it a secureClientPort",
  refusesCertificate: "is it signed by an authority in ZooKeeper's trust store?",
};

export function connectionError(endpoint: Endpoint, tls: TlsSettings | undefined, cause: unknown): ZooKeeperError {
  if (cause instanceof ZooKeeperError) return cause;
  const { isLasting, text } = connectReason(cause, tls, WORDS);
  return new ZooKeeperError(isLasting ? "tls" : "unreachable", "not-applied", `${nameOf(endpoint)} ${text}`, cause);
}
