// Which holds a keep carries. Where one request extends a whole session, a hold is carried only to ask whether it is still there. A store may declare that so many
// of them are enough for one keep (`guarantee.holdsPerKeep`); the others take turns, those first that were asked for least lately.
//
// A hold that is gone is noticed by a hint, where the store watches, and without one by the third keep that is answered from then on (`KEEPS_IN_A_ROUND`):
//   each keep carries at least a third of all, and new ones join the rota at its end.
// A name of which a hint says that another holds it is carried by the very next keep.
//
// LAW 6, proof. A session that is over has lost all its holds, so any of them shows whether it lives. A keep that carries a part and misses one of them
//   therefore proves nothing for those that it did not carry: it extends nothing, and a keep that carries all follows at once.
import type { Reading } from "../base/clock.ts";
import { heldTerm, isIn, watchOwn } from "./campaign.ts";
import type { Hold } from "./exchange.ts";
import { askRenewal } from "./session.ts";
import type { Campaign, Carried, Effect, Errand, Machine, Open } from "./state.ts";

/** So many keeps ask for every hold at least once. With the usual rhythm that is less than a ttl. */
const KEEPS_IN_A_ROUND = 3;

/** What the next keep carries. All where it looks for strays: what is not carried would be taken for one. */
export function rotaOf(machine: Machine, open: Open, looksForStrays: boolean): Carried {
  const all = carriersOf(machine);
  const { guarantee, renewal } = machine.settings;
  const most = Math.max(guarantee.holdsPerKeep ?? Infinity, Math.ceil(all.length / KEEPS_IN_A_ROUND));
  // A renewal thread repeats what it was last told to carry, for as long as the loop is busy.
  const carriesAll = all.length <= most || looksForStrays || open.missed || renewal === "thread";
  if (carriesAll) return { holds: all.map(({ hold }) => hold), all: true };
  const doubted = all.filter(({ campaign }) => campaign.askedBy < 0).length;
  all.sort((a, b) => a.campaign.askedBy - b.campaign.askedBy);
  return { holds: all.slice(0, most + doubted).map(({ hold }) => hold), all: false };
}

interface Carrier {
  readonly campaign: Campaign;
  readonly hold: Hold;
}

/** Every entry of this session at the store that we know of: held, and waiting in line. */
function carriersOf(machine: Machine): Carrier[] {
  const carriers: Carrier[] = [];
  for (const campaign of machine.campaigns.values()) {
    const hold = holdOf(campaign);
    if (hold !== undefined) carriers.push({ campaign, hold });
  }
  return carriers;
}

function carrierOf(machine: Machine, { name, bid }: Hold): Campaign | undefined {
  const campaign = machine.campaigns.get(name);
  return campaign !== undefined && holdOf(campaign)?.bid === bid ? campaign : undefined;
}

function holdOf(campaign: Campaign): Hold | undefined {
  const term = heldTerm(campaign);
  if (term !== undefined) return term.hold;
  if (!isIn(campaign, "standing") || campaign.stage.pursuit.shape === "race") return undefined;
  return campaign.stage.pursuit.place;
}

/** The next keep is to carry it: a hint says that another holds the name. */
export function doubtHold(campaign: Campaign): void {
  campaign.askedBy = -1;
}

type SentKeep = Pick<Extract<Errand, { kind: "keep" }>, "keep" | "carried">;

/**
 * A keep was answered `kept`, and missed so many of its holds. Whether it counts for the whole session: if it does not, one that carries all is asked for. What was
 * given back while the keep was under way is missed, too: that costs another keep, and keeps the rule simple.
 */
export function noteRound(
  machine: Machine,
  open: Open,
  { keep, carried }: SentKeep,
  missed: number,
  now: Reading,
): boolean {
  if (carried === undefined || machine.settings.guarantee.holdsPerKeep === undefined) return true;
  for (const hold of carried.holds) {
    const campaign = carrierOf(machine, hold);
    if (campaign !== undefined) campaign.askedBy = keep;
  }
  open.missed = !carried.all && missed > 0;
  if (open.missed) askRenewal(open, now);
  return !open.missed;
}

/** A term that was meant to be brief and has outlasted a keep watches its record after all. */
export function watchNewlyCarried(machine: Machine, open: Open, keep: number, effects: Effect[]): void {
  for (const campaign of machine.campaigns.values()) {
    const term = heldTerm(campaign);
    if (!campaign.brief || term === undefined || term.carriedFrom > keep) continue;
    campaign.brief = false;
    watchOwn(machine, open, term.hold, effects);
  }
}
