// Turns an error of etcd into an outcome of the contract: what happened, why, and what to do next. An outcome that is not certain is unknown.
import { EtcdError, type EtcdProblem } from "../../clients/etcd/errors.ts";
import { refusalText } from "../../clients/connect-reasons.ts";
import { deniedReason } from "../../clients/etcd/reasons.ts";
import { Refusal } from "../../base/refusal.ts";
import { type RefusalCode, type Refused, unknown, type Unknown } from "../../base/outcome.ts";

type Sentence = readonly [code: RefusalCode, retryable: boolean, next: string];

const SENTENCES: Readonly<Record<EtcdProblem, Sentence>> = {
  unreachable: ["STORE_UNREACHABLE", true, "It is tried again."],
  tls: ["STORE_DENIED", false, ""],
  denied: ["STORE_DENIED", false, ""],
  "lease-not-found": ["STORE_UNREACHABLE", true, "It is tried again."],
  "lease-exists": ["STORE_UNREACHABLE", true, "It is tried again."],
  "other-cluster": [
    "STORE_FOREIGN_DATA",
    true,
    "Nothing was written. If the list of endpoints names two clusters, correct it; if the cluster was set up anew, start this process again.",
  ],
  unsupported: ["STORE_UNSUPPORTED", false, "etcd 3.4 or newer is needed."],
  "no-space": [
    "STORE_UNREACHABLE",
    true,
    "Make room: etcdctl compact, etcdctl defrag, etcdctl alarm disarm. It is tried again.",
  ],
  "too-large": [
    "STORE_FULL",
    false,
    "Nothing was written. Announce a shorter value, or raise etcd's --max-request-bytes.",
  ],
  busy: ["STORE_UNREACHABLE", true, "It is tried again."],
  other: ["STORE_UNREACHABLE", true, "It is tried again."],
};

/** `keys` and `alone` name the keys that were asked for, as in `deniedReason`. */
export function outcomeOf(error: unknown, keys: string, alone?: string): Refused | Unknown {
  if (error instanceof Refusal) return error.refused;
  if (!(error instanceof EtcdError) || error.outcome === "unknown") return unknown(error);
  const [code, retryable, next] = SENTENCES[error.problem];
  const what =
    error.problem === "denied"
      ? deniedReason(error.message, keys === "" ? "NAME/" : keys, alone)
      : refusalText(error, next);
  return { kind: "refused", code, message: `etcd: ${what}`, retryable, cause: error };
}

/** There is a key below the name that is no entry of the line. */
export function foreignData(key: string): Refused {
  const message = `etcd: ${key} is bound to no lease, so it is data and no candidate's entry; Go's candidates would wait for it for ever. Nothing was overwritten. Use another name, or move that key away.`;
  return { kind: "refused", code: "STORE_FOREIGN_DATA", message, retryable: false };
}
