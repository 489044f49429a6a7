// Nodes and bans in ZooKeeper (lease/ban-rule.ts), beside the memos and outside of every election's line. NODE is a machine that can be banned, in the words of its operator.
//
//   CHROOT/.conclave/node/NODE               the gate: {"machine":"…","bans":["NAME",…]}, the machine that has this name now, and the elections that have banned it
//   CHROOT/.conclave/node/NODE/sessions      empty
//   CHROOT/.conclave/node/NODE/sessions/ID   ephemeral: the session ID speaks for the node; its password, and the version of the gate at its opening
//
// A multi can check that a node of the tree has a certain version. It cannot check that one is absent. So a ban is not looked for: a session has a PASS, which is the version that the gate had
// when the session was opened, and everything that grants something to that session checks that version in the same multi.
//
// INVARIANT 1  every ban, every lift and every change of the machine writes the gate over the version that was read, and so raises its version by one. Nobody else writes it.
// INVARIANT 2  a session is recorded below `sessions` only by a multi in which the gate has the version of its pass, and no ban stood in the gate of that version.
// INVARIANT 3  all sessions below `sessions` run on the machine that the gate names: whoever changes the machine deletes `sessions` in the same multi, which ZooKeeper refuses while it has a child.
//
// SAFETY (rule 2, nothing is granted after the ban). ZooKeeper applies multis whole, in one order. Say that a multi which grants something to a session of NODE is applied after the ban. The ban has raised the
//   version (1) above that of every pass that was given before it, and no pass is given while it stands (2). Versions never go back, so the check of the pass fails, and all of the multi with it. A lift raises
//   the version once more: a session from before the ban gets nothing afterwards either, and its node opens a new one.
// SAFETY (an entry that comes to the front of a line). Nothing is written when that happens: the owner lists the line, and finds itself first. So after the list it checks its pass once more. If the pass is
//   still good, no ban was written until then, and so none had been written when the list was read.
// SAFETY (a gate that somebody has deleted by hand). A gate that is made anew counts from zero, so that an old pass may fit it by accident. So a pass checks, besides, that the session's own node below
//   `sessions` is there. That had to be deleted before the gate could be, and nobody makes it again.
// SAFETY (rule 5, one machine). By 3.
//
// THE END OF A NODE'S SESSIONS (rule 6). There is no request that ends the session of another. But a session can be taken over with its id and its password, and then be closed. That takes no condition, so
//   which sessions are ended is decided before: the gate is read, then the sessions below it are listed, then one multi checks seat, memo and the version of the gate that was read, in which the ban of this
//   election stands. If it is applied, the gate had this version all the time between, so that the ban stood when the list was read: each session in the list was opened before the ban, and its process is gone.
//   And none is missing in it, because none can have been added. A session is closed by its id, which no other session ever has, so that this is right however late it comes.
// The password is no secret from anybody who may write here: that one could delete the entries as well. With the rights of `acl=creator` nobody else can read it.
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
import type { BanChange, Name, NodeIdentity, Refused, Session } from "../contract.ts";
import { inTurns } from "../turns.ts";
import { ensureNodes } from "./domain.ts";
import { encodeName, ROOT } from "./layout.ts";
import type { Link } from "./link.ts";

/** A session of a node that is banned, or was since it was opened, has asked for something: it is answered `session-lost`. */
export class Banned extends Error {}

/** What every multi checks that grants something to a session. Empty for a session without a node. */
export type SessionPass = readonly Part[];

/** What is read may have changed when it is written over. */
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

/** As it is now, or a moment ago: only the multi that follows decides. Made if it is missing. */
async function readGate(link: Link, chroot: string, node: string): Promise<Gate> {
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
    // It is not ours.
  }
  throw foreign(path);
}

function foreign(path: string): Refusal {
  const message = `zookeeper: ${path} is not what this store has written: somebody else writes there. Nothing was overwritten. Find out who, and delete that node with all below it.`;
  return new Refusal("STORE_FOREIGN_DATA", message);
}

/** The part of a multi that was refused, and its place. */
export function failureIn(
  answers: readonly PartAnswer[],
): { readonly index: number; readonly code: number } | undefined {
  const index = answers.findIndex(({ code }) => code !== CODE.ok);
  return index < 0 ? undefined : { index, code: answers[index]?.code ?? CODE.ok };
}

/** What was checked has another version, or is gone, or is there. */
export const CHANGED: ReadonlySet<number> = new Set([CODE.noNode, CODE.nodeExists, CODE.badVersion]);

/** A multi that grants something to the session of this pass, or says something in its name. Throws `Banned`, and nothing was applied, if the pass is no longer good. */
export async function granting(
  link: Link,
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

/** Records that this session speaks for the node: in one step with looking whether it may. `link` is the session's own. */
export async function enrol(
  link: Link,
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

/** What a multi does before it records a session, and the version that the gate has then. INVARIANT 3: another machine comes in only when nobody is there. */
function entrance(
  { acl }: Link,
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

/** Of a session that another process or thread has opened. Throws `Banned` if it does not speak for that node. */
export async function readPass(link: Link, chroot: string, node: string, id: string): Promise<SessionPass> {
  const paths = pathsOf(chroot, node);
  const own = `${paths.sessions}/${id}`;
  // The session was at another server until now: this one must have seen what it has written there.
  const [, found] = await Promise.all([link.sync(own), link.data(own)]);
  if (found === undefined) throw new Banned();
  const { version } = parsed(own, found.data);
  if (typeof version !== "number") throw foreign(own);
  return passOf(paths, version, own);
}

// ---- the ban

export interface Target {
  /** What the multi does that writes the memo of the ban: the check of the gate, or its new version. */
  readonly effect: Part;
  /** This very ban stands as the gate was read. */
  readonly isBanned: boolean;
  /** Only where they are to be ended. */
  readonly speakers: readonly Pick<Session, "id" | "secret" | "ttlMs">[];
}

/** In this order, over one connection: the gate first, then the sessions. */
export async function readTarget(link: Link, chroot: string, name: Name, ban: BanChange): Promise<Target> {
  const gate = await readGate(link, chroot, ban.node);
  const isBanned = gate.bans.includes(name);
  const speakers = ban.endsSessions === true ? await readSpeakers(link, gate) : [];
  return { effect: effectOf(gate, name, ban.stands), isBanned, speakers };
}

/** A gate that says so already is checked only: a ban that is written again changes nothing. */
function effectOf({ gate, machine, bans, version }: Gate, name: Name, stands: boolean): Part {
  if (bans.includes(name) === stands) return { check: gate, version };
  const next = stands ? [...bans, name] : bans.filter((each) => each !== name);
  return { setData: gate, data: gateData(machine, next), version };
}

async function readSpeakers(link: Link, { sessions }: Gate): Promise<Target["speakers"]> {
  const { found } = await link.children(sessions);
  const read = await inTurns(found?.names ?? [], async (id) => {
    const path = `${sessions}/${id}`;
    const own = await link.data(path);
    if (own === undefined) return []; // it is over
    const { secret, ttlMs } = parsed(path, own.data);
    if (typeof secret !== "string" || typeof ttlMs !== "number") throw foreign(path);
    return [{ id, secret, ttlMs }];
  });
  return read.flat();
}
