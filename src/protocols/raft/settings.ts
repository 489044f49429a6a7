// The parameters of Raft's election.
import { numberOf, type Parameter, type NodeSettings } from "../node.ts";

export const PARAMETERS: Readonly<Record<string, Parameter>> = {
  electionTimeoutMinMs: { default: 150, help: "a follower waits at least so long for its leader" },
  electionTimeoutMaxMs: { default: 300, help: "and at most so long; drawn anew at each change of role" },
  heartbeatMs: { default: 0, help: "how often a leader says that it leads; 0: half the least election timeout" },
  preVote: { default: true, help: "ask whether an election would be won before beginning a term" },
  checkQuorum: { default: true, help: "a leader without a majority steps down; who hears a leader ignores candidates" },
  logs: {
    default: "equal",
    choices: ["equal", "attribute"],
    help: "what members' logs are taken to be: all alike, or as long as their attribute",
  },
};

export function problemWith(settings: NodeSettings): string | undefined {
  const [minMs, maxMs] = [numberOf(settings, "electionTimeoutMinMs"), numberOf(settings, "electionTimeoutMaxMs")];
  return minMs > maxMs
    ? `the least election timeout, ${minMs} ms, is longer than the greatest, ${maxMs} ms`
    : undefined;
}

export function heartbeatOf(settings: NodeSettings): number {
  const asked = numberOf(settings, "heartbeatMs");
  return asked > 0 ? asked : numberOf(settings, "electionTimeoutMinMs") / 2;
}
