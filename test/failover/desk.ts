// One leader of the monitors, step by step: what its machine asks for, in words.
import type { FailoverRecord, View, Views } from "conclave/failover";
import { AWAY, stepFailover } from "../../src/failover/machine.ts";
import { firstRecord } from "../../src/failover/record.ts";
import type {
  FailoverEffect,
  FailoverInput,
  FailoverNews,
  FailoverPlan,
  FailoverState,
  Sight,
  MonitorVote,
} from "../../src/failover/state.ts";

export const PLAN: FailoverPlan = {
  monitors: ["m1", "m2", "m3"],
  quorum: 2,
  servers: { a: 100, b: 100, c: 100 },
  lagMax: 0,
  hasGuards: true,
  shots: undefined,
  confirmations: 0,
  failoversMax: 2,
  windowMs: 60_000,
  settleMs: 100,
  promoteWithinMs: 1000,
  repointWithinMs: 1000,
  handOverWithinMs: 1000,
  yieldAfterMs: 500,
  retryMs: 50,
  isDryRun: false,
};

export const STEADY: FailoverRecord = {
  ...firstRecord,
  epoch: 4,
  primary: "a",
  histories: ["h"],
  step: { at: "steady" },
};

export function up(role: "primary" | "replica", position = 7, more: Partial<Extract<View, { is: "up" }>> = {}): View {
  const follows = role === "replica" ? "a" : undefined;
  return { is: "up", role, history: "h", position, follows, isLinked: role === "replica", isEmpty: false, ...more };
}

export const ALL_UP: Views = { a: up("primary"), b: up("replica"), c: up("replica") };
export const vote = (monitor: string, epoch = 4, primary = "a"): MonitorVote => ({ monitor, primary, epoch });

function inWords(effect: FailoverEffect): string {
  if (effect.type === "tell") return `tell ${effect.news.is}`;
  if (effect.type === "write") return `write ${effect.record.epoch} ${effect.record.step.at}`;
  return [
    effect.type,
    ...Object.values(effect)
      .slice(1)
      .filter((value) => typeof value === "string"),
  ].join(" ");
}

/** One leader, step by step. */
export class Desk {
  state: FailoverState = AWAY;
  readonly plan: FailoverPlan;
  nowMs = 0;
  /** What was asked for last. */
  last: readonly string[] = [];
  /** What was told with it. */
  news: readonly FailoverNews[] = [];

  constructor(plan: Partial<FailoverPlan> = {}) {
    this.plan = { ...PLAN, ...plan };
  }

  on(input: FailoverInput, wallMs = 1_000_000): readonly string[] {
    const { state, effects } = stepFailover(this.plan, this.state, input, { nowMs: this.nowMs, wallMs });
    this.state = state;
    this.news = effects.flatMap((effect) => (effect.type === "tell" ? [effect.news] : []));
    this.last = effects.map(inWords).filter((word) => !word.startsWith("tell step"));
    return this.last;
  }

  see(sight: Partial<Sight>): readonly string[] {
    const { views = ALL_UP } = sight;
    const askedAtMs = Object.fromEntries(Object.keys(views).map((server) => [server, this.nowMs]));
    return this.on({
      type: "seen",
      sight: { views, askedAtMs, votes: [], holder: undefined, order: undefined, reports: {}, ...sight },
    });
  }

  get record(): FailoverRecord {
    if (this.state.at !== "acting" && this.state.at !== "writing") throw new Error(`it is ${this.state.at}`);
    return this.state.record;
  }

  get errand(): number {
    return this.state.at === "acting" ? this.state.errand : -1;
  }
}

/** Leads, and finds this record. */
export function leading(record: FailoverRecord | undefined, plan: Partial<FailoverPlan> = {}): Desk {
  const desk = new Desk(plan);
  desk.on({ type: "lead" });
  desk.on({ type: "read", record });
  return desk;
}
