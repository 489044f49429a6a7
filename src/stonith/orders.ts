// Orders of operators, and how the leader of a guarded election answers them. Pure. An order comes in a memo of an election of its own, is dealt with once, and is answered in the record. An order
// does nothing by itself: the leader carries it out by its own rules, or refuses it in words.
import { problemsOfShot } from "./limits.ts";
import {
  hasStint,
  intentAgainst,
  type Intent,
  isSameStint,
  type Stint,
  type StonithRecord,
  withAnswer,
  withHistory,
  withIntent,
  withoutOff,
  SAID_MAX,
} from "./record.ts";
import { closedOff, historyLine, openIntent } from "./steps.ts";
import type { Leading, StonithMoment, StonithPlan } from "./state.ts";

export type StonithOrder =
  | (OrderHead & { readonly kind: "fence"; readonly why: string })
  | (OrderHead & {
      readonly kind: "confirm";
      /**
       * - `off`: a human has seen that the node is off. Terms that acted there act no more.
       * - `quiet`: no process that joined the intent can still shoot. An order to fence the node is withdrawn with it.
       * - `on`: the node is on again, and counts no longer for `maxOff`.
       */
      readonly says: "off" | "quiet" | "on";
      /** What the human was shown. A later intent, a term that acts later and one that joins later are not confirmed by it. */
      readonly intent: string | undefined;
      readonly acting: readonly Stint[];
      readonly joined: readonly Stint[];
      /** Why the node is taken for off. */
      readonly since: string | undefined;
    });

interface OrderHead {
  readonly id: string;
  /** Who gives it, for the audit log. */
  readonly by: string;
  readonly node: string;
  /** When it was given, by the clock of the operator. */
  readonly wallMs: number;
}

/** An order that has waited for longer, because nobody led, is not obeyed: much may have changed since. */
const ORDER_FRESH_MS = 600_000;

/** The record with the answer to the order: done, or refused in words. */
export function decideOrder(plan: StonithPlan, state: Leading, order: StonithOrder, now: StonithMoment): StonithRecord {
  const { record, me } = state;
  const answer = (after: StonithRecord, said: string, isDone: boolean): StonithRecord =>
    withAnswer(after, { id: order.id, said, isDone });
  const ageMs = now.wallMs - order.wallMs;
  if (Math.abs(ageMs) > ORDER_FRESH_MS) {
    const said = `it was given ${Math.round(ageMs / 1000)} s ago by the clock of this leader, which is too long. Give it again`;
    return answer(record, said, false);
  }
  if (order.kind === "fence") {
    const open = intentAgainst(record, order.node);
    if (open !== undefined) {
      const wanted = withIntent(record, { ...open, isOrdered: open.isOrdered || plan.devices.includes(order.node) });
      return answer(wanted, `${order.node} is being fenced already: intent ${open.id}`, true);
    }
    const problems = problemsOfShot(plan, record, order.node, { now, isOrdered: true });
    if (problems.length > 0) {
      const said = problems.join("; ");
      const refused = withHistory(record, historyLine(me, now, "refused", order.node, `${order.by} asked: ${said}`));
      return answer(refused, said, false);
    }
    const why = `${order.by} has asked for it: ${order.why}`.slice(0, SAID_MAX);
    return answer(
      openIntent(plan, record, me, now, { node: order.node, why, isOrdered: true }),
      "it is being fenced",
      true,
    );
  }
  const [after, said] = confirmed(state, order, now);
  return answer(after ?? record, said, after !== undefined);
}

type Confirmation = Extract<StonithOrder, { kind: "confirm" }>;

function confirmed(
  state: Leading,
  order: Confirmation,
  now: StonithMoment,
): readonly [StonithRecord | undefined, string] {
  const { record } = state;
  const { node, says } = order;
  const intent = record.intents.find((each) => each.node === node && each.id === order.intent);
  if (says === "on") {
    const isShown = record.off.some((each) => each.node === node && each.since === order.since);
    if (!isShown)
      return [undefined, `${node} is not taken for off, or has been shot since you looked. Nothing was changed`];
    return [noted(state, withoutOff(record, [node]), order, now), `${node} counts as on`];
  }
  if (says === "quiet") {
    if (intent === undefined) return [undefined, `no such intent against ${node} is open now. Nothing was changed`];
    return [
      noted(state, withIntent(record, hushed(state, intent, order.joined)), order, now),
      `no shot at ${node} is expected any more`,
    ];
  }
  const acted = record.acting.filter((stint) => stint.node === node && hasStint(order.acting, stint));
  if (intent === undefined && acted.length === 0)
    return [
      undefined,
      `what you were shown of ${node} is no longer so. Look again: conclave stonith status. Nothing was changed`,
    ];
  const acting = record.acting.filter((stint) => !acted.includes(stint));
  const off = closedOff({ ...record, acting }, node, intent, "human", state.me, now);
  return [noted(state, off, order, now), `${node} counts as off, because you have said so`];
}

/** SAFETY: only the terms that were shown are confirmed. Of its own agents this process knows better than a human. */
function hushed({ shot, me }: Leading, intent: Intent, shown: readonly Stint[]): Intent {
  const isOwn = (stint: Stint): boolean => shot?.intent === intent.id && isSameStint(stint, me);
  const joined = intent.joined.filter((stint) => isOwn(stint) || !hasStint(shown, stint));
  return { ...intent, joined, isOrdered: false };
}

function noted({ me }: Leading, record: StonithRecord, order: Confirmation, now: StonithMoment): StonithRecord {
  return withHistory(record, historyLine(me, now, "confirmed", order.node, `${order.by} says: ${order.says}`));
}
