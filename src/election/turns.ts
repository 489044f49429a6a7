// One call of a name at a time (law 11), within the process. A session grants a name to every caller that belongs to it, so two callers of one candidate must never reach the store
// together: they take turns here, first come first served, before the store is touched.
//
// Only the caller whose turn it is hears the store. So it tells the line what it hears, and the others know why they wait: the name is taken, or the store cannot be asked.
import type { ConclaveError } from "../base/errors.ts";
import { renewed } from "../base/worn-map.ts";

/** What the store has said last: somebody has the name, perhaps the caller whose turn it is; or the reason why it could not be asked since its last answer. */
export type Hearsay = "taken" | ConclaveError;

export interface Turn {
  /** Tells those who wait what the store has said. */
  tell(word: Hearsay): void;
  /** Lets the next one in. Idempotent. */
  done(): void;
}

interface Waiter {
  readonly begin: (turn: Turn) => void;
  /** Of one that leaves the line as soon as anything is heard. Undefined: it waits for its turn, whatever the store says meanwhile. */
  readonly hear: ((word: Hearsay) => void) | undefined;
}

interface Line {
  /** The caller whose turn it is has left the list. */
  waiting: Waiter[];
  /** How many of them want to hear what is told. */
  hearing: number;
  /** What was told last. A turn begins without "taken", because whoever begins may find the name free; trouble of the store outlasts a turn. */
  word: Hearsay | undefined;
  /** It was told at least once since the line began that the name is taken. */
  wasTaken: boolean;
}

const nothing = (): void => {};

export class Turns {
  #lines = new Map<string, Line>();
  #linesMade = 0;

  /**
   * Calls `begin` when the turn comes, perhaps at once. With `hear` it waits only until the one whose turn it is has heard something of the store, perhaps before: then `hear` is called in place of
   * `begin`. Returns a function that stops waiting; after either call that function does nothing.
   */
  take(name: string, begin: (turn: Turn) => void, hear?: (word: Hearsay) => void): () => void {
    const line = this.#lines.get(name);
    if (line === undefined) {
      const own: Line = { waiting: [], hearing: 0, word: undefined, wasTaken: false };
      this.#lines = renewed(this.#lines, ++this.#linesMade);
      this.#lines.set(name, own);
      begin(this.#turn(name, own));
      return nothing; // all callers share one function, because a new one would keep `begin` in memory
    }
    if (hear !== undefined && line.word !== undefined) {
      hear(line.word);
      return nothing;
    }
    const waiter: Waiter = { begin, hear };
    line.waiting.push(waiter);
    if (hear !== undefined) line.hearing++;
    return () => {
      const index = line.waiting.indexOf(waiter);
      if (index < 0) return;
      line.waiting.splice(index, 1);
      if (hear !== undefined) line.hearing--;
    };
  }

  /** Why a caller of this name still waits, as far as the store has said; undefined if it has said nothing yet. */
  whyWaiting(name: string): Hearsay | undefined {
    const line = this.#lines.get(name);
    return line?.word ?? (line?.wasTaken === true ? "taken" : undefined);
  }

  /** The turn of `line` is over. */
  #next(name: string, line: Line): void {
    if (line.word === "taken") line.word = undefined;
    const next = line.waiting.shift();
    if (next === undefined) return void this.#lines.delete(name);
    if (next.hear !== undefined) line.hearing--;
    next.begin(this.#turn(name, line));
  }

  #turn(name: string, line: Line): Turn {
    return new TurnInLine(line, () => this.#next(name, line));
  }
}

/** There is one for each name that this process stands for: a class takes less memory than two functions. */
class TurnInLine implements Turn {
  readonly #line: Line;
  #end: (() => void) | undefined;

  constructor(line: Line, end: () => void) {
    this.#line = line;
    this.#end = end;
  }

  tell(word: Hearsay): void {
    if (this.#end === undefined) return;
    const line = this.#line;
    line.word = word;
    line.wasTaken ||= word === "taken";
    if (line.hearing === 0) return;
    const leaving = line.waiting.filter(({ hear }) => hear !== undefined);
    line.waiting = line.waiting.filter(({ hear }) => hear === undefined);
    line.hearing = 0;
    for (const { hear } of leaving) hear?.(word);
  }

  done(): void {
    const end = this.#end;
    this.#end = undefined;
    end?.();
  }
}
