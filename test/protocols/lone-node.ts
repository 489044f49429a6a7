// One node without a world: hand it an input, get the effects it asked for, as plain values. For tests that cite a rule of a paper.
//
//   const node = loneNode(bully, { id: 2, nodes: 3 });
//   node.start();
//   expect(node.receive(1, { type: "ELECTION", number: 4 })).toContainEqual({ type: "send", to: 1, message: { type: "OK", number: 4 } });
import {
  createRng,
  type Command,
  type Effects,
  type Message,
  type NodeId,
  type ProtocolNode,
  type Role,
  type NodeSettings,
  settingsOf,
} from "conclave/protocols";

export type Effect<Sent extends Message, Write> =
  | { readonly type: "send"; readonly to: NodeId; readonly message: Sent }
  | { readonly type: "set"; readonly timer: string; readonly afterMs: number; readonly subject: number }
  | { readonly type: "cancel"; readonly timer: string; readonly subject: number }
  | { readonly type: "persist"; readonly ticket: number; readonly write: Write }
  | { readonly type: "announce"; readonly role: Role; readonly leader: NodeId; readonly term: number };

export interface LoneNode<State, Sent extends Message, Write, Told extends Command> {
  readonly state: State;
  /** On the node's clock; change it to let time pass. */
  now: number;
  start(image?: Write): readonly Effect<Sent, Write>[];
  receive(from: NodeId, message: Sent): readonly Effect<Sent, Write>[];
  expire(timer: string, subject?: number): readonly Effect<Sent, Write>[];
  stored(ticket: number): readonly Effect<Sent, Write>[];
  command(command: Told): readonly Effect<Sent, Write>[];
}

interface Choices {
  readonly id: NodeId;
  readonly nodes: number;
  readonly members?: readonly NodeId[];
  readonly attribute?: number;
  readonly leader?: NodeId;
  readonly settings?: NodeSettings;
  readonly seed?: number;
}

export function loneNode<State extends object, Sent extends Message, Write, Told extends Command>(
  protocol: ProtocolNode<State, Sent, Write, Told>,
  { id, nodes, members, attribute = id, leader = 0, settings = {}, seed = 1 }: Choices,
): LoneNode<State, Sent, Write, Told> {
  let effects: Effect<Sent, Write>[] = [];
  const nameOf = (timer: number): string => protocol.timers[timer] ?? `timer ${timer}`;
  const record: Effects<Sent, Write> = {
    send: (to, message) => void effects.push({ type: "send", to, message }),
    setTimer: (timer, afterMs, subject = 0) =>
      void effects.push({ type: "set", timer: nameOf(timer), afterMs, subject }),
    cancelTimer: (timer, subject = 0) => void effects.push({ type: "cancel", timer: nameOf(timer), subject }),
    persist: (ticket, write) => void effects.push({ type: "persist", ticket, write }),
    announce: (role, leader, term) => void effects.push({ type: "announce", role, leader, term }),
    explain: () => undefined,
  };
  const done = (input: () => void): readonly Effect<Sent, Write>[] => {
    effects = [];
    input();
    return effects;
  };
  const ring = members ?? Array.from({ length: nodes }, (_, index) => index + 1);
  const complete = settingsOf(protocol, settings);
  const state = protocol.create({ id, members: ring, attribute, leader, settings: complete, rng: createRng(seed, id) });
  const node: LoneNode<State, Sent, Write, Told> = {
    state,
    now: 0,
    start: (image) => done(() => protocol.start(state, image, node.now, record)),
    receive: (from, message) => done(() => protocol.receive(state, from, message, node.now, record)),
    expire: (timer, subject = 0) =>
      done(() => protocol.expire(state, protocol.timers.indexOf(timer), subject, node.now, record)),
    stored: (ticket) => done(() => protocol.stored(state, ticket, node.now, record)),
    command: (command) => done(() => protocol.command(state, command, node.now, record)),
  };
  return node;
}
