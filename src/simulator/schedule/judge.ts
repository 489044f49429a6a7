// What judges a world of schedules: the two promises of src/schedule/machine.ts, said once more without knowing how they are kept. It sees the marks that the store applied, the works that began and
// ended, and the ends of terms, all in true time; and it writes down which slots ran, were lost, were repeated.
import { Judge } from "../kernel/judge.ts";
import type { Plan } from "../../schedule/machine.ts";
import type { Mark } from "../../schedule/mark.ts";

/** One begin of a slot. */
export interface SlotAttempt {
  readonly slotMs: number;
  readonly token: number;
  outcome: "running" | "done" | "failed" | "stopped" | "died";
}

export interface Begun {
  readonly who: number;
  readonly token: number;
  readonly slotMs: number;
  /** The latest time of day that the process has read in this term. */
  readonly wallMs: number;
  readonly isLeading: boolean;
  /** What stood when the term was granted. */
  readonly markAtGrant: Mark | undefined;
  readonly isAlone: boolean;
}

export interface SlotLists {
  readonly ran: readonly number[];
  readonly lost: readonly number[];
  readonly repeated: readonly number[];
}

export class ScheduleJudge extends Judge {
  readonly #plan: Plan;
  readonly runs: Map<number, SlotAttempt[]> = new Map();
  /** Slots that a term has marked before their work, by token: the last one. */
  readonly #marked = new Map<number, number>();
  /** Every slot that was marked before its work. */
  readonly #taken = new Set<number>();

  constructor(plan: Plan, judgedBy: readonly string[] | undefined) {
    super(judgedBy);
    this.#plan = plan;
  }

  applied(old: Mark | undefined, mark: Mark, token: number, atMs: number): void {
    if (old === undefined) {
      if (mark.state !== "initial") this.find("initial-mark", `the first mark of all is ${said(mark)}`, atMs);
      return;
    }
    const isPassing = mark.slotMs !== old.slotMs;
    if (mark.slotMs < old.slotMs) this.find("marks-grow", `${said(mark)} was written over ${said(old)}`, atMs);
    if (isPassing && this.#plan.missed === "all" && mark.slotMs !== this.#plan.next(old.slotMs))
      this.find("none-missing", `${said(mark)} was written over ${said(old)}: slots between were left out`, atMs);
    if (mark.state === "begun") this.#take(mark.slotMs, token, atMs);
    else if (this.#plan.mark === "after" && mark.state !== "initial") this.#pass(mark, token, atMs);
  }

  /** The slot that the same term marked before has run; otherwise the term would not have gone on. */
  #take(slotMs: number, token: number, atMs: number): void {
    const before = this.#marked.get(token);
    if (before !== undefined && !this.#hasEnded(before, token))
      this.find("lost-excused", `term ${token} goes on to ${slotMs}, and has not run ${before}`, atMs);
    this.#marked.set(token, slotMs);
    this.#taken.add(slotMs);
  }

  #pass({ slotMs }: Mark, token: number, atMs: number): void {
    if (!this.#hasEnded(slotMs, token))
      this.find("none-missing", `term ${token} has passed ${slotMs}, whose work it has not ended`, atMs);
  }

  #hasEnded(slotMs: number, token: number): boolean {
    return (this.runs.get(slotMs) ?? []).some(
      (run) => run.token === token && (run.outcome === "done" || run.outcome === "failed"),
    );
  }

  begun({ who, token, slotMs, wallMs, isLeading, markAtGrant, isAlone }: Begun, atMs: number): SlotAttempt {
    const earlier = this.runs.get(slotMs) ?? [];
    const run: SlotAttempt = { slotMs, token, outcome: "running" };
    this.runs.set(slotMs, [...earlier, run]);
    const story = (what: string): string => `process ${who} begins ${slotMs} in term ${token}: ${what}`;
    if (!isLeading) this.find("begun-while-led", story("it does not lead"), atMs);
    if (!isAlone) this.find("no-overlap", story("another work of this process runs"), atMs);
    if (slotMs > wallMs) this.find("due", story(`its clock shows ${wallMs}`), atMs);
    const again = earlier.map((other) => other.token).join(", ");
    if (this.#plan.mark === "before" && earlier.length > 0)
      this.find("never-twice", story(`it was begun in term ${again}`), atMs);
    if (earlier.some((other) => other.token === token))
      this.find("repeat-excused", story("this term has begun it before"), atMs);
    if (markAtGrant !== undefined && markAtGrant.slotMs >= slotMs)
      this.find("repeat-excused", story(`when the term was granted, ${said(markAtGrant)} stood`), atMs);
    return run;
  }

  /** A slot is lost if it was begun or marked, and never brought to an end. It is repeated if it was begun more than once. */
  lists(): SlotLists {
    const slots = [...new Set([...this.runs.keys(), ...this.#taken])].toSorted((a, b) => a - b);
    const runsOf = (slotMs: number): readonly SlotAttempt[] => this.runs.get(slotMs) ?? [];
    const hasRun = (slotMs: number): boolean =>
      runsOf(slotMs).some(({ outcome }) => outcome === "done" || outcome === "failed");
    return {
      ran: slots.filter(hasRun),
      lost: slots.filter((slotMs) => !hasRun(slotMs)),
      repeated: slots.filter((slotMs) => runsOf(slotMs).length > 1),
    };
  }
}

function said({ slotMs, state }: Mark): string {
  return `the mark ${slotMs} (${state})`;
}
