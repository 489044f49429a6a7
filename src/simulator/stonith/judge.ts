// The judge of a world of STONITH. It does not know how the promises are kept. It sees in true time whose work is alive, which machines are on, which agents can still shoot, and what the store applied.
import { hasStint, type Stint, type StonithRecord } from "../../stonith/record.ts";
import { Judge } from "../kernel/judge.ts";
import type { StonithWorldSpec } from "./spec.ts";

/** An agent that can still give its order. */
export interface Aim {
  readonly by: Stint;
  readonly node: string;
  readonly intent: string;
}

export interface HitSight {
  readonly aim: Aim;
  /** The node whose term is in the seat, and held by its own clock. */
  readonly leader: string | undefined;
  readonly isBanned: boolean;
  readonly record: StonithRecord | undefined;
  /** The machines, including this one, that shots have powered off, and that nobody has started since. */
  readonly shotDown: readonly string[];
}

export class StonithJudge extends Judge {
  readonly #plan: StonithWorldSpec["plan"];

  constructor(plan: StonithWorldSpec["plan"], judgedBy: readonly string[] | undefined) {
    super(judgedBy);
    this.#plan = plan;
  }

  /** Work begins. `others` is work that is alive, also on a machine that is paused, because it may go on. */
  begins(stint: Stint, others: readonly Stint[], record: StonithRecord | undefined, atMs: number): void {
    if (others.length > 0)
      this.find("one-acts", `${told(stint)} begins while ${others.map(told).join(", ")} acts`, atMs);
    const acting = record?.acting ?? [];
    if (!hasStint(acting, stint) || acting.length !== 1)
      this.find(
        "acting-is-written",
        `${told(stint)} begins, and the record names ${acting.map(told).join(", ") || "nobody"}`,
        atMs,
      );
  }

  /** An order to power a machine off takes effect. */
  hits({ aim, leader, isBanned, record, shotDown }: HitSight, atMs: number): void {
    const { by, node, intent } = aim;
    if (by.node === node) this.find("never-own-node", `${told(by)} shoots its own node`, atMs);
    if (leader === node) this.find("no-leader-shot", `${told(by)} shoots ${node}, which leads`, atMs);
    if (!isBanned) this.find("shot-while-banned", `${told(by)} shoots ${node}, which is not banned`, atMs);
    const open = record?.intents.find(({ id }) => id === intent);
    if (open === undefined || !hasStint(open.joined, by))
      this.find("shot-by-joined", `${told(by)} shoots ${node}, and has not joined intent ${intent}`, atMs);
    if (shotDown.length > this.#plan.maxOff)
      this.find("max-off", `${shotDown.join(", ")} are off by shots, and ${this.#plan.maxOff} may be`, atMs);
    const { storeMembers } = this.#plan;
    const left = storeMembers.filter((member) => !shotDown.includes(member)).length;
    if (storeMembers.length > 0 && left < Math.floor(storeMembers.length / 2) + 1)
      this.find("store-quorum", `${shotDown.join(", ")} are off by shots: ${left} servers of the store are left`, atMs);
  }

  /** The record changes. */
  applied(old: StonithRecord | undefined, record: StonithRecord, alive: readonly Stint[], atMs: number): void {
    const cleared = (old?.acting ?? []).filter((stint) => !hasStint(record.acting, stint));
    const early = cleared.filter((stint) => hasStint(alive, stint));
    if (early.length > 0)
      this.find("cleared-is-over", `${early.map(told).join(", ")} is cleared, and still acts`, atMs);
  }

  /** A ban is lifted. */
  lifts(node: string, aims: readonly Aim[], atMs: number): void {
    const left = aims.filter((aim) => aim.node === node);
    if (left.length > 0)
      this.find("lift-when-quiet", `the ban of ${node} is lifted, and ${told(left[0]?.by)} can still shoot it`, atMs);
  }

  /** Sessions of a node are ended before their ttl. `living`: the sessions whose process may still act. */
  ends(node: string, living: readonly string[], atMs: number): void {
    if (living.length > 0)
      this.find("ended-is-off", `the sessions of ${node} are ended, and ${living.join(", ")} may still act`, atMs);
  }
}

function told(stint: Stint | undefined): string {
  return stint === undefined ? "nobody" : `${stint.node} in term ${stint.token}`;
}
