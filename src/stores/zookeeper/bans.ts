// Nodes and bans in ZooKeeper (lease/ban-rule.ts), beside the memos and outside of every election's line. NODE is a machine that can be banned, by the name that its operator gave it.
//
//   CHROOT/.conclave/node/NODE               the gate: {"machine":"…","bans":["NAME",…]}, the machine that has this name now, and the elections that have banned it
//   CHROOT/.conclave/node/NODE/sessions      empty
//   CHROOT/.conclave/node/NODE/sessions/ID   ephemeral: the session ID speaks for the node; its password, and the version of the gate at its opening
//
// A multi can check that a node of the tree has a certain version. It cannot check that a node is absent. So no request looks for a ban. Instead each session has a PASS, which is the version that the gate had
// when the session was opened, and every multi that grants something to that session checks that version.
//
// INVARIANT 1  every ban, every lift and every change of the machine writes the gate over the version that was read, and so raises its version by one. Nothing else writes the gate.
// INVARIANT 2  a session is recorded below `sessions` only by a multi in which the gate has the version of its pass, and there was no ban in the gate of that version.
// INVARIANT 3  all sessions below `sessions` run on the machine that the gate names: the multi that changes the machine also deletes `sessions`, which ZooKeeper refuses while it has a child.
//
// SAFETY (nothing is granted after the ban; rule 2 of ban-rule.ts). ZooKeeper applies multis whole, in one order. Suppose that a multi which grants something to a session of NODE is applied after the ban. The ban
//   has raised the version (invariant 1) above that of every pass that was given before it, and no pass is given while the ban is in force (invariant 2). Versions never go back, so the check of the pass fails, and the
//   whole multi fails with it. A lift raises the version once more: a session from before the ban gets nothing afterwards either, and its node opens a new one.
// SAFETY (an entry that comes to the front of a line). Nothing is written when that happens: the owner lists the line, and finds itself first. So after the list it checks its pass once more. If the pass is
//   still good, no ban was written until then, and so none had been written when the list was read.
// SAFETY (a gate that somebody has deleted by hand). The versions of a gate that is made anew count from zero, so an old pass may fit it by accident. So a pass also checks that the session's own node below
//   `sessions` is there. That node had to be deleted before the gate could be, and nobody makes it again.
// SAFETY (two live sessions of one node never run on different machines; rule 5 of ban-rule.ts). This follows from invariant 3.
//
// THE END OF A NODE'S SESSIONS (after its machine was verified to be off; rule 6 of ban-rule.ts). No request ends the session of another client. But a session can be taken over with its id and its password, and then
//   be closed. A close takes no condition, so the sessions to end are decided before it: the gate is read, then the sessions below it are listed, then one multi checks the seat, the memo, and the version of the gate
//   that was read and that has the ban of this election in it. If this multi is applied, the gate had this version all the time between, so the ban was in force when the list was read. Each session in the list was opened
//   before the ban, and its process is gone. No session is missing in the list, because none can have been added. A session is closed by its id, which no other session ever has, so a late close is right too.
// The password is no secret from a client that may write here: such a client could delete the entries as well. With the rights of `acl=creator` nobody else can read it.
import { Refusal } from "../../base/refusal.ts";
import { CODE, errorOfCode } from "../../clients/zookeeper/errors.ts";
import {
  ANY,
  EPHEMERAL,
  type NodeData,
  type Part,
  type PartAnswer,
  PERSISTENT,
} from "../../clients/zookeeper/messages.ts";
import { bannedNode, twinNode } from "../../lease/ban-rule.ts";
import { Banned } from "../banned.ts";
import type { BanChange, Name, NodeIdentity, Refused, Session } from "../contract.ts";
import { inTurns } from "../few-at-once.ts";
import { ensureNodes } from "./domain.ts";
import { encodeName, ROOT } from "./layout.ts";
import type { ZooKeeperLink } from "./link.ts";

/** The checks in every multi that grants something to a session. Empty for a session without a node. */
export type SessionPass = readonly Part[];

/** A node that was read may have changed when it is written over. */
const TRIES = 10;
const EMPTY = Buffer.alloc(0);

interface GatePaths {
  readonly root: string;
  readonly gate: string;
  readonly sessions: string;
}

function pathsOf(chroot: string, node: string): GatePaths {
  const root = `${chroot}/${ROOT}/node`;
  const gate = `${root}/${encodeName(node)}`;
  return { root, gate, sessions: `${gate}/sessions` };
}

interface Gate extends GatePaths {
  readonly machine: string;
  readonly bans: readonly Name[];
  readonly version: number;
}

function gateData(machine: string, bans: readonly Name[]): Buffer {
  return Buffer.from(JSON.stringify({ machine, bans }));
}

/** Reads the gate as it is now, or was a moment ago: only the multi that follows decides. The gate is made if it is missing. */
async function readGate(link: ZooKeeperLink, chroot: string, node: string): Promise<Gate> {
  const paths = pathsOf(chroot, node);
  for (let tried = 0; tried < TRIES; tried++) {
    const [, found] = await Promise.all([link.sync(paths.gate), link.data(paths.gate)]);
    if (found !== undefined) return { ...paths, ...gateOf(paths.gate, found) };
    await ensureNodes(link, paths.root);
    const { acl } = link;
    const { answers } = await link.multi(paths.gate, [
      { create: paths.gate, data: gateData("", []), acl, flags: PERSISTENT },
      { create: paths.sessions, data: EMPTY, acl, flags: PERSISTENT },
    ]);
    const refused = failureIn(answers);
    if (refused !== undefined && refused.code !== CODE.nodeExists) throw errorOfCode(refused.code, paths.gate);
  }
  throw new Error(`${paths.gate} goes away again and again`);
}

function gateOf(path: string, { data, stat }: NodeData): Pick<Gate, "machine" | "bans" | "version"> {
  const { machine, bans } = parsed(path, data);
  if (typeof machine !== "string" || !Array.isArray(bans)) throw foreign(path);
  if (!bans.every((name) => typeof name === "string")) throw foreign(path);
  return { machine, bans, version: stat.version };
}

function parsed(path: string, data: Buffer): { readonly [key: string]: unknown } {
  try {
    const value: unknown = JSON.parse(data.toString("utf8"));
    if (typeof value === "object" && value !== null) return { ...value };
  } catch {
    // This data was not written by conclave.
  }
  throw foreign(path);
}

function foreign(path: string): Refusal {
  const message = `zookeeper: ${path} is not what this store has written: somebody else writes there. Nothing was overwritten. Find out who, and delete that node with all below it.`;
  return new Refusal("STORE_FOREIGN_DATA", message);
}

/** Finds the part of a multi that was refused, and its place. */
export function failureIn(
  answers: readonly PartAnswer[],
): { readonly index: number; readonly code: number } | undefined {
  const index = answers.findIndex(({ code }) => code !== CODE.ok);
  return index < 0 ? undefined : { index, code: answers[index]?.code ?? CODE.ok };
}

/** The node that was checked has another version, is gone, or exists although it should not. */
export const CHANGED: ReadonlySet<number> = new Set([CODE.noNode, CODE.nodeExists, CODE.badVersion]);

/** Sends a multi that grants something to the session of this pass, or says something in its name. If the pass is no longer good, it throws `Banned`, and nothing was applied. */
export async function granting(
  link: ZooKeeperLink,
  { pass = [] }: { readonly pass: SessionPass | undefined },
  path: string,
  parts: readonly Part[],
): Promise<{ readonly answers: readonly PartAnswer[]; readonly zxid: bigint }> {
  const { answers, zxid } = await link.multi(path, [...pass, ...parts]);
  const refused = failureIn(answers.slice(0, pass.length));
  if (refused === undefined) return { answers: answers.slice(pass.length), zxid };
  if (CHANGED.has(refused.code)) throw new Banned();
  throw errorOfCode(refused.code, path);
}

// ---- the session of a node

export interface Speaker {
  readonly id: string;
  readonly secret: string;
  readonly ttlMs: number;
}

/** Records that this session speaks for the node, and checks in the same step whether it may. `link` is the session's own. */
export async function enrol(
  link: ZooKeeperLink,
  chroot: string,
  node: NodeIdentity,
  speaker: Speaker,
): Promise<{ readonly kind: "enrolled"; readonly pass: SessionPass } | Refused> {
  for (let tried = 0; tried < TRIES; tried++) {
    const gate = await readGate(link, chroot, node.name);
    if (gate.bans.length > 0) return bannedNode("zookeeper", node, gate.bans);
    const { parts, version } = entrance(link, gate, node.machine);
    const data = Buffer.from(JSON.stringify({ secret: speaker.secret, ttlMs: speaker.ttlMs, version }));
    const own = `${gate.sessions}/${speaker.id}`;
    const { answers } = await link.multi(own, [...parts, { create: own, data, acl: link.acl, flags: EPHEMERAL }]);
    const refused = failureIn(answers);
    if (refused === undefined) return { kind: "enrolled", pass: passOf(gate, version, own) };
    if (refused.code === CODE.notEmpty) return twinNode("zookeeper", node);
    if (!CHANGED.has(refused.code)) throw errorOfCode(refused.code, own);
  }
  throw new Error(`the gate of the node "${node.name}" changes faster than a session can be opened`);
}

/** The parts of a multi that come before the record of a session, and the version that the gate has then. INVARIANT 3: the machine of the gate is changed only when there is no session. */
function entrance(
  { acl }: ZooKeeperLink,
  gate: Gate,
  machine: string,
): { readonly parts: readonly Part[]; readonly version: number } {
  const { gate: path, sessions, version } = gate;
  if (gate.machine === machine) return { parts: [{ check: path, version }], version };
  const parts: readonly Part[] = [
    { setData: path, data: gateData(machine, gate.bans), version },
    { delete: sessions, version: ANY },
    { create: sessions, data: EMPTY, acl, flags: PERSISTENT },
  ];
  return { parts, version: version + 1 };
}

function passOf({ gate }: GatePaths, version: number, own: string): SessionPass {
  return [
    { check: gate, version },
    { check: own, version: ANY },
  ];
}

/** Reads the pass of a session that another process or thread has opened. Throws `Banned` if the session does not speak for that node. */
export async function readPass(link: ZooKeeperLink, chroot: string, node: string, id: string): Promise<SessionPass> {
  const paths = pathsOf(chroot, node);
  const own = `${paths.sessions}/${id}`;
  // The session was at another server until now. This server must have seen what the session has written there.
  const [, found] = await Promise.all([link.sync(own), link.data(own)]);
  if (found === undefined) throw new Banned();
  const { version } = parsed(own, found.data);
  if (typeof version !== "number") throw foreign(own);
  return passOf(paths, version, own);
}

// ---- the ban

export interface Target {
  /** A part of the multi that writes the memo of the ban: it checks the gate, or writes its new version. */
  readonly effect: Part;
  /** The gate, as it was read, has this very ban. */
  readonly isBanned: boolean;
  /** The sessions of the node, only where they are to be ended. */
  readonly speakers: readonly Pick<Session, "id" | "secret" | "ttlMs">[];
}

/** Reads in this order, over one connection: the gate first, then the sessions. */
export async function readTarget(link: ZooKeeperLink, chroot: string, name: Name, ban: BanChange): Promise<Target> {
  const gate = await readGate(link, chroot, ban.node);
  const isBanned = gate.bans.includes(name);
  const speakers = ban.endsSessions === true ? await readSpeakers(link, gate) : [];
  return { effect: effectOf(gate, name, ban.stands), isBanned, speakers };
}

/** A gate that already says this is only checked: a ban that is written again changes nothing. */
function effectOf({ gate, machine, bans, version }: Gate, name: Name, stands: boolean): Part {
  if (bans.includes(name) === stands) return { check: gate, version };
  const next = stands ? [...bans, name] : bans.filter((each) => each !== name);
  return { setData: gate, data: gateData(machine, next), version };
}

async function readSpeakers(link: ZooKeeperLink, { sessions }: Gate): Promise<Target["speakers"]> {
  const { found } = await link.children(sessions);
  const read = await inTurns(found?.names ?? [], async (id) => {
    const path = `${sessions}/${id}`;
    const own = await link.data(path);
    if (own === undefined) return []; // the session is over
    const { secret, ttlMs } = parsed(path, own.data);
    if (typeof secret !== "string" || typeof ttlMs !== "number") throw foreign(path);
    return [{ id, secret, ttlMs }];
  });
  return read.flat();
}
