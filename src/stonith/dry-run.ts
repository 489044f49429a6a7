// What would become of an order to fence a node, by the rules of the leader and with what is known now: `conclave stonith fence --dry-run`. It reads, decides nothing and gives no order. It asks
// the same functions as the order itself, so that it refuses what the order would be refused.
import type { Clock } from "../base/clock.ts";
import { nodeClock, wallNow } from "../election/clock.ts";
import type { Store } from "../stores/contract.ts";
import type { StonithStatus } from "./admin.ts";
import { admitNode, refusalOfStore, type StoreInTests } from "./admission.ts";
import { type StonithConfig, stonithPlanOf } from "./config.ts";
import type { Power } from "./device.ts";
import { wouldShoot } from "./limits.ts";
import type { StonithRecord } from "./record.ts";
import { isStranger, strangersIn } from "./strangers.ts";

/** What would be done about a node, and why. */
export interface Decision {
  readonly node: string;
  readonly isAllowed: boolean;
  readonly reasons: readonly string[];
}

/** What an order is judged by. */
export interface DecisionOptions extends StoreInTests {
  readonly config: StonithConfig;
  readonly store: Store;
  /** The result of `stonithStatus`. */
  readonly status: StonithStatus;
  /** The configured node from which the order would be carried out if nobody leads. */
  readonly from?: string | undefined;
  /** What the devices of the node say, if they were asked. */
  readonly power?: Power | undefined;
}

/** What would be done about `node` now, with every reason. Nothing is sent to a device, and nothing is written to the store. */
export async function decisionOf(node: string, options: DecisionOptions): Promise<Decision> {
  const { config, status, from, power } = options;
  const { record, leader } = status;
  const clock = nodeClock();
  const leads = leader === undefined ? from : nodeOfTerm(record, `${leader.token}`);
  const plan = stonithPlanOf(config, { node: leads ?? "", life: "dry-run", isOnlyForOrders: true });
  const now = { nowMs: clock.now().mono, wallMs: wallNow(), random: 0 };
  const rules = wouldShoot(plan, record, node, { now, isOrdered: true });
  const refusals = [
    ...(leader === undefined ? refusalsHere(options) : []),
    ...(await refusalsOfLine(options, clock)),
    ...(rules.isAllowed ? [] : rules.reasons),
  ];
  return {
    node,
    isAllowed: refusals.length === 0,
    reasons: [
      ...refusals,
      ...(rules.isAllowed ? rules.reasons : []),
      leader === undefined ? whoComes(from) : whoShoots(leads, leader.id, node),
      ...(power === undefined ? [] : [saidBy(power)]),
    ],
  };
}

/** A term stands in the record when it acts, or may shoot. */
function nodeOfTerm({ acting, intents }: StonithRecord, token: string): string | undefined {
  return [...acting, ...intents.flatMap(({ joined }) => joined)].find((stint) => stint.token === token)?.node;
}

/** While nobody leads, a guarded election has to begin first. A leader that is there has been admitted already. */
function refusalsHere(options: DecisionOptions): readonly string[] {
  const { config, store, from } = options;
  const ofStore = refusalOfStore(store, options);
  return [
    ...(ofStore === undefined ? [] : [ofStore.message]),
    ...(from === undefined ? [] : messageOf(() => admitNode(config, from))),
  ];
}

function messageOf(admit: () => unknown): readonly string[] {
  try {
    admit();
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

async function refusalsOfLine({ store, status }: DecisionOptions, clock: Clock): Promise<readonly string[]> {
  const { election, leader } = status;
  try {
    const waiting = await strangersIn(store, election, clock);
    const strangers = new Set([...waiting, ...(leader !== undefined && isStranger(leader) ? [leader.id] : [])]);
    if (strangers.size === 0) return [];
    return [`candidates that obey no bans are in the same line: ${[...strangers].join(", ")}`];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

function whoShoots(node: string | undefined, leader: string, victim: string): string {
  if (node !== undefined) return `${node} leads, and would shoot`;
  return `${leader} leads, and has not begun its work. If it is on ${victim}, it refuses: no leader powers itself off`;
}

function whoComes(from: string | undefined): string {
  if (from === undefined)
    return "nobody leads: a leader would have to come first, or --node NODE to campaign from here";
  return `nobody leads: ${from} would campaign, and shoot`;
}

function saidBy(power: Power): string {
  if (power.is === "unknown") return `its devices do not say whether it is on: ${power.why}`;
  return `its devices say that it is ${power.is}`;
}
