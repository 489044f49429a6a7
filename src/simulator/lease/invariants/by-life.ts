// What an invariant remembers of each life of a process, election by election: mostly its latest term.
import type { Name } from "../../../lease/exchange.ts";
import type { Who } from "../observation.ts";

const NOTHING: ReadonlyMap<Name, never> = new Map<Name, never>();

export class ByLife<Value> {
  readonly #lives = new Map<Who, Map<Name, Value>>();

  set(who: Who, election: Name, value: Value): void {
    const known = this.#lives.get(who);
    if (known === undefined) this.#lives.set(who, new Map([[election, value]]));
    else known.set(election, value);
  }

  get(who: Who, election: Name): Value | undefined {
    return this.#lives.get(who)?.get(election);
  }

  of(who: Who): ReadonlyMap<Name, Value> {
    return this.#lives.get(who) ?? NOTHING;
  }

  all(): Iterable<readonly [Who, ReadonlyMap<Name, Value>]> {
    return this.#lives;
  }

  delete(who: Who, election: Name): void {
    this.#lives.get(who)?.delete(election);
  }

  /** That life is over. */
  forget(who: Who): void {
    this.#lives.delete(who);
  }
}
