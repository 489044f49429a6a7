// The texts about nodes and bans, which every store uses. Each store carries the rule out in its own step; the argument for it stands here, once.
//
// A power switch compares no token. A shooter that was paused between its decision and its shot may shoot the machine of the NEXT leader, unless that machine cannot be
// the next leader. So an intent to shoot node X is a ban of X, in the store that elects, and it is lifted only when no shot can come any more (src/stonith/machine.ts).
//
// RULE 1  A ban is a memo of the shooting election with an effect. It is written only while the seat shows session, bid and token of the shooting term, in one step, and in
//         the order of (token, n). So a stale shooter bans nobody, and a ban that was sent twice does not come back after its lift.
// RULE 2  From the step that writes the ban, until the step that writes its lift, no claim, keep or memo of a session of X is granted: each is judged in the step that would
//         grant it, never by a look before it. An opening of a new session for X is refused.
// RULE 3  A ban ends nothing early. X's seats are held until its ttl runs out: X may believe in them until its own deadline, and freeing them would let another lead
//         beside it. X learns of the ban by its next keep, as a lost session. The one way to an earlier end is rule 6.
// RULE 4  A term does not ban its own node.
// RULE 5  No two live sessions have the name of one node and different machines. Otherwise a shot at "web-1" hits one machine, and the other acts on.
// RULE 6  After the machine of X was verified to be off, the shooting term may end X's sessions: what X held is vacant at once, and not only after its ttl. It is a write of the memo of the ban, guarded
//         as every memo; and the store ends nothing unless a ban of this election stands in that very step.
//
// ARGUMENT that ending the sessions of a banned node (rule 6) ends no session of a process that runs.
//   a  The term that asks for it has itself written the ban, and afterwards has heard from the device that the machine is off (stonith/machine.ts). Only the term in the seat can lift, so that the ban stood
//      all the time between: nobody else could lift it while this term holds the seat, and if another term has come since, the step finds another token, and does nothing.
//   b  While a ban stands no session is opened for X (rule 2). So each session of X that the step finds was opened before the ban, and its process ran when the machine was found off, or
//      had ended before. Either way that process is gone for ever: a session is known to the memory of its process alone. X may have booted since; it has no session.
//   c  A request that comes late, after the lift, finds no ban and another version of the memo: it ends nothing. Without this it would end what X has opened after its boot.
//   d  All of them were opened on one machine (rule 5), and that is the one that the device has powered off. PostgreSQL tells the live from the silent by a clock that somebody may set; where it finds
//      sessions of two machines it ends none.
// A seat becomes free before its ttl here, which law 13 (a fast takeover needs fencing) allows: each store that keeps bans has tokens, and the holder
// is proven dead. If the machine were only cut off from the
// leader's resource, X would act on elsewhere. So a human's confirmation, which may mean only that, ends nothing.
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

/** A term does not ban its own node (rule 4). Undefined if the ban may be written. */
export function ownNode(store: string, { node }: Session, ban: BanChange | undefined): Refused | undefined {
  if (ban === undefined || !ban.stands || ban.node !== node) return undefined;
  const message = `${store}: a term on node "${node}" cannot ban its own node. Nothing was written.`;
  return { kind: "refused", code: "STORE_DENIED", message, retryable: false };
}

/** The sessions of a node are ended only while a ban of this election stands (rule 6): the answer if none does. */
export function unbannedNode(store: string, node: string): Refused {
  const message = `${store}: no ban of this election stands against the node "${node}": none of its sessions was ended, because it may have opened them since. They run out by their ttl.`;
  return { kind: "refused", code: "STORE_DENIED", message, retryable: false };
}
