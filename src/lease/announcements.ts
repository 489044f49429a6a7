// An announcement of a term: a claim of what is held, that only changes what `leader()` shows beside the id.
import type { Reading } from "../base/clock.ts";
import type { Refused, Unknown } from "../base/outcome.ts";
import { becomeLost, heldTerm, isIn } from "./campaign.ts";
import type { Claimed, Hold } from "./exchange.ts";
import { endSession } from "./expiry.ts";
import { errorOf, send } from "./report.ts";
import { doubt } from "./session.ts";
import type { Answer, Effect, Errand, Input, Machine, Open } from "./state.ts";

type AnnounceInput = Extract<Input, { type: "announce" }>;
type AnnounceErrand = Extract<Errand, { kind: "announce" }>;

const MISSING: Unknown = { kind: "unknown", cause: "the driver answered fewer claims than were sent" };

export function handleAnnounce(machine: Machine, { id, name, value }: AnnounceInput, effects: Effect[]): void {
  const campaign = machine.campaigns.get(name);
  const term = campaign && heldTerm(campaign);
  const { session } = machine;
  if (campaign === undefined || term === undefined || session.kind !== "open" || term.opened !== session.opened) {
    effects.push({ type: "done", id, error: undefined });
    return;
  }
  campaign.value = value;
  const claims = [{ session: session.session, name, bid: term.hold.bid, value }];
  const errand = { kind: "announce", id, opened: session.opened, hold: term.hold } as const;
  send(machine, errand, session.pace.requestTimeoutMs, { method: "claim", claims }, effects);
}

export function handleAnnounced(
  machine: Machine,
  errand: AnnounceErrand,
  answer: Answer,
  now: Reading,
  effects: Effect[],
): void {
  const { id, hold, opened } = errand;
  const claimed = answer.kind === "claimed" ? (answer.claimed[0] ?? MISSING) : (answer as Unknown | Refused);
  const failed = claimed.kind === "unknown" || claimed.kind === "refused";
  const { session } = machine;
  if (session.kind === "open" && session.opened === opened) {
    // The claim may have joined the line anew, or may still do so.
    if (claimed.kind !== "refused") doubt(session);
    if (!failed) hearOfTerm(machine, session, hold, claimed, now, effects);
  }
  effects.push({ type: "done", id, error: failed ? errorOf("an announcement", claimed, machine) : undefined });
}

/** If the store says that a term is over, signal and loss come at once (law 5). An announcement is a claim of what is held; any answer but that very grant says that it is not held any more. */
function hearOfTerm(
  machine: Machine,
  open: Open,
  hold: Hold,
  claimed: Exclude<Claimed, Unknown | Refused>,
  now: Reading,
  effects: Effect[],
): void {
  if (claimed.kind === "session-lost") return endSession(machine, open, "session-lost", now, effects);
  if (claimed.kind === "granted" && claimed.hold.token?.value === hold.token?.value) return;
  const campaign = machine.campaigns.get(hold.name);
  // In a line the claim may have joined anew, under the same bid. That entry belongs to no attempt; the next keep shows it as a stray, and it is given
  // back when the work has settled (law 8).
  if (campaign === undefined || heldTerm(campaign)?.hold.bid !== hold.bid) return;
  if (isIn(campaign, "leading") || isIn(campaign, "ending")) becomeLost(machine, campaign, "superseded", now, effects);
}
