// What this process says of itself outside of its terms: that the work of a term has ended, and that no agent of a term can shoot any more. It is a
// memo of an election of this node, which the process leads for a
// moment; so it works also while another node leads the guarded election. While this node is banned it cannot write notes, and tries until it can.
//
// SAFETY: only what stays true for ever is noted. A note that is lost, or comes late, costs time: the leader shoots a node that need not be shot, or lifts a ban later.
import type { Clock } from "../base/clock.ts";
import type { Candidate } from "../election/face.ts";
import { RESERVED, writeReservedMemo } from "../election/memo.ts";
import { nap } from "../election/nap.ts";
import type { Term } from "../election/term.ts";
import { hasStint } from "./record.ts";
import { formatNotes, NOTES_KEY, notesOf, parseNotes } from "./record-text.ts";
import type { Notes } from "./state.ts";

/** How many notes of each kind are kept. Older ones have been read long ago; if not, their loss costs time. */
const NOTES_MAX = 30;
const PAUSE_MS = 500;

export class Notebook {
  readonly #candidate: Candidate;
  readonly #election: string;
  readonly #node: string;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #report: (what: string, error: unknown) => void;
  #due: Notes = { settled: [], gone: [] };
  #writing: Promise<void> | undefined;

  constructor(
    candidate: Candidate,
    { election, node }: { readonly election: string; readonly node: string },
    clock: Clock,
    signal: AbortSignal,
    report: (what: string, error: unknown) => void,
  ) {
    this.#candidate = candidate;
    this.#election = election;
    this.#node = node;
    this.#clock = clock;
    this.#signal = signal;
    this.#report = report;
  }

  note({ settled, gone }: Notes): void {
    if (settled.length + gone.length === 0) return;
    this.#due = merged(this.#due, { settled, gone });
    this.#begin();
  }

  #begin(): void {
    if (this.#writing !== undefined || !this.#isDue()) return;
    this.#writing = this.#write().finally(() => {
      this.#writing = undefined;
      this.#begin(); // a note may have come since the last look at what is due
    });
  }

  #isDue(): boolean {
    return !this.#signal.aborted && this.#due.settled.length + this.#due.gone.length > 0;
  }

  /** Resolves when everything is noted, or the signal has aborted. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  async #write(): Promise<void> {
    while (this.#isDue())
      try {
        await this.#writeOnce();
      } catch (error) {
        if (this.#signal.aborted) return;
        this.#report("a note could not be written", error);
        await nap(PAUSE_MS, this.#signal, this.#clock);
      }
  }

  async #writeOnce(): Promise<void> {
    const election = this.#candidate.election(notesOf(this.#election, this.#node));
    const term: Term = await election.campaign({ signal: this.#signal });
    try {
      const memo = await election.memo(RESERVED + NOTES_KEY);
      const due = this.#due;
      await writeReservedMemo(term, NOTES_KEY, formatNotes(merged(parseNotes(memo?.value), due)));
      const isNew =
        <T>(before: readonly T[]) =>
        (each: T): boolean =>
          !before.includes(each);
      this.#due = {
        settled: this.#due.settled.filter(isNew(due.settled)),
        gone: this.#due.gone.filter(isNew(due.gone)),
      };
    } finally {
      await term.resign();
    }
  }
}

export function merged(one: Notes, other: Notes): Notes {
  const settled = other.settled.filter((stint) => !hasStint(one.settled, stint));
  const gone = other.gone.filter(
    ({ intent, ...stint }) => !one.gone.some((each) => each.intent === intent && hasStint([each], stint)),
  );
  return { settled: [...one.settled, ...settled].slice(-NOTES_MAX), gone: [...one.gone, ...gone].slice(-NOTES_MAX) };
}
