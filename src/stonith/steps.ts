// The changes of the record, one by one. Pure. machine.ts decides which of them is made, and when.
import {
  type ActingStint,
  hasStint,
  type HistoryEntry,
  type HistoryKind,
  type Intent,
  isSameStint,
  type OffBy,
  type ShotOutcome,
  type Stint,
  type StonithRecord,
  withHistory,
  withIntent,
  withOff,
  withoutOff,
  SAID_MAX,
} from "./record.ts";
import { recentOf } from "./limits.ts";
import type { Leading, StonithMoment, StonithPlan } from "./state.ts";

export function historyLine(
  me: Stint,
  { wallMs }: StonithMoment,
  is: HistoryKind,
  node: string,
  said: string,
): HistoryEntry {
  return { wallMs, token: me.token, by: me.node, is, node, said: said.slice(0, SAID_MAX) };
}

interface Wanted {
  readonly node: string;
  readonly why: string;
  readonly isOrdered: boolean;
}

/** The term that opens an intent joins it in the same step, if it is going to use a device. */
export function openIntent(
  plan: StonithPlan,
  record: StonithRecord,
  me: Stint,
  now: StonithMoment,
  { node, why, isOrdered }: Wanted,
): StonithRecord {
  const opened = record.opened + 1;
  const id = `${me.token}.${opened}`;
  const joined = plan.devices.includes(node) ? [me] : [];
  const intent: Intent = {
    id,
    node,
    why,
    token: me.token,
    isOrdered,
    joined,
    wasJoined: joined.length > 0,
    off: undefined,
    failures: 0,
    last: undefined,
  };
  const recentMs = [...recentOf(plan, record, now), ...(isOrdered ? [] : [now.wallMs])];
  const after = { ...record, opened, recentMs, intents: [...record.intents, intent] };
  return withHistory(after, historyLine(me, now, "opened", node, `intent ${id}: ${why}`));
}

/** SAFETY: it stands in the store before an agent of this term is started. */
export function joinIntent(record: StonithRecord, intent: Intent, me: Stint, now: StonithMoment): StonithRecord {
  const after = withIntent(record, { ...intent, joined: [...intent.joined, me], wasJoined: true });
  const again = record.history.some(
    ({ is, token, node }) => is === "joined" && token === me.token && node === intent.node,
  );
  return again ? after : withHistory(after, historyLine(me, now, "joined", intent.node, `intent ${intent.id}`));
}

/**
 * The node is off: terms that acted there act no more, and no agent runs there any more. The ban stays until `joined` is empty.
 * SAFETY: a human confirms only the terms that were shown (orders.ts has taken out the others). A device and a watchdog speak of the machine, and so of every term that stands in the record: a
 * later term of that node cannot have begun, because the node is banned.
 */
export function closedOff(
  record: StonithRecord,
  node: string,
  intent: Intent | undefined,
  by: OffBy,
  me: Stint,
  now: StonithMoment,
): StonithRecord {
  const isProved = by !== "human";
  const acting = isProved ? record.acting.filter((stint) => stint.node !== node) : record.acting;
  const intents = record.intents.map((each) => ({
    ...each,
    joined: isProved ? each.joined.filter((stint) => stint.node !== node) : each.joined,
    off: each.id === intent?.id ? { by, token: me.token, wallMs: now.wallMs } : each.off,
  }));
  const since = intent?.id ?? me.token;
  const cleared = { ...record, acting, intents };
  const after = by === "watchdog" ? cleared : withOff(cleared, node, since);
  if (by === "human") return after;
  const said = by === "device" ? "the device was asked, and says that it is off" : "its hardware watchdog has reset it";
  return withHistory(after, historyLine(me, now, "off", node, said));
}

/** The record after a shot. While its agents are not gone, this term stays in `joined`. */
export function afterShot(
  record: StonithRecord,
  id: string,
  me: Stint,
  now: StonithMoment,
  { outcome, said, isGone }: { readonly outcome: ShotOutcome; readonly said: string; readonly isGone: boolean },
): StonithRecord {
  const intent = record.intents.find((each) => each.id === id);
  if (intent === undefined) return record;
  const joined = isGone ? intent.joined.filter((stint) => !isSameStint(stint, me)) : intent.joined;
  const failures = intent.failures + (outcome === "off" ? 0 : 1);
  const after = withIntent(record, { ...intent, joined, failures, last: { outcome, said } });
  // SAFETY: a shot that failed, or whose outcome is unknown, permits nothing.
  if (outcome === "off")
    return intent.off === undefined ? closedOff(after, intent.node, intent, "device", me, now) : after;
  const isNews = intent.last?.outcome !== outcome;
  return isNews ? withHistory(after, historyLine(me, now, "not-off", intent.node, `${outcome}: ${said}`)) : after;
}

/** No agent of this term runs any more for that intent. */
export function withoutJoined(record: StonithRecord, id: string, me: Stint): StonithRecord {
  const intent = record.intents.find((each) => each.id === id);
  if (intent === undefined || !hasStint(intent.joined, me)) return record;
  return withIntent(record, { ...intent, joined: intent.joined.filter((stint) => !isSameStint(stint, me)) });
}

/** Takes out what is known to be over, by the notes of the processes themselves and by what is left on this node. Returns the record itself if nothing is. */
export function tidied({ record, me, sight, homeGone }: Leading, now: StonithMoment): StonithRecord {
  const { settled, gone } = sight.notes;
  const isOver = (stint: Stint): boolean => hasStint(settled, stint) || isOwnPast(stint);
  const isOwnPast = (stint: Stint): boolean => stint.node === me.node && hasStint(homeGone, stint);
  const over = record.acting.filter((stint) => !isSameStint(stint, me) && isOver(stint));
  const acting = record.acting.filter((stint) => !over.includes(stint));
  const hasGone = (intent: Intent, stint: Stint): boolean =>
    isOwnPast(stint) || gone.some((each) => each.intent === intent.id && isSameStint(each, stint));
  const intents = record.intents
    // SAFETY: this node was granted the seat, so that no ban stands against it: either none was ever committed, and then nobody shoots for this intent (its ban would be refused now), or it was lifted.
    .filter(({ node }) => node !== me.node)
    .map((intent) => {
      const joined = intent.joined.filter((stint) => isSameStint(stint, me) || !hasGone(intent, stint));
      return joined.length === intent.joined.length ? intent : { ...intent, joined };
    });
  const { off } = withoutOff(record, [me.node]);
  const isSame =
    over.length === 0 &&
    off.length === record.off.length &&
    intents.length === record.intents.length &&
    intents.every((intent, index) => intent === record.intents[index]);
  if (isSame) return record;
  const lines = over.map(({ node, token }) =>
    historyLine(me, now, "cleared", node, `the work of term ${token} has ended`),
  );
  return withHistory({ ...record, acting, intents, off }, ...lines);
}

export function withActing(record: StonithRecord, entry: ActingStint, now: StonithMoment): StonithRecord {
  const after = { ...record, acting: [...record.acting, entry] };
  return withHistory(after, historyLine(entry, now, "acting", entry.node, `the work of term ${entry.token} begins`));
}

/** The clean release: only when the work has ended, and only in its own term. */
export function withoutActing(record: StonithRecord, me: Stint, now: StonithMoment): StonithRecord {
  const after = { ...record, acting: record.acting.filter((stint) => !isSameStint(stint, me)) };
  return withHistory(after, historyLine(me, now, "released", me.node, `the work of term ${me.token} has ended`));
}

/** To be used after the store has answered the lift. A node that was shot at without a verified answer may be off: it counts as off until it is seen on. */
export function withoutIntent(record: StonithRecord, intent: Intent, me: Stint, now: StonithMoment): StonithRecord {
  const without = { ...record, intents: record.intents.filter(({ id }) => id !== intent.id) };
  const mayBeOff = intent.off === undefined && intent.wasJoined;
  const after = mayBeOff ? withOff(without, intent.node, intent.id) : without;
  const is = intent.off === undefined ? "withdrawn" : "lifted";
  const said =
    intent.off === undefined ? `intent ${intent.id}: the node no longer has to be off` : `intent ${intent.id}`;
  return withHistory(after, historyLine(me, now, is, intent.node, said));
}
