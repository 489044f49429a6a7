// A host that runs a node of conclave/protocols over real sockets, with a file for its disk. Three of them elect a leader by Raft's election; the leader is stopped,
// and the other two elect another. The simulator runs the same node: the host decides nothing.
import { createSocket } from "node:dgram";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createRng, NOBODY, raftElection, settingsOf } from "conclave/protocols";

/**
 * @template {object} State
 * @template {import("conclave/protocols").Message} Sent
 * @template Write
 * @template {import("conclave/protocols").Command} Told
 * @param {import("conclave/protocols").ProtocolNode<State, Sent, Write, Told>} node
 * @param {{ id: number, ports: ReadonlyMap<number, number>, socket: import("node:dgram").Socket, file: string }} place
 * @param {(role: import("conclave/protocols").Role, leader: number, term: number) => void} announce
 */
function host(node, { id, ports, socket, file }, announce) {
  /** @type {Map<string, NodeJS.Timeout>} */
  const timers = new Map();
  let isUp = true;
  const now = () => performance.now();
  /** @type {Write | undefined} */
  let image = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
  const [settings, rng] = [settingsOf(node), createRng(process.pid, id)];
  const state = node.create({ id, members: [...ports.keys()], attribute: id, leader: NOBODY, settings, rng });

  /** @type {import("conclave/protocols").Effects<Sent, Write>} */
  const effects = {
    send: (to, message) => socket.send(JSON.stringify({ from: id, message }), ports.get(to), "127.0.0.1"),
    setTimer(timer, afterMs, subject = 0) {
      effects.cancelTimer(timer, subject);
      const expire = () => node.expire(state, timer, subject, now(), effects);
      timers.set(`${timer}/${subject}`, setTimeout(expire, Math.ceil(afterMs)));
    },
    cancelTimer: (timer, subject = 0) => clearTimeout(timers.get(`${timer}/${subject}`)),
    persist(ticket, write) {
      image = node.fold(image, write);
      keep(file, JSON.stringify(image));
      setImmediate(() => isUp && node.stored(state, ticket, now(), effects));
    },
    announce,
    explain: () => undefined,
  };
  socket.on("message", (text) => {
    const { from, message } = JSON.parse(text.toString());
    node.receive(state, from, message, now(), effects);
  });
  node.start(state, image, now(), effects);
  return () => {
    isUp = false;
    socket.close();
    for (const timer of timers.values()) clearTimeout(timer);
  };
}

/** The new content is on disk before it has the name: a crash leaves the old or the new. @param {string} file @param {string} text */
function keep(file, text) {
  const handle = openSync(`${file}.new`, "w");
  writeSync(handle, text);
  fsyncSync(handle);
  closeSync(handle);
  renameSync(`${file}.new`, file);
}

const folder = mkdtempSync(path.join(tmpdir(), "conclave-host-"));
/** @type {Map<number, import("node:dgram").Socket>} */
const sockets = new Map([1, 2, 3].map((id) => [id, createSocket("udp4")]));
const bound = [...sockets.values()].map(
  (socket) => new Promise((resolve) => socket.bind(0, "127.0.0.1", () => resolve(socket))),
);
await Promise.all(bound);
const ports = new Map([...sockets].map(([id, socket]) => [id, socket.address().port]));
/** Who is up → whom it follows. @type {Map<number, string>} */
const beliefs = new Map();
/** @type {Map<number, () => void>} */
const stops = new Map();
let stopped = 0;

for (const [id, socket] of sockets)
  stops.set(
    id,
    host(raftElection, { id, ports, socket, file: path.join(folder, `${id}.json`) }, (_role, leader, term) => {
      beliefs.set(id, leader === NOBODY ? `nobody ${id}` : `${leader} leads in term ${term}`);
      if (beliefs.size === 3 - stopped && new Set(beliefs.values()).size === 1) setImmediate(agreed);
    }),
  );

function agreed() {
  const [belief = ""] = new Set(beliefs.values());
  const leader = Number.parseInt(belief, 10);
  if (new Set(beliefs.values()).size !== 1 || stops.get(leader) === undefined) return;
  console.log(`${beliefs.size} agree: ${belief}`);
  const leaving = stopped === 0 ? [leader] : [...stops.keys()];
  for (const id of leaving) {
    stops.get(id)?.();
    stops.delete(id);
    beliefs.delete(id);
    stopped++;
  }
  if (stops.size === 0) rmSync(folder, { recursive: true });
}
