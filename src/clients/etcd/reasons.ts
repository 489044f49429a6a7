// The reason why a connection to etcd could not be opened, as an error of this client, and advice about a missing right.
import { connectReason, type ConnectWords } from "../connect-reasons.ts";
import { type Endpoint, nameOf, type TlsSettings } from "../url-parts.ts";
import { EtcdError } from "./errors.ts";

const WORDS: ConnectWords = {
  scheme: "etcd",
  closes: () => "it is stopping",
  makeItSpeakTls: "give etcd --cert-file and --key-file",
  refusesCertificate: "is it signed by etcd's --trusted-ca-file?",
};

export function connectionError(endpoint: Endpoint, tls: TlsSettings | undefined, cause: unknown): EtcdError {
  if (cause instanceof EtcdError) return cause;
  const { isLasting, text } = connectReason(cause, tls, WORDS);
  return new EtcdError(isLasting ? "tls" : "unreachable", "not-applied", `${nameOf(endpoint)} ${text}`, cause);
}

/** Advice about a refusal of rights. `keys`: the beginning of the keys that we wanted; `alone`: one more key that is wanted, without those that begin with it. */
export function deniedReason(message: string, keys: string, alone?: string): string {
  if (message.includes("invalid user ID or password"))
    return `${message}. Correct user and password in the URL: etcd://user:password@host:2379`;
  if (message.includes("user name is empty"))
    return `${message}: this etcd asks who we are. Put user and password into the URL: etcd://user:password@host:2379`;
  if (!message.includes("permission denied")) return message;
  const grant = "etcdctl role grant-permission ROLE readwrite";
  const below = `${message}. The user needs reading and writing below ${keys}`;
  if (alone === undefined) return `${below}: ${grant} --prefix=true '${keys}'`;
  return `${below} and of ${alone}: ${grant} --prefix=true '${keys}' && ${grant} '${alone}'`;
}
