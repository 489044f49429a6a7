// One call of a name at a time (law 11), within the process. A session grants a name to every caller that belongs to it, so two callers of one candidate must never reach the store
// together: they take turns here, first come first served, before the store is touched.

export interface Turn {
  /** Lets the next one in. Idempotent. */
  done(): void;
}

const nothing = (): void => {};

export class Turns {
  /** For each name, the callers that wait. The caller whose turn it is has left the list. */
  readonly #waiting = new Map<string, ((turn: Turn) => void)[]>();

  /** Takes the turn at once, or not at all. */
  tryTake(name: string): Turn | undefined {
    if (this.#waiting.has(name)) return undefined;
    this.#waiting.set(name, []);
    return this.#turn(name);
  }

  /** Calls `begin` when the turn comes, perhaps at once. Returns a function that stops waiting; after `begin` that function does nothing. */
  take(name: string, begin: (turn: Turn) => void): () => void {
    const turn = this.tryTake(name);
    if (turn !== undefined) {
      begin(turn);
      return nothing; // all callers share one function, because a new one would keep `begin` in memory
    }
    this.#waiting.get(name)?.push(begin);
    return () => {
      const line = this.#waiting.get(name);
      const index = line?.indexOf(begin) ?? -1;
      if (index >= 0) line?.splice(index, 1);
    };
  }

  #turn(name: string): Turn {
    let over = false;
    return {
      done: () => {
        if (over) return;
        over = true;
        const next = this.#waiting.get(name)?.shift();
        if (next === undefined) this.#waiting.delete(name);
        else next(this.#turn(name));
      },
    };
  }
}
