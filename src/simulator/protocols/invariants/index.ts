// All invariants of protocols, by name. A protocol lists those that hold for it; docs/INVARIANTS.md says where each comes from.
import { assert } from "../../../base/assert.ts";
import type { Protocol } from "../../../protocols/protocol.ts";
import { answeredElection } from "./answered-election.ts";
import { answeredLeader } from "./answered-leader.ts";
import { bestAnnounced } from "./best-announced.ts";
import { bestElected } from "./best-elected.ts";
import { bestInRound } from "./best-in-round.ts";
import { durablePromises } from "./durable-promises.ts";
import { durableVote } from "./durable-vote.ts";
import { electedByMajority } from "./elected-by-majority.ts";
import { exclusiveLeader } from "./exclusive-leader.ts";
import { fencedWrites } from "./fenced-writes.ts";
import { followedLeader } from "./followed-leader.ts";
import { freshNumber } from "./fresh-number.ts";
import type { Invariant } from "./invariant.ts";
import { loyalFollowers } from "./loyal-followers.ts";
import { masterLeaseKeptWord } from "./master-lease-kept-word.ts";
import { masterLeasePledges } from "./master-lease-pledges.ts";
import { masterLeaseProofs } from "./master-lease-proofs.ts";
import { monotoneTerm } from "./monotone-term.ts";
import { newestTerm } from "./newest-term.ts";
import { obeyedLeader } from "./obeyed-leader.ts";
import { oneElected } from "./one-elected.ts";
import { oneLeader } from "./one-leader.ts";
import { oneLeaderPerTerm } from "./one-leader-per-term.ts";
import { oneVotePerTerm } from "./one-vote-per-term.ts";
import { patientTimer } from "./patient-timer.ts";
import { tokenOnce } from "./token-once.ts";
import { votedLog } from "./voted-log.ts";
import { wantedTransfer } from "./wanted-transfer.ts";
import { zabElectedInRound } from "./zab-elected-in-round.ts";
import { zabEpochs } from "./zab-epochs.ts";
import { zabHeededPeers } from "./zab-heeded-peers.ts";
import { zabHeededVotes } from "./zab-heeded-votes.ts";
import { zabKeptHistory } from "./zab-kept-history.ts";
import { zabSoundDecision } from "./zab-sound-decision.ts";
import { zabStandingCandidates } from "./zab-standing-candidates.ts";
import { zabSupportingQuorum } from "./zab-supporting-quorum.ts";

export const INVARIANTS: readonly Invariant[] = [
  answeredElection,
  answeredLeader,
  bestAnnounced,
  bestElected,
  bestInRound,
  durablePromises,
  durableVote,
  electedByMajority,
  exclusiveLeader,
  fencedWrites,
  followedLeader,
  freshNumber,
  loyalFollowers,
  masterLeaseKeptWord,
  masterLeasePledges,
  masterLeaseProofs,
  monotoneTerm,
  newestTerm,
  obeyedLeader,
  oneElected,
  oneLeader,
  oneLeaderPerTerm,
  oneVotePerTerm,
  patientTimer,
  tokenOnce,
  votedLog,
  wantedTransfer,
  zabElectedInRound,
  zabEpochs,
  zabHeededPeers,
  zabHeededVotes,
  zabKeptHistory,
  zabSoundDecision,
  zabStandingCandidates,
  zabSupportingQuorum,
];

export function invariantsOf(protocol: Protocol): readonly Invariant[] {
  return protocol.invariants.map((name) => {
    const invariant = INVARIANTS.find((known) => known.name === name);
    assert(invariant !== undefined, `${protocol.name} names an invariant that exists: ${name}`);
    return invariant;
  });
}
