// One node of Raft's election without a world, in each of its roles, and the messages it is given. For raft*.test.ts.
import { expect } from "vitest";
import { type RaftCommand, raftElection, type RaftMessage, type RaftState, type RaftWrite } from "conclave/protocols";
import { type Effect, type LoneNode, loneNode } from "./lone-node.ts";

export type Node = LoneNode<RaftState, RaftMessage, RaftWrite, RaftCommand>;
export type Effects = readonly Effect<RaftMessage, RaftWrite>[];

export const LOG = { term: 0, index: 0 };
export const sends = (effects: Effects): unknown[] =>
  effects.flatMap((effect) => (effect.type === "send" ? [{ to: effect.to, ...effect.message }] : []));
export const writes = (effects: Effects): RaftWrite[] =>
  effects.flatMap((effect) => (effect.type === "persist" ? [effect.write] : []));
export const setsElectionTimer = (effects: Effects): boolean =>
  effects.some((effect) => effect.type === "set" && effect.timer === "election");
export const vote = (term: number, isTransfer = false): RaftMessage => ({ type: "VOTE", term, log: LOG, isTransfer });
export const voted = (term: number, isGranted = true): RaftMessage => ({ type: "VOTED", term, isGranted });
export const preVote = (term: number): RaftMessage => ({ type: "PRE-VOTE", term, log: LOG });
export const preVoted = (term: number, isGranted = true): RaftMessage => ({ type: "PRE-VOTED", term, isGranted });
export const append = (term: number): RaftMessage => ({ type: "APPEND", term });
export const appended = (term: number): RaftMessage => ({ type: "APPENDED", term });

export const PLAIN = { preVote: false, checkQuorum: false };

export interface Choices {
  readonly id?: number;
  readonly nodes?: number;
  readonly settings?: Record<string, boolean | string | number>;
  readonly image?: RaftWrite;
  readonly attribute?: number;
}

export function follower({ id = 1, nodes = 5, settings = PLAIN, image, attribute = id }: Choices = {}): Node {
  const node = loneNode(raftElection, { id, nodes, settings, attribute });
  node.start(image);
  return node;
}

/** In term 1, its own vote on disk. */
export function candidate(choices: Choices = {}): Node {
  const node = follower(choices);
  node.expire("election");
  node.stored(1);
  expect(node.state).toMatchObject({ role: "candidate", term: 1 });
  return node;
}

/** In term 1. */
export function leader(choices: Choices = {}): Node {
  const node = candidate({ ...choices, settings: { ...PLAIN, ...choices.settings, preVote: false } });
  for (const peer of node.state.peers) node.receive(peer, voted(1));
  expect(node.state.role).toBe("leader");
  return node;
}
