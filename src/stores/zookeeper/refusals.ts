// Turns an error of ZooKeeper into an outcome of the contract: what happened, why, and what to do next. An outcome that is not certain is unknown.
import { type RefusalCode, type Refused, unknown, type Unknown } from "../../base/outcome.ts";
import { Refusal } from "../../base/refusal.ts";
import { refusalText } from "../../clients/connect-reasons.ts";
import { ZooKeeperError, type ZooKeeperProblem } from "../../clients/zookeeper/errors.ts";

type Sentence = readonly [code: RefusalCode, retryable: boolean, next: string];

const AGAIN: Sentence = ["STORE_UNREACHABLE", true, "It is tried again."];

const SENTENCES: Readonly<Record<ZooKeeperProblem, Sentence>> = {
  unreachable: AGAIN,
  tls: ["STORE_DENIED", false, ""],
  denied: ["STORE_DENIED", false, ""],
  "no-node": AGAIN,
  "node-exists": AGAIN,
  "bad-version": AGAIN,
  "not-empty": AGAIN,
  expired: AGAIN,
  moved: AGAIN,
  unsupported: ["STORE_UNSUPPORTED", false, "ZooKeeper 3.6 or newer is needed."],
  local: ["STORE_UNSUPPORTED", false, "Set localSessionsUpgradingEnabled=true on all servers."],
  "too-large": ["STORE_FULL", false, "Nothing was written. Write a shorter value."],
  full: ["STORE_FULL", false, "Raise the quota, or use another path."],
  malformed: ["STORE_UNREACHABLE", true, "Is it ZooKeeper that listens there? It is tried again."],
  other: AGAIN,
};

export function outcomeOf(error: unknown, chroot: string): Refused | Unknown {
  if (error instanceof Refusal) return error.refused;
  if (!(error instanceof ZooKeeperError) || error.outcome === "unknown") return unknown(error);
  const [code, retryable, next] = SENTENCES[error.problem];
  const what = error.problem === "denied" ? `${error.message}. ${deniedReason(chroot)}` : refusalText(error, next);
  return { kind: "refused", code, message: `zookeeper: ${what}`, retryable, cause: error };
}

/** For a store that was made from a client as for one from a URL: its renewal thread has only the URL. */
export const HOW_TO_NAME_A_USER =
  'write it into the URL (zookeeper://user:password@host:2181), or call addAuthInfo("digest", Buffer.from("user:password")) of the client before you pass it';

/** A wrong password is no error to ZooKeeper: the client merely gets no rights. */
function deniedReason(chroot: string): string {
  const path = chroot === "" ? "/" : chroot;
  return `If the store has no user yet, ${HOW_TO_NAME_A_USER}. Give that user all rights below ${path}, in zkCli.sh: addauth digest OWNER:PASSWORD, then setAcl -R ${path} auth:OWNER:cdrwa. A wrong password shows as a missing right.`;
}
