// What the hunt makes of the parameters of Raft's election, and how soon a group agrees under them.
import { nextOf, type Rng } from "../../../../base/rng.ts";
import { numberOf, type NodeSettings } from "../../../../protocols/node.ts";

/** Thesis, chapter 9: the range of timeouts should be ten times what a message takes. */
export function delayMaxOf(settings: NodeSettings): number {
  const [minMs, maxMs] = [numberOf(settings, "electionTimeoutMinMs"), numberOf(settings, "electionTimeoutMaxMs")];
  return Math.min(maxMs - minMs, minMs) / 10;
}

/** Without pre-votes each candidate that cannot win spoils a round for the others. */
export function agreedWithinMs(settings: NodeSettings): number {
  return (settings["preVote"] === true ? 20 : 60) * numberOf(settings, "electionTimeoutMaxMs");
}

/**
 * Without CheckQuorum nobody promises an end: a leader that hears nobody leads for ever, and, without PreVote too, a member that hears nobody deposes
 * every leader. Without PreVote members that hear nobody, and whose logs are the best, are given votes that are no use to them and keep everybody else
 * waiting: that ends, by chance, and there is no saying when.
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
