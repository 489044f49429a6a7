// What is said of nodes and bans, by every store in the same words. The rule itself is a step of each store; its argument stands here, once.
//
// A power switch compares no token. A shooter that was paused between its decision and its shot may shoot the machine of the NEXT leader, unless that machine cannot be
// the next leader. So an intent to shoot node X is a ban of X, in the store that elects, and it is lifted only when no shot can come any more (src/stonith/machine.ts).
//
// RULE 1  A ban is a memo of the shooting election with an effect. It is written only while the seat shows session, bid and token of the shooting term, in one step, and in
//         the order of (token, n). So a stale shooter bans nobody, and a ban that was sent twice does not come back after its lift.
// RULE 2  From the step that writes the ban, until the step that writes its lift, no claim, keep or memo of a session of X is granted: each is judged in the step that would
//         grant it, never by a look before it. An opening of a new session for X is refused.
// RULE 3  A ban ends nothing early. X's seats are held until its ttl runs out: X may believe in them until its own deadline, and freeing them would let another lead
//         beside it. X learns of the ban by its next keep, as a lost session.
// RULE 4  A term does not ban its own node.
// RULE 5  One live session at most has a node's name and another machine. Otherwise a shot at "web-1" hits one machine, and the other acts on.
import type { Refused } from "../base/outcome.ts";
import type { BanChange, Name, NodeIdentity, Session } from "./exchange.ts";

/** The answer to an opening for a node that is banned. `by`: the elections whose bans stand. */
export function bannedNode(store: string, { name }: NodeIdentity, by: readonly Name[]): Refused {
  const who = by.map((election) => `"${election}"`).join(", ");
  const message = `${store}: the node "${name}" is banned by ${who}: it is to be powered off, or was, and that has not been settled. Nothing is granted to it until then. See: conclave stonith status. It is tried again.`;
  return { kind: "refused", code: "NODE_BANNED", message, retryable: true };
}

/** The answer to an opening for a node whose name another machine has. */
export function twinNode(store: string, { name, machine }: NodeIdentity): Refused {
  const message = `${store}: another machine than this one ("${machine}") has a live session as node "${name}". A shot at that name could hit the wrong machine. Give each machine a node name of its own. If that other one is gone, its session runs out by itself. It is tried again.`;
  return { kind: "refused", code: "NODE_DUPLICATE", message, retryable: true };
}

/** RULE 4: undefined if the ban may be written. */
export function ownNode(store: string, { node }: Session, ban: BanChange | undefined): Refused | undefined {
  if (ban === undefined || !ban.stands || ban.node !== node) return undefined;
  const message = `${store}: a term on node "${node}" cannot ban its own node. Nothing was written.`;
  return { kind: "refused", code: "STORE_DENIED", message, retryable: false };
}
