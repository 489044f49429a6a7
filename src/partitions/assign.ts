// Who should lead each partition: sticky, balanced by weight, with few moves. Pure; the same order gives the same answer. Its answer is only a wish: the controller (controller.ts) decides what may be
// taken from whom, and when. Safety does not depend on this file.
//
//   sticky     A partition stays where it is, unless its owner is gone or drains, somebody asked for a transfer, or balance needs the move.
//   crash      When a member is gone, only its partitions move: each goes to the member with the least load for its weight.
//   balance    A member's share is its weight's part of the total. It has at most its share and 5 %, and at least its share less 5 %; or one partition more or less, where 5 % is
//              less than that.
//   movement   For balance, partitions move only from members above their share to members below it, and no partition moves twice. So after a join about as many move as the new member's share.
//              With weights, zones or preferences balance may need a move after a crash too: it takes a partition that was just placed, if the member has one, before one that was led.
//   zone       A partition with a zone goes to a member of that zone if one has room. It is not moved for the zone's sake.
//   preferred  A partition goes to its preferred member while that is there and has room, and is moved for that; the other moves for balance leave it there if others will do.
//
// Cost: O((partitions + members) · log members).
import { LoadHeap } from "./load-heap.ts";

export interface AssignMember {
  /** Above 0, relative to the weights of the others. */
  readonly weight: number;
  readonly zone?: string | undefined;
  /** The member gives its partitions away, and gets none. */
  readonly isDraining?: boolean | undefined;
}

export interface AssignOrder {
  readonly members: readonly AssignMember[];
  /** For each partition: the place of its owner among the members; NOBODY; or FIXED, if its owner cannot give it up yet. */
  readonly owners: Int32Array;
  /** The weight of each partition; all are 1 if undefined. */
  readonly weights?: Float64Array | undefined;
  readonly zoneOf?: ((partition: number) => string | undefined) | undefined;
  /** For each partition: the place of its preferred member, or NOBODY. */
  readonly preferred?: Int32Array | undefined;
  /** Transfers that were asked for: partition → the place of a member. */
  readonly pinned?: ReadonlyMap<number, number> | undefined;
  /** At most so many partitions are taken from members that could keep them; transfers do not count. */
  readonly movesMax?: number | undefined;
}

export const NOBODY = -1;
export const FIXED = -2;

const TOLERANCE = 0.05;
/** Sums of weights are compared with so much room for rounding. */
const DUST = 1e-9;

/** For each partition the place of the member that should lead it; NOBODY if there is none; FIXED as it was given. */
export function assign(order: AssignOrder): Int32Array {
  const wanted = Int32Array.from(order.owners);
  const takers = order.members.filter(({ isDraining }) => isDraining !== true).length;
  if (takers === 0) return wanted;
  const deal = new Deal(order, wanted);
  deal.followPins();
  deal.followPreferences();
  deal.placeOrphans();
  deal.shed();
  deal.fill();
  deal.limitMoves();
  return wanted;
}

class Deal {
  readonly #order: AssignOrder;
  readonly #wanted: Int32Array;
  readonly #loads: LoadHeap;
  readonly #shares: Float64Array;
  /** The greatest weight of a partition that may move. */
  readonly #grain: number;
  readonly #moved: Uint8Array;
  #lists: number[][] | undefined;

  constructor(order: AssignOrder, wanted: Int32Array) {
    const { members, weights } = order;
    this.#order = order;
    this.#wanted = wanted;
    this.#moved = new Uint8Array(wanted.length);
    const loads = new Float64Array(members.length);
    let total = 0;
    let grain = 0;
    for (let partition = 0; partition < wanted.length; partition++) {
      const owner = wanted[partition] as number;
      if (owner === FIXED) continue;
      const weight = weights?.[partition] ?? 1;
      total += weight;
      if (weight > grain) grain = weight;
      if (owner === NOBODY || members[owner]?.isDraining === true) wanted[partition] = NOBODY;
      else loads[owner] = (loads[owner] as number) + weight;
    }
    this.#grain = grain;
    this.#loads = new LoadHeap(members, loads);
    const all = members.reduce((sum, { weight, isDraining }) => sum + (isDraining === true ? 0 : weight), 0);
    this.#shares = Float64Array.from(members, ({ weight, isDraining }) =>
      isDraining === true ? 0 : (total * weight) / all,
    );
  }

  followPins(): void {
    for (const [partition, to] of this.#order.pinned ?? []) {
      if (this.#wanted[partition] === FIXED || this.#order.members[to] === undefined) continue;
      this.#move(partition, to);
      this.#moved[partition] = 1;
    }
  }

  /**
   * Gives a member the partitions that prefer it, up to its bound. Those that it has already come first, so that the same question has the same answer
   * again. A member that then has too much gives other partitions away.
   */
  followPreferences(): void {
    const { preferred, members } = this.#order;
    if (preferred === undefined) return;
    const home = new Float64Array(members.length);
    for (let partition = 0; partition < preferred.length; partition++) {
      const at = this.#wanted[partition] as number;
      if (at >= 0 && at === preferred[partition]) home[at] = (home[at] as number) + this.#weight(partition);
    }
    for (let partition = 0; partition < preferred.length; partition++) {
      const to = preferred[partition] as number;
      const from = this.#wanted[partition] as number;
      if (to < 0 || from === to || from === FIXED || this.#moved[partition] === 1) continue;
      const load = (home[to] as number) + this.#weight(partition);
      if (members[to]?.isDraining === true || load > this.#upper(to) + DUST) continue;
      home[to] = load;
      this.#move(partition, to);
    }
  }

  /** Places the heavy ones first, so that the light ones even out what is left. */
  placeOrphans(): void {
    const orphans: number[] = [];
    for (let partition = 0; partition < this.#wanted.length; partition++)
      if (this.#wanted[partition] === NOBODY) orphans.push(partition);
    const { weights, zoneOf } = this.#order;
    if (weights !== undefined) orphans.sort((a, b) => this.#weight(b) - this.#weight(a) || a - b);
    for (const partition of orphans) {
      const near = this.#loads.least(zoneOf?.(partition));
      const to = near !== undefined && this.#hasRoom(near, partition) ? near : this.#loads.least();
      if (to !== undefined) this.#move(partition, to);
    }
  }

  /** Members above their bound give partitions to those with the least load. */
  shed(): void {
    for (let from = 0; from < this.#shares.length; from++)
      while (this.#loads.loadOf(from) > this.#upper(from) + DUST && this.#giveAway(from));
  }

  /** Members below their bound get partitions from those with the most above their share. */
  fill(): void {
    const needy = Array.from(this.#shares.keys()).filter((member) => this.#isBelow(member));
    if (needy.length === 0) return;
    // Only the donor on top changes while it gives, so the heap stays exact.
    const donors = new MaxHeap(
      Array.from(this.#shares.keys()).filter((member) => this.#excess(member) > DUST),
      (member) => this.#excess(member),
    );
    for (const to of needy)
      while (this.#isBelow(to)) {
        const from = donors.top;
        if (from === undefined || this.#excess(from) <= DUST) return;
        if (this.#giveAway(from, to)) donors.sinkTop();
        else donors.removeTop();
      }
  }

  /**
   * All moves were planned, and the first of them are made now. To plan only as many as may be made would not do: preferences, which come first, would use them all, and what they move would have to
   * go back for the balance, again and again.
   */
  limitMoves(): void {
    const { preferred, movesMax = Infinity } = this.#order;
    const moves = this.#takenFromLiving();
    const isHome = (partition: number): boolean => preferred?.[partition] === this.#wanted[partition];
    const ordered = [...moves.filter((partition) => !isHome(partition)), ...moves.filter(isHome)];
    for (const partition of ordered.slice(movesMax)) this.#wanted[partition] = this.#order.owners[partition] as number;
  }

  /** Without those that were asked for. */
  #takenFromLiving(): readonly number[] {
    const { owners, members, pinned } = this.#order;
    const taken: number[] = [];
    for (const [partition, owner] of owners.entries())
      if (owner >= 0 && this.#wanted[partition] !== owner)
        if (members[owner]?.isDraining !== true && pinned?.has(partition) !== true) taken.push(partition);
    return taken;
  }

  #isBelow(member: number): boolean {
    return this.#order.members[member]?.isDraining !== true && this.#loads.loadOf(member) < this.#lower(member) - DUST;
  }

  #over(member: number): number {
    return this.#loads.loadOf(member) - (this.#shares[member] as number);
  }

  /** How much a member has above its share, for its weight. */
  #excess(member: number): number {
    return this.#over(member) / (this.#order.members[member]?.weight ?? 1);
  }

  /** Moves one partition so that the two members become more even. False: there is none, or no move is left. */
  #giveAway(from: number, toward?: number): boolean {
    this.#lists ??= this.#listAll();
    const list = this.#lists[from] as number[];
    while (list.length > 0) {
      const partition = list.pop() as number;
      const to = toward ?? this.#loads.least();
      if (to === undefined || !this.#isMoreEven(partition, from, to)) continue;
      this.#move(partition, to);
      this.#moved[partition] = 1;
      return true;
    }
    return false;
  }

  /** Counted in partitions and not by weight: then, if no move makes it more even, nobody has more than its share and one partition. */
  #isMoreEven(partition: number, from: number, to: number): boolean {
    return to !== from && this.#over(to) + this.#weight(partition) < this.#over(from) - DUST;
  }

  /** What each member has and may give, the best to give last: partitions that prefer another member or none come before those that prefer this one; among these, those that nobody led; then the heavy ones. */
  #listAll(): number[][] {
    const { preferred, weights, members, owners } = this.#order;
    const lists: number[][] = members.map(() => []);
    const isNew = (partition: number): number => (owners[partition] === this.#wanted[partition] ? 0 : 1);
    for (const round of [0, 1])
      for (let partition = 0; partition < this.#wanted.length; partition++)
        if (this.#moved[partition] === 0 && isNew(partition) === round)
          lists[this.#wanted[partition] as number]?.push(partition);
    if (preferred === undefined && weights === undefined) return lists;
    return lists.map((list, member) => {
      const isAway = (partition: number): number => (preferred?.[partition] === member ? 0 : 1);
      return list.toSorted(
        (a, b) => isAway(a) - isAway(b) || isNew(a) - isNew(b) || this.#weight(a) - this.#weight(b) || a - b,
      );
    });
  }

  #move(partition: number, to: number): void {
    const from = this.#wanted[partition] as number;
    const weight = this.#weight(partition);
    if (from >= 0) this.#loads.add(from, -weight);
    this.#loads.add(to, weight);
    this.#wanted[partition] = to;
  }

  #weight(partition: number): number {
    return this.#order.weights?.[partition] ?? 1;
  }

  #hasRoom(member: number, partition: number): boolean {
    if (this.#order.members[member]?.isDraining === true) return false;
    return this.#loads.loadOf(member) + this.#weight(partition) <= this.#upper(member) + DUST;
  }

  #upper(member: number): number {
    const share = this.#shares[member] as number;
    return Math.max(share * (1 + TOLERANCE), Math.ceil(share / this.#grain - DUST) * this.#grain);
  }

  #lower(member: number): number {
    const share = this.#shares[member] as number;
    return Math.min(share * (1 - TOLERANCE), Math.floor(share / this.#grain + DUST) * this.#grain);
  }
}

class MaxHeap {
  readonly #items: number[];
  readonly #keyOf: (item: number) => number;

  constructor(items: readonly number[], keyOf: (item: number) => number) {
    this.#items = items.toSorted((a, b) => keyOf(b) - keyOf(a) || a - b);
    this.#keyOf = keyOf;
  }

  get top(): number | undefined {
    return this.#items[0];
  }

  removeTop(): void {
    const last = this.#items.pop();
    if (last === undefined || this.#items.length === 0) return;
    this.#items[0] = last;
    this.sinkTop();
  }

  /** To be called when the key of the first has fallen. */
  sinkTop(): void {
    const items = this.#items;
    const item = items[0] as number;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && this.#isBefore(items[child + 1] as number, items[child] as number)) child++;
      const below = items[child] as number;
      if (!this.#isBefore(below, item)) break;
      items[place] = below;
      place = child;
    }
    items[place] = item;
  }

  #isBefore(a: number, b: number): boolean {
    const [left, right] = [this.#keyOf(a), this.#keyOf(b)];
    return left === right ? a < b : left > right;
  }
}
