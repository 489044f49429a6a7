// Turns an error of ZooKeeper into an outcome of the contract: what happened, why, and what to do next. An outcome that is not certain is unknown.
import { type RefusalCode, type Refused, unknown, type Unknown } from "../../base/outcome.ts";
import { Refusal } from "../../base/refusal.ts";
import { refusalText } from "../../clients/connect-reasons.ts";
import type { ZooKeeperAddress } from "../../clients/zookeeper/address.ts";
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

export function outcomeOf(error: unknown, at: Whereabouts): Refused | Unknown {
  if (error instanceof Refusal) return error.refused;
  if (!(error instanceof ZooKeeperError) || error.outcome === "unknown") return unknown(error);
  const [code, retryable, next] = SENTENCES[error.problem];
  const what = error.problem === "denied" ? `${error.message}. ${deniedReason(at)}` : refusalText(error, next);
  return { kind: "refused", code, message: `zookeeper: ${what}`, retryable, cause: error };
}

/** What a message about rights is about. It never has the user's name or password in it. */
type Whereabouts = Pick<ZooKeeperAddress, "chroot" | "user">;

/** For a store that was made from a client as for one from a URL: its renewal thread has only the URL. */
export const HOW_TO_NAME_A_USER =
  'write user and password into the URL (zookeeper://user:password@host:2181), or call addAuthInfo("digest", Buffer.from("user:password")) of the client before you pass it';

/**
 * A wrong password is no error to ZooKeeper: the client merely gets no rights. `setAcl` replaces all rights of a node. With the scheme auth it gives them to everybody who was added before, so that an owner
 * who is another keeps theirs.
 */
function deniedReason({ chroot, user }: Whereabouts): string {
  const who = user === undefined ? `The store has no user: ${HOW_TO_NAME_A_USER}. Then give` : "Give";
  const [node, where] = chroot === "" ? ["NODE", "that node (not on /, which other programs share)"] : [chroot, chroot];
  return `${who} the user all rights on ${where} and below it, in zkCli.sh: addauth digest USER:PASSWORD, the same for the owner that getAcl ${node} shows if that is another, then setAcl -R ${node} auth:USER:cdrwa. If it is not there, create ${node} first. A wrong password shows as a missing right.`;
}
