// One leader of a guarded election, step by step: what its machine asks for, in words.
import type { Intent, Stint, StonithNews, StonithRecord } from "conclave/stonith";
import { expect } from "vitest";
import { AWAY, stepStonith } from "../../src/stonith/machine.ts";
import type { StonithOrder } from "../../src/stonith/orders.ts";
import { type ActingStint, NO_RECORD } from "../../src/stonith/record.ts";
import type {
  Ended,
  Leading,
  StonithEffect,
  StonithInput,
  StonithPlan,
  StonithSight,
  StonithState,
} from "../../src/stonith/state.ts";

export const PLAN: StonithPlan = {
  node: "b",
  life: "life-b",
  members: ["a", "b", "c", "d", "e"],
  storeMembers: [],
  devices: ["a", "b", "c", "d", "e"],
  maxOff: 2,
  shotsMax: 3,
  windowMs: 60_000,
  delayMs: 100,
  spreadMs: 200,
  retryMs: 1000,
  retryMaxMs: 3000,
  attemptsMax: 3,
  watchdog: undefined,
  isOnlyForOrders: false,
};

export const stint = (node: string, token: string, life = `life-${node}`): Stint => ({ node, token, life });
export const acted = (node: string, token: string, watchdog?: ActingStint["watchdog"]): ActingStint => ({
  ...stint(node, token),
  watchdog,
});

export function intent(node: string, joined: readonly Stint[], more: Partial<Intent> = {}): Intent {
  const id = `4.${node}`;
  return {
    id,
    node,
    why: "it acted",
    token: "4",
    isOrdered: false,
    joined,
    wasJoined: joined.length > 0,
    off: undefined,
    failures: 0,
    last: undefined,
    ...more,
  };
}

export const OFF: Intent["off"] = { by: "device", token: "4", wallMs: 1 };
const NOTHING: StonithSight = { notes: { settled: [], gone: [] }, order: undefined, foreign: [] };

function inWords(effect: StonithEffect): string {
  if (effect.type === "write") {
    const { acting, intents } = effect.record;
    const aims = intents.map(
      ({ node, joined, off }) => `${node}<${joined.map((each) => each.token).join("+")}${off === undefined ? "" : "!"}`,
    );
    return `write acting ${acting.map((each) => each.node + each.token).join(" ") || "-"} | ${aims.join(" ") || "-"}`;
  }
  if (effect.type === "look-home") return `look-home ${effect.stints.map(({ token }) => token).join(" ")}`;
  if (effect.type === "look") return `look ${effect.nodes.join(" ")}`;
  return "node" in effect ? `${effect.type} ${effect.node}` : effect.type;
}

export class Desk {
  state: StonithState = AWAY;
  readonly plan: StonithPlan;
  readonly news: StonithNews[] = [];
  nowMs = 0;
  wallMs = 10_000_000;
  random = 0.5;

  constructor(plan: Partial<StonithPlan> = {}) {
    this.plan = { ...PLAN, ...plan };
  }

  on(input: StonithInput): readonly string[] {
    const { nowMs, wallMs, random } = this;
    const { state, effects } = stepStonith(this.plan, this.state, input, { nowMs, wallMs, random });
    this.state = state;
    for (const effect of effects) if (effect.type === "tell") this.news.push(effect.news);
    return effects.filter(({ type }) => type !== "tell").map(inWords);
  }

  written(): readonly string[] {
    return this.on({ type: "written" });
  }

  tick(afterMs: number): readonly string[] {
    this.nowMs += afterMs;
    return this.on({ type: "tick" });
  }

  see(sight: Partial<StonithSight>): readonly string[] {
    return this.on({ type: "seen", sight: { ...NOTHING, ...sight } });
  }

  shot(outcome: Ended["outcome"], isGone = true): readonly string[] {
    return this.on({ type: "shot", errand: this.leading.errand, outcome, said: "so it said", isGone });
  }

  get leading(): Leading {
    if (this.state.at !== "leading") throw new Error("it does not lead");
    return this.state;
  }

  get record(): StonithRecord {
    return this.leading.record;
  }

  /** The last line that was told of this kind. */
  told(is: StonithNews["is"]): string {
    return JSON.stringify(this.news.findLast((each) => each.is === is) ?? "");
  }
}

/** Leads in term 5, and finds this record. */
export function leading(
  record: Partial<StonithRecord>,
  plan: Partial<StonithPlan> = {},
  sight: Partial<StonithSight> = {},
): Desk & { readonly first: readonly string[] } {
  const desk = new Desk(plan);
  desk.on({ type: "lead", token: "5" });
  const first = desk.on({ type: "read", record: { ...NO_RECORD, ...record }, sight: { ...NOTHING, ...sight } });
  return Object.assign(desk, { first });
}

/** The desk has served its delay, and has opened an intent against `a`. */
function aimed(plan: Partial<StonithPlan> = {}): Desk {
  const desk = leading({ acting: [acted("a", "4")] }, plan);
  desk.tick(300);
  return desk;
}

/** A shot at `a` is under way. */
export function shooting(plan: Partial<StonithPlan> = {}): Desk {
  const desk = aimed(plan);
  desk.written();
  expect(desk.written()).toEqual(["shoot a"]);
  return desk;
}

/** When operators give their orders. */
export const WALL_MS = 10_000_000;

export const fence = (node: string, id = "o1"): StonithOrder => ({
  id,
  by: "kim",
  kind: "fence",
  node,
  why: "it smokes",
  wallMs: WALL_MS,
});
