// Nodes and bans in etcd (lease/ban-rule.ts): keys outside of every election's line, beside the memos.
//
//   PREFIX.conclave/node/NODE/MACHINE/LEASE   which machine a session runs on; bound to its lease, so that it lives as long as the session
//   PREFIX.conclave/ban/NODE/NAME             the election NAME has banned the node; without a lease
//
// ARGUMENT. LeaseGrant and LeaseKeepAlive take no condition, so a banned node can open a lease and keep it alive. Nothing is granted by that: every transaction that grants
// something to a session with a node also compares that no key is below `ban/NODE/`, at the revision at which it grants. So a grant comes before the ban in etcd's
// order of all writes, or there is none. The read that confirms a keep makes the same comparison. Where it fails, the keep counts as `session-lost`, and the lease expires by
// itself, never earlier. The lease of a refused opening is not revoked either: a late revocation could end a later try of the same opening.
//
// THE END OF A NODE'S SESSIONS (after its machine was verified to be off; lease/ban-rule.ts, rule 6). LeaseRevoke takes no condition either. So one transaction compares seat, memo and ban, and reads in the same step the
// leases that speak for the node. Each of these leases was recorded when no ban was in force, because `recordNode` compares that. So it was recorded before the ban, and its process is gone. The leases to end
// are decided in that step. A revocation names the id of the lease, which no other lease ever has, so it is right however late it arrives. Two machines never have keys below one
// node at the same revision, because `recordNode` compares that too.
import type { EtcdLink } from "../../clients/etcd/link.ts";
import type { StopSignal } from "../../clients/stop-signal.ts";
import { type Compare, type KeyValue, type Operation, rangeEndOf } from "../../clients/etcd/messages.ts";
import { bannedNode, twinNode } from "../../lease/ban-rule.ts";
import { Banned } from "../banned.ts";
import type { BanChange, Name, NodeIdentity, Refused, Session } from "../contract.ts";
import { ROOT, sessionOfLease } from "./entry.ts";

function banRoot(prefix: string, node: string): Buffer {
  return Buffer.from(`${prefix}${ROOT}/ban/${encodeURIComponent(node)}/`);
}

function nodeRoot(prefix: string, node: string): string {
  return `${prefix}${ROOT}/node/${encodeURIComponent(node)}/`;
}

function machineRoot(prefix: string, { name, machine }: NodeIdentity): string {
  return `${nodeRoot(prefix, name)}${encodeURIComponent(machine)}/`;
}

/** The comparisons of every transaction that grants something to a session. Empty for a session without a node. */
export function noBan(prefix: string, { node }: Pick<Session, "node">): readonly Compare[] {
  if (node === undefined) return [];
  const key = banRoot(prefix, node);
  return [{ key, noneUntil: rangeEndOf(key) }];
}

function banKey(prefix: string, name: Name, node: string): Buffer {
  return Buffer.concat([banRoot(prefix, node), Buffer.from(encodeURIComponent(name))]);
}

/** The comparison of a transaction that ends sessions: the ban of this election is in force. A key that is not there has no value, not even an empty one. */
export function banStands(prefix: string, name: Name, ban: BanChange | undefined): readonly Compare[] {
  return ban?.endsSessions === true ? [{ key: banKey(prefix, name, ban.node), value: Buffer.alloc(0) }] : [];
}

/** The reads that go with `banStands`: the ban, and the leases that speak for the node. */
export function readTarget(prefix: string, name: Name, ban: BanChange | undefined): readonly Operation[] {
  if (ban?.endsSessions !== true) return [];
  const root = Buffer.from(nodeRoot(prefix, ban.node));
  return [
    { range: { key: banKey(prefix, name, ban.node), keysOnly: true } },
    { range: { key: root, rangeEnd: rangeEndOf(root), keysOnly: true } },
  ];
}

/** The sessions of the keys that `readTarget` has read. */
export function sessionsOfKeys(nodes: readonly KeyValue[]): readonly string[] {
  return nodes.map(({ key }) => key.toString("utf8").split("/").at(-1) ?? "");
}

export function readBan(prefix: string, node: string): Operation {
  const key = banRoot(prefix, node);
  return { range: { key, rangeEnd: rangeEndOf(key), keysOnly: true } };
}

/** Throws if a ban is in force. It is called after a comparison has failed that may have failed for another reason. */
export async function throwIfBanned(
  link: EtcdLink,
  prefix: string,
  { node }: Pick<Session, "node">,
  signal: StopSignal,
): Promise<void> {
  if (node === undefined) return;
  const { responses } = await link.txn({ compare: [], success: [readBan(prefix, node)], failure: [] }, signal);
  if ((responses[0]?.kvs.length ?? 0) > 0) throw new Banned();
}

/** The effect of a ban or of its lift, in the transaction that writes its memo. */
export function banEffect(prefix: string, name: Name, ban: BanChange | undefined): readonly Operation[] {
  if (ban === undefined) return [];
  const key = banKey(prefix, name, ban.node);
  return [ban.stands ? { put: { key, value: Buffer.alloc(0) } } : { delete: { key } }];
}

/** The key that lives as long as the lease, and is no entry of a line. */
export function nodeKey(prefix: string, node: NodeIdentity, lease: bigint): Buffer {
  return Buffer.from(`${machineRoot(prefix, node)}${sessionOfLease(lease)}`);
}

/** Records that this lease speaks for the node, and checks in the same step whether it may. */
export async function recordNode(
  link: EtcdLink,
  prefix: string,
  node: NodeIdentity,
  lease: bigint,
  signal: StopSignal,
): Promise<Refused | undefined> {
  const all = Buffer.from(nodeRoot(prefix, node.name));
  const own = Buffer.from(machineRoot(prefix, node));
  const noOther: readonly Compare[] = [
    { key: all, noneUntil: own },
    { key: rangeEndOf(own), noneUntil: rangeEndOf(all) },
  ];
  const put: Operation = { put: { key: nodeKey(prefix, node, lease), value: Buffer.alloc(0), lease } };
  const compare = [...noBan(prefix, { node: node.name }), ...noOther];
  const { succeeded, responses } = await link.txn(
    { compare, success: [put], failure: [readBan(prefix, node.name)] },
    signal,
  );
  if (succeeded) return undefined;
  const root = banRoot(prefix, node.name);
  const by = (responses[0]?.kvs ?? []).map(({ key }) => decodeURIComponent(key.subarray(root.length).toString("utf8")));
  return by.length > 0 ? bannedNode("etcd", node, by) : twinNode("etcd", node);
}

/** Reads the key of every session that speaks for a node. */
export function readNodes(prefix: string): Operation {
  const key = Buffer.from(`${prefix}${ROOT}/node/`);
  return { range: { key, rangeEnd: rangeEndOf(key), keysOnly: true } };
}

/** True if a key that is bound to a lease is the key of a node, and no entry. */
export function isNodeKey(prefix: string, key: Buffer): boolean {
  return key.toString("latin1").startsWith(`${prefix}${ROOT}/node/`);
}
