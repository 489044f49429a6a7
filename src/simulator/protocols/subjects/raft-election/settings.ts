// The settings that the hunt draws for Raft's election, and the time in which a group agrees under them.
import { nextOf, type Rng } from "../../../../base/rng.ts";
import { numberOf, type NodeSettings } from "../../../../protocols/node.ts";

/** Thesis, chapter 9: the range of timeouts should be ten times the time of a message. */
export function delayMaxOf(settings: NodeSettings): number {
  const [minMs, maxMs] = [numberOf(settings, "electionTimeoutMinMs"), numberOf(settings, "electionTimeoutMaxMs")];
  return Math.min(maxMs - minMs, minMs) / 10;
}

/** Without pre-votes each candidate that cannot win spoils a round for the others. */
export function agreedWithinMs(settings: NodeSettings): number {
  return (settings["preVote"] === true ? 20 : 60) * numberOf(settings, "electionTimeoutMaxMs");
}

/**
 * Without CheckQuorum no end is promised: a leader that hears no member leads for ever, and, without PreVote too, a member that hears no other deposes every leader. Without PreVote, members that hear no
 * other and have the best logs are given votes that are no use to them, and keep all others waiting: that ends by chance, at an unknown time.
 */
export function isLive(settings: NodeSettings): boolean {
  return settings["checkQuorum"] === true && (settings["preVote"] === true || settings["logs"] === "equal");
}

export function drawSettings(rng: Rng): NodeSettings {
  const electionTimeoutMinMs = nextOf(rng, [50, 150, 150, 300]);
  const [preVote, checkQuorum] = nextOf(rng, [
    [true, true],
    [true, true],
    [false, true],
    [false, true],
    [true, false],
    [false, false],
  ] as const);
  return {
    electionTimeoutMinMs,
    electionTimeoutMaxMs: electionTimeoutMinMs * nextOf(rng, [1.5, 2, 2, 3]),
    heartbeatMs: electionTimeoutMinMs / nextOf(rng, [2, 2, 3, 10]),
    preVote,
    checkQuorum,
    logs: nextOf(rng, ["equal", "attribute"]),
  };
}
