// The reason why a connection to ZooKeeper could not be opened, as an error of this client.
import { connectReason, type ConnectWords, wasClosed } from "../connect-reasons.ts";
import type { StopSignal } from "../stop-signal.ts";
import { type Endpoint, nameOf, type TlsSettings } from "../url-parts.ts";
import { ZooKeeperError } from "./errors.ts";
import { askWord } from "./four-letter-words.ts";

const FULL = "it has as many connections from this address as it allows (maxClientCnxns)";

const WORDS: ConnectWords = {
  scheme: "zookeeper",
  closes: (tls) =>
    tls === undefined
      ? `it has no majority, it is stopping, ${FULL}`
      : `it has no majority, it is stopping, ${FULL}, it asks for a client certificate (?cert=FILE&key=FILE)`,
  makeItSpeakTls: "give it a secureClientPort",
  refusesCertificate: "is it signed by an authority in ZooKeeper's trust store?",
};

export function connectionError(endpoint: Endpoint, tls: TlsSettings | undefined, cause: unknown): ZooKeeperError {
  if (cause instanceof ZooKeeperError) return cause;
  const { isLasting, text } = connectReason(cause, tls, WORDS);
  return new ZooKeeperError(isLasting ? "tls" : "unreachable", "not-applied", `${nameOf(endpoint)} ${text}`, cause);
}

/**
 * A server without a majority closes a connection without a word. This returns the error with the reason, if the server tells it when it is asked about itself; otherwise the error as it is. To be told
 * by the protocol, one would have to begin a read-only session there.
 */
export async function explained(
  endpoint: Endpoint,
  tls: TlsSettings | undefined,
  error: ZooKeeperError,
  signal: StopSignal,
): Promise<ZooKeeperError> {
  if (signal.aborted || error.problem !== "unreachable" || !wasClosed(error.cause)) return error;
  const said = (await askWord(endpoint, tls, "srvr", signal)) ?? "";
  const reason = OWN_REASONS.find(([words]) => words.test(said))?.[1];
  if (reason === undefined) return error;
  return new ZooKeeperError("unreachable", "not-applied", `${nameOf(endpoint)} ${reason}`, error.cause);
}

const OWN_REASONS: readonly (readonly [said: RegExp, reason: string])[] = [
  [/^Mode: read-only$/m, "has no majority, and is read-only: too many of the other servers are away"],
  [
    /not currently serving requests/,
    "has no majority: too many of the other servers are away, or they are just electing their leader",
  ],
];
