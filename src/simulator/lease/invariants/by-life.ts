// The memory of an invariant about each life of a process, election by election: mostly its latest term. Invariants ask after every step, and a life stands for few elections: so both are short lists,
// which are cheap to go through.
import type { Name } from "../../../lease/exchange.ts";
import type { Who } from "../observation.ts";

export interface RememberedValue<Value> {
  readonly election: Name;
  value: Value;
}

interface Life<Value> {
  readonly who: Who;
  readonly elections: RememberedValue<Value>[];
}

const NOTHING: readonly never[] = [];

export class ByLife<Value> {
  /** The lives, by their numbers. */
  readonly #lives: (Life<Value> | undefined)[] = [];

  set(who: Who, election: Name, value: Value): void {
    const life = this.#lives[who.number] ?? { who, elections: [] };
    this.#lives[who.number] = life;
    const known = life.elections.find((each) => each.election === election);
    if (known === undefined) life.elections.push({ election, value });
    else known.value = value;
  }

  get(who: Who, election: Name): Value | undefined {
    return this.of(who).find((each) => each.election === election)?.value;
  }

  of(who: Who): readonly RememberedValue<Value>[] {
    return this.#lives[who.number]?.elections ?? NOTHING;
  }

  all(): readonly Life<Value>[] {
    return this.#lives.filter((life) => life !== undefined);
  }

  delete(who: Who, election: Name): void {
    const elections = this.#lives[who.number]?.elections;
    const place = elections?.findIndex((each) => each.election === election) ?? -1;
    if (place >= 0) elections?.splice(place, 1);
  }

  /** The life of `who` is over. */
  forget(who: Who): void {
    this.#lives[who.number] = undefined;
  }
}
