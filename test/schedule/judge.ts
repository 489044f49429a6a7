// Which slots of a fleet ran, were lost, were repeated, and whether that keeps the two promises of docs/ONCE-PER-FLEET.md. It knows only what the processes printed and which of them were killed.
//
// A term is cut when its process was killed, or said that it has lost the term. One process runs one slot at a time, so a cut term accounts for one slot at most: the last that it began, or one
// that it had marked and not begun yet. Whatever is lost (mark "before") or repeated (mark "after") without such a term is beyond the promise.

/** What a process printed: `term 3`, `lost 3`, `begun 2026-11-16T03:00:00.000Z 3`, `ended 2026-11-16T03:00:00.000Z 3`. */
export interface Line {
  readonly process: number;
  readonly what: "term" | "lost" | "begun" | "ended";
  readonly token: number;
  /** Of "begun" and "ended". */
  readonly slot: number;
}

export interface Lists {
  readonly terms: number;
  readonly ran: number;
  /** Without an end. */
  readonly lost: readonly number[];
  /** Begun more than once. */
  readonly repeated: readonly number[];
  /** What is beyond the promise. */
  readonly findings: readonly string[];
}

interface Judged {
  readonly mark: "before" | "after";
  readonly everyMs: number;
  readonly killed: ReadonlySet<number>;
}

const PATTERN = /^(?:(term|lost) (\d+)|(begun|ended) (\S+Z) (\d+))$/;

/** Undefined for what is no such line. */
export function lineOf(process: number, text: string): Line | undefined {
  const [, state, ofTerm, act, slot, ofSlot] = PATTERN.exec(text) ?? [];
  const what = (state ?? act) as Line["what"] | undefined;
  if (what === undefined) return undefined;
  return { process, what, token: Number(ofTerm ?? ofSlot), slot: slot === undefined ? 0 : Date.parse(slot) };
}

export function judgeFleet(lines: readonly Line[], { mark, everyMs, killed }: Judged): Lists {
  const begun = lines.filter(({ what }) => what === "begun");
  const terms = new Set(lines.filter(({ what }) => what === "term").map(({ token }) => token)).size;
  if (begun.length === 0) return { terms, ran: 0, lost: [], repeated: [], findings: ["no slot ever began"] };
  const ended = new Set(lines.filter(({ what }) => what === "ended").map(({ slot }) => slot));
  const all = slotsOf(begun, everyMs);
  const lost = all.filter((slot) => !ended.has(slot));
  const repeated = all.filter((slot) => begun.filter((line) => line.slot === slot).length > 1);
  const account = new Account(lines, killed);
  const findings =
    mark === "before"
      ? [
          ...repeated.map((slot) => `${iso(slot)} began twice`),
          ...lost.filter((slot) => !account.isLossOf(slot)).map((slot) => `${iso(slot)} was lost, and no term was cut`),
        ]
      : [
          ...lost.map((slot) => `${iso(slot)} is missing`),
          ...repeated
            .filter((slot) => !account.isRepeatOf(slot))
            .map((slot) => `${iso(slot)} was repeated, and no term was cut`),
        ];
  return { terms, ran: all.length - lost.length, lost, repeated, findings };
}

/** Each cut term, and the one slot for which it accounts. */
class Account {
  readonly #begun: readonly Line[];
  /** Cut, and not charged with a slot yet; in the order of the terms. */
  readonly #free: Set<number>;

  constructor(lines: readonly Line[], killed: ReadonlySet<number>) {
    this.#begun = lines.filter(({ what }) => what === "begun");
    const cut = lines.flatMap((line, index) => {
      if (line.what === "lost") return [line.token];
      const isLast = !lines.some((other, at) => at > index && other.what === "term" && other.process === line.process);
      return line.what === "term" && isLast && killed.has(line.process) ? [line.token] : [];
    });
    this.#free = new Set(cut.toSorted((a, b) => a - b));
  }

  /** A slot that has no end. */
  isLossOf(slot: number): boolean {
    const runner = this.#begun.find((line) => line.slot === slot);
    return runner === undefined ? this.#isMarkedOnly(slot) : this.#charge(runner);
  }

  /** A slot that has several begins: all but the one of the newest term must have been cut. */
  isRepeatOf(slot: number): boolean {
    const runners = this.#begun.filter((line) => line.slot === slot).toSorted((a, b) => a.token - b.token);
    return runners.slice(0, -1).every((runner) => this.#charge(runner)) && distinct(runners);
  }

  #charge({ token, slot }: Line): boolean {
    return slot === this.#lastOf(token) && this.#free.delete(token);
  }

  /** Marked by a term that ended before it could say that it began: one that comes after the slot before, and before the slot after. */
  #isMarkedOnly(slot: number): boolean {
    const earlier = this.#begun.filter((line) => line.slot < slot).map(({ token }) => token);
    const later = this.#begun.filter((line) => line.slot > slot).map(({ token }) => token);
    const [least, most] = [Math.max(...earlier), Math.min(...later)];
    const term = [...this.#free].find((token) => token >= least && token < most);
    return term !== undefined && this.#free.delete(term);
  }

  #lastOf(token: number): number {
    return Math.max(...this.#begun.filter((line) => line.token === token).map(({ slot }) => slot));
  }
}

/** Every slot from the first that began to the last. */
function slotsOf(begun: readonly Line[], everyMs: number): readonly number[] {
  const slots = begun.map(({ slot }) => slot);
  const [first, last] = [Math.min(...slots), Math.max(...slots)];
  return Array.from({ length: (last - first) / everyMs + 1 }, (_, index) => first + index * everyMs);
}

const distinct = (lines: readonly Line[]): boolean => new Set(lines.map(({ token }) => token)).size === lines.length;
const iso = (slot: number): string => new Date(slot).toISOString();
