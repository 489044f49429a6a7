// An election timer that has not expired is moved only by a change of role, by a valid leader, or by a vote that was given: not by a refusal, a pre-vote or an older term. Raft, section 5.2; otherwise a
// candidate that cannot win would keep members that can win from standing.
import { NOBODY } from "../../../../protocols/node.ts";
import { ELECTION, type RaftRole } from "../../../../protocols/raft/state.ts";
import { perMember } from "../../invariants/memory.ts";
import type { RaftInvariant, RaftMember, RaftView } from "./types.ts";

interface Memory {
  /** Member → the time when its election timer is due, and the state in which it was set. */
  readonly dueMs: number[];
  readonly timeoutMs: number[];
  readonly terms: number[];
  readonly votes: number[];
  readonly roles: RaftRole[];
}

export const patientTimer: RaftInvariant<Memory> = {
  name: "patient-timer",
  remember: (nodes) => ({
    dueMs: perMember(nodes, () => Infinity),
    timeoutMs: perMember(nodes, () => 0),
    terms: perMember(nodes, () => 0),
    votes: perMember(nodes, () => 0),
    roles: perMember(nodes, () => "follower"),
  }),
  after(memory, view, member) {
    const story = judge(memory, view, member);
    remember(memory, member);
    return story;
  },
  started(memory, _view, member) {
    remember(memory, member);
    return undefined;
  },
};

function judge(
  { dueMs, timeoutMs, terms, votes, roles }: Memory,
  view: RaftView,
  member: RaftMember,
): string | undefined {
  const { id } = member;
  const state = member.state;
  const [before, due] = [dueMs[id] ?? Infinity, member.dueMs(ELECTION)];
  if (due === before || before <= view.nowMs || before === Infinity || due === Infinity) return undefined;
  const isNewRole = state.role !== roles[id] || state.timeoutMs !== timeoutMs[id];
  const isNewVote = state.vote !== NOBODY && (state.vote !== votes[id] || state.term !== terms[id]);
  if (isNewRole || isNewVote || state.heardAtMs === member.now()) return undefined;
  return `${id} moved its election timer from ${before.toFixed(3)} to ${due.toFixed(3)} ms for no good reason`;
}

/** A paused member does several things at once when it goes on, and only the last can be seen. */
function remember({ dueMs, timeoutMs, terms, votes, roles }: Memory, member: RaftMember): void {
  const { id } = member;
  const state = member.state;
  dueMs[id] = member.isPaused ? Infinity : member.dueMs(ELECTION);
  timeoutMs[id] = state.timeoutMs;
  terms[id] = state.term;
  votes[id] = state.vote;
  roles[id] = state.role;
}
