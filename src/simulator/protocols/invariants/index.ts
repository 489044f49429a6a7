// All invariants of protocols, by name. A protocol lists those that hold for it; docs/INVARIANTS.md says where each comes from.
import { assert } from "../../../base/assert.ts";
import type { Protocol } from "../../../protocols/protocol.ts";
import { answeredElection } from "./answered-election.ts";
import { bestAnnounced } from "./best-announced.ts";
import { bestElected } from "./best-elected.ts";
import { exclusiveLeader } from "./exclusive-leader.ts";
import { fencedWrites } from "./fenced-writes.ts";
import { freshNumber } from "./fresh-number.ts";
import type { Invariant } from "./invariant.ts";
import { monotoneTerm } from "./monotone-term.ts";
import { oneLeader } from "./one-leader.ts";
import { oneLeaderPerTerm } from "./one-leader-per-term.ts";

export const INVARIANTS: readonly Invariant[] = [
  answeredElection,
  bestAnnounced,
  bestElected,
  exclusiveLeader,
  fencedWrites,
  freshNumber,
  monotoneTerm,
  oneLeader,
  oneLeaderPerTerm,
];

export function invariantsOf(protocol: Protocol): readonly Invariant[] {
  return protocol.invariants.map((name) => {
    const invariant = INVARIANTS.find((known) => known.name === name);
    assert(invariant !== undefined, `${protocol.name} names an invariant that exists: ${name}`);
    return invariant;
  });
}
