// The humans of a world of STONITH: they ask for shots, and they confirm what they have seen, which is always true. Their words may arrive late.
import { nextBetween } from "../../base/rng.ts";
import type { StonithOrder } from "../../stonith/orders.ts";
import { intentAgainst, type Stint, type StonithRecord } from "../../stonith/record.ts";
import type { StonithWorld } from "./world.ts";

const LATE_MAX_MS = 1500;

export class Operator {
  readonly #world: StonithWorld;
  #orders = 0;

  constructor(world: StonithWorld) {
    this.#world = world;
  }

  fence(node: string): void {
    const { nowMs: wallMs } = this.#world;
    this.#world.count("orders to fence");
    this.#world.order = { id: `f${++this.#orders}`, by: "operator", kind: "fence", node, why: "it smokes", wallMs };
  }

  /** Looks at the record, goes to the machine, and reports its state. */
  help(): void {
    const { record } = this.#world.store;
    if (record === undefined) return;
    const { value } = record;
    const stuck = value.acting.find(({ node }) => node !== this.#world.store.seat.holder?.process.name);
    const open = value.intents.find(({ joined }) => joined.length > 0 && this.#isQuiet(joined));
    if (stuck !== undefined && (open === undefined || nextBetween(this.#world.rng, 0, 1) < 0.5))
      this.#confirmOff(value, stuck.node);
    else if (open !== undefined) this.#say(value, open.node, "quiet");
    else if (value.off.length > 0) {
      const on = value.off.find(({ node }) => this.#world.node(node).isOn);
      if (on !== undefined) this.#say(value, on.node, "on");
    }
  }

  /** Pulls the plug, if nobody else has. */
  #confirmOff(record: StonithRecord, node: string): void {
    const { rng } = this.#world;
    this.#world.note({ is: "human-goes", node });
    this.#world.powerOff(this.#world.node(node), nextBetween(rng, 300, this.#world.spec.bootMaxMs));
    this.#say(record, node, "off");
  }

  /** None of these nodes has an agent, or a term in which it could start one. */
  #isQuiet(joined: readonly Stint[]): boolean {
    const { aims, store } = this.#world;
    return joined.every(
      (stint) =>
        String(store.seat.holder?.token) !== stint.token &&
        !aims.some(({ by }) => by.life === stint.life && by.token === stint.token),
    );
  }

  #say(record: StonithRecord, node: string, says: "off" | "quiet" | "on"): void {
    const world = this.#world;
    const intent = intentAgainst(record, node);
    const acting = record.acting.filter((stint) => stint.node === node);
    const order: StonithOrder = {
      id: `c${++this.#orders}`,
      by: "human",
      kind: "confirm",
      node,
      says,
      intent: intent?.id,
      acting,
      joined: intent?.joined ?? [],
      since: record.off.find((each) => each.node === node)?.since,
      wallMs: world.nowMs,
    };
    world.later(nextBetween(world.rng, 0, LATE_MAX_MS), undefined, () => {
      world.note({ is: "human-says", node, says });
      world.order = order;
    });
  }
}
