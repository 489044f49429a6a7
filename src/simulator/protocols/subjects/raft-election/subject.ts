// The hunt for Raft's election: under all faults, since its safety rests on nothing but its disk.
import { raftElection as node } from "../../../../protocols/raft/raft.ts";
import type { RaftCommand, RaftMessage, RaftState, RaftWrite } from "../../../../protocols/raft/state.ts";
import { monotoneTerm } from "../../invariants/monotone-term.ts";
import { oneLeaderPerTerm } from "../../invariants/one-leader-per-term.ts";
import { type Subject, TOLERATES_ALL } from "../../subject.ts";
import { answeredLeader } from "./answered-leader.ts";
import { durablePromises } from "./durable-promises.ts";
import { durableVote } from "./durable-vote.ts";
import { electedByMajority } from "./elected-by-majority.ts";
import { followedLeader } from "./followed-leader.ts";
import { loyalFollowers } from "./loyal-followers.ts";
import { newestTerm } from "./newest-term.ts";
import { obeyedLeader } from "./obeyed-leader.ts";
import { oneVotePerTerm } from "./one-vote-per-term.ts";
import { patientTimer } from "./patient-timer.ts";
import { agreedWithinMs, delayMaxOf, drawSettings, isLive } from "./settings.ts";
import { votedLog } from "./voted-log.ts";
import { wantedTransfer } from "./wanted-transfer.ts";

export const raftElection: Subject<RaftState, RaftMessage, RaftWrite, RaftCommand> = {
  node,
  commands: {
    campaign: { help: "begins an election, or asks for pre-votes", command: () => ({ type: "campaign" }) },
    transfer: {
      help: "hands leadership over to the node of that number",
      command: (argument) => ({ type: "transfer", to: argument }),
    },
  },
  invariants: [
    oneLeaderPerTerm,
    monotoneTerm,
    followedLeader,
    newestTerm,
    obeyedLeader,
    answeredLeader,
    durablePromises,
    durableVote,
    oneVotePerTerm,
    electedByMajority,
    votedLog,
    loyalFollowers,
    patientTimer,
    wantedTransfer,
  ],
  tolerates: { ...TOLERATES_ALL, drift: 0.05 },
  delayMaxMs: delayMaxOf,
  liveness: { needs: "majority", withinMs: agreedWithinMs, isPromised: isLive },
  isPerpetual: () => true,
  electsBy: "any",
  initiators: "none",
  drawSettings,
};
