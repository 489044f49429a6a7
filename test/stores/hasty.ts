// Candidates as hasty as the contract allows, whose requests pass in whatever order a seed draws. Only what the writes of a store promise is judged with them: they claim over whatever they have just seen, silent or not.
import {
  type Bid,
  type Call,
  type Claimed,
  type Hold,
  type Session,
  type Store,
  VACANT,
  type Version,
} from "conclave/stores/contract";
import type { Rng } from "conclave/protocols";
import { nextChance, nextInteger } from "../../src/base/rng.ts";

/** The name that all of them want. */
export const NAME = "x";
export const call: Call = { signal: new AbortController().signal, sentAtMs: 0 };

/** Where requests wait until the seed lets one pass. */
export class Crossing {
  readonly #random: Rng;
  readonly #waiting: (() => void)[] = [];

  constructor(random: Rng) {
    this.#random = random;
  }

  turn(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Lets one request pass, whichever the seed says. False if none is waiting. */
  step(): boolean {
    const [next] = this.#waiting.splice(nextInteger(this.#random, 0, Math.max(0, this.#waiting.length - 1)), 1);
    next?.();
    return next !== undefined;
  }

  /** A request that its sender has given up passes long after. */
  async late(): Promise<void> {
    for (let turns = nextInteger(this.#random, 0, 30); turns > 0; turns--) await this.turn();
  }
}

/** One candidate, for twelve rounds. `claiming` is called before each claim, and what it returns if that was granted. */
export async function live(
  store: Store,
  id: string,
  random: Rng,
  claiming: () => (hold: Hold, isTakeover: boolean) => void,
): Promise<void> {
  let [session, opened]: [Session | undefined, number] = [undefined, 0];
  for (let round = 0; round < 12; round++) {
    if (session === undefined) {
      const kept = await store.keep({ nonce: `${id}.${opened++}`, candidate: id, ttlMs: 1_000 }, [], call);
      session = kept.kind === "kept" ? kept.session : undefined;
      continue;
    }
    const over = nextChance(random, 0.4) ? VACANT : await version(store);
    const granted = claiming();
    const claimed = await once(store, session, `${id}.${round}` as Bid, over);
    if (claimed?.kind === "session-lost") session = undefined;
    if (claimed?.kind !== "granted" || session === undefined) continue;
    granted(claimed.hold, over !== VACANT);
    session = await hold(store, session, claimed.hold, random);
  }
}

/** Renews, or falls silent; then gives back or simply goes on. */
async function hold(store: Store, session: Session, mine: Hold, random: Rng): Promise<Session | undefined> {
  if (nextChance(random, 0.6)) {
    const kept = await store.keep(session, [mine], call);
    if (kept.kind === "session-lost") return undefined;
  }
  if (nextChance(random, 0.5))
    await store.release({ session, holds: [mine], endSession: nextChance(random, 0.2) }, call);
  return session;
}

export async function version(store: Store): Promise<Version | undefined> {
  const looked = await store.look([{ name: NAME }], call);
  return looked.kind === "seen" ? looked.seats[0]?.version : undefined;
}

export async function once(
  store: Store,
  session: Session,
  bid: Bid,
  over: Version | undefined,
): Promise<Claimed | undefined> {
  const [claimed] = await store.claim([{ session, name: NAME, bid, over, value: "" }], call);
  return claimed;
}
