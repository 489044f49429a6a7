// What the leader would make of an order to fence a node, by its own rules and with what is known now. Decides nothing and gives no order: `conclave stonith fence --dry-run`.
import { nodeClock, wallNow } from "../election/clock.ts";
import type { StonithStatus } from "./admin.ts";
import { type StonithConfig, stonithPlanOf } from "./config.ts";
import type { Power } from "./device.ts";
import { wouldShoot } from "./limits.ts";

/** What would be done about a node, and why. */
export interface Decision {
  readonly node: string;
  readonly isAllowed: boolean;
  readonly reasons: readonly string[];
}

/** What would be done about `node` now, with every reason. Nothing is sent to a device or to the store. */
export function decisionOf(
  config: StonithConfig,
  { record, leader }: StonithStatus,
  node: string,
  power: Power | undefined,
): Decision {
  const leads = record.acting.find(({ token }) => token === `${leader?.token}`)?.node;
  const plan = stonithPlanOf(config, { node: leads ?? "", life: "dry-run", isOnlyForOrders: true });
  const now = { nowMs: nodeClock().now().mono, wallMs: wallNow(), random: 0 };
  const { isAllowed, reasons } = wouldShoot(plan, record, node, { now, isOrdered: true });
  const levels = config.nodes[node]?.levels.length ?? 0;
  return {
    node,
    isAllowed,
    reasons: [
      ...reasons,
      whoShoots(leads, leader?.id),
      ...(levels === 0 ? [] : [`it has ${levels} level${levels === 1 ? "" : "s"} of devices`]),
      ...(power === undefined ? [] : [saidBy(power)]),
    ],
  };
}

function whoShoots(node: string | undefined, leader: string | undefined): string {
  if (node !== undefined) return `${node} leads, and would shoot`;
  if (leader === undefined) return "nobody leads: a leader would have to come first";
  return `${leader} leads, and has not begun its work`;
}

function saidBy(power: Power): string {
  if (power.is === "unknown") return `its devices do not say whether it is on: ${power.why}`;
  return `its devices say that it is ${power.is}`;
}
