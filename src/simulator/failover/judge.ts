// The judge of a world of failovers. It does not know how the promises are kept. It sees in true time which services are writable, which writes they have, what clients were told, and which records the
// store applied.
import type { FailoverPlan } from "../../failover/state.ts";
import type { FailoverRecord } from "../../failover/record.ts";
import { Judge } from "../kernel/judge.ts";
import type { SimService } from "./service.ts";

export class FailoverJudge extends Judge {
  readonly #plan: FailoverPlan;
  /** The writes that a client was told are done, in a world where that means something. */
  readonly acknowledged: Set<number> = new Set();
  readonly #yields: { readonly epoch: number; readonly atMs: number }[] = [];

  constructor(plan: FailoverPlan, judgedBy: readonly string[] | undefined) {
    super(judgedBy);
    this.#plan = plan;
  }

  /** `seated`: the server whose guard holds the seat, according to the store. */
  becameWritable(service: SimService, all: readonly SimService[], seated: string | undefined, atMs: number): void {
    const others = all.filter((other) => other !== service && other.isRightful).map(({ name }) => name);
    if (others.length > 0)
      this.find("one-writable", `${service.name} becomes writable while ${others.join(", ")} is`, atMs);
    if (this.#plan.hasGuards && seated !== service.name)
      this.find("writable-in-seat", `${service.name} becomes writable, and ${seated ?? "nobody"} is in the seat`, atMs);
    const lost = [...this.acknowledged].filter((write) => !service.has(write));
    if (this.#plan.confirmations > 0 && lost.length > 0)
      this.find(
        "acknowledged-kept",
        `${service.name} becomes writable without ${lost.length} writes that were acknowledged`,
        atMs,
      );
  }

  /** The writes that a replica has taken for those of its primary are really those of its primary. */
  copied(replica: SimService, primary: SimService, atMs: number): void {
    if (!replica.isCopyOf(primary))
      this.find("replicas-are-copies", `${replica.name} follows ${primary.name}, and has something else`, atMs);
  }

  /** A seat was freed: its holder is not writable any more. */
  freed(holder: SimService | undefined, atMs: number): void {
    if (holder?.isRightful === true)
      this.find("seat-covers-writable", `the seat of ${holder.name} is free, and ${holder.name} is writable`, atMs);
  }

  /** With guards, only a server that was promoted behind the back of its guard is told of as a second one that takes writes. */
  toldOfStrays(servers: readonly SimService[], atMs: number): void {
    const rightful = servers.filter(({ isStray }) => !isStray).map(({ name }) => name);
    if (this.#plan.hasGuards && rightful.length > 0)
      this.find("no-false-stray", `${rightful.join(", ")} is told of, and is no stray`, atMs);
  }

  /** A server that takes writes rightfully is never told to follow another one. */
  toldToFollow(service: SimService, primary: string, atMs: number): void {
    if (service.isRightful)
      this.find("rightful-stays", `${service.name} takes writes rightfully, and is told to follow ${primary}`, atMs);
  }

  /** A leader gives its term up for another monitor. In one change this does not happen in quick succession, and more slowly when every monitor has had its turn. */
  yielded({ epoch }: FailoverRecord, atMs: number): void {
    const { monitors, yieldAfterMs } = this.#plan;
    const earlier = this.#yields.filter((yielded) => yielded.epoch === epoch);
    const leastMs = earlier.length >= monitors.length ? 2 * yieldAfterMs : yieldAfterMs;
    const sinceMs = atMs - (earlier.at(-1)?.atMs ?? -Infinity);
    if (sinceMs < leastMs)
      this.find("leadership-rests", `it is given up ${Math.round(sinceMs)} ms after it was given up last`, atMs);
    this.#yields.push({ epoch, atMs });
  }

  applied(old: FailoverRecord | undefined, record: FailoverRecord, all: readonly SimService[], atMs: number): void {
    const { step, epoch } = record;
    if (old !== undefined && epoch < old.epoch) this.find("epochs-grow", `epoch ${epoch} over ${old.epoch}`, atMs);
    const isUnfenced = (step.at === "choosing" || step.at === "promoting") && step.fencedBy === "nothing";
    if (step.at === "promoting" || (step.at === "choosing" && !isUnfenced)) {
      // Before there was a record nothing is fenced: a server that is writable already is adopted, and no other is promoted.
      const adopted = step.at === "promoting" && isUnfenced ? step.to : undefined;
      const writable = all.filter(({ name, isRightful }) => isRightful && name !== adopted).map(({ name }) => name);
      if (writable.length > 0)
        this.find("fenced-before-choice", `${step.at} is written while ${writable.join(", ")} is writable`, atMs);
    }
    if (step.at !== "promoting") return;
    if (old?.step.at !== "choosing")
      this.find("promoting-follows-choosing", `it was written over ${old?.step.at ?? "nothing"}`, atMs);
    const chosen = all.find(({ name }) => name === step.to);
    if (isUnfenced && chosen?.isWritable === true) return;
    if (chosen?.isAlive === true && chosen.incarnation === chosen.surveyed && chosen.log.length !== step.position)
      this.find(
        "positions-stand-still",
        `${step.to} has ${chosen.log.length}, and was chosen for ${step.position}`,
        atMs,
      );
  }
}
