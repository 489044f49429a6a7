// Every invariant, in one list. Each is a file: its property, the law it comes from, and the cases that it deliberately does not check.
import type { LeaseInvariant, Judgement } from "../observation.ts";
import { Asked } from "./asked.ts";
import { Bans } from "./bans.ts";
import { Closed } from "./closed.ts";
import { DrainedRelease } from "./drained-release.ts";
import { Exclusion } from "./exclusion.ts";
import { FencingInvariant } from "./fencing.ts";
import { Finality } from "./finality.ts";
import { Hanging } from "./hanging.ts";
import { Memos } from "./memos.ts";
import { Outranked } from "./outranked.ts";
import { OneAtATime } from "./one-at-a-time.ts";
import { Proofs } from "./proofs.ts";
import { Succession } from "./succession.ts";
import { TenureInvariant } from "./tenure.ts";
import { Tokens } from "./tokens.ts";
import { TruthfulLoss } from "./truthful-loss.ts";
import { TwoInstants } from "./two-instants.ts";

export interface InvariantSet {
  /** The proofs must hear every observation before the invariants do. */
  readonly proofs: Proofs;
  readonly succession: Succession;
  readonly listeners: readonly LeaseInvariant[];
}

export function createInvariants(judgement: Judgement): InvariantSet {
  const proofs = new Proofs(judgement.promises);
  const succession = new Succession(judgement);
  const listeners = [
    new Exclusion(judgement),
    new Tokens(judgement),
    new FencingInvariant(judgement),
    new Finality(judgement),
    new TwoInstants(judgement, proofs),
    new DrainedRelease(judgement, proofs),
    new OneAtATime(judgement),
    new TruthfulLoss(judgement, proofs),
    new Hanging(judgement),
    new Closed(judgement),
    new Asked(judgement),
    new Memos(judgement),
    new Bans(judgement),
    new TenureInvariant(judgement),
    new Outranked(judgement),
    succession,
  ];
  return { proofs, succession, listeners };
}
