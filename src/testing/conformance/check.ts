// The failure of a case: the demand of the contract, the expected value, and the actual one.
import type {
  AskedToLeave,
  Claimed,
  Hold,
  Invited,
  Kept,
  Looked,
  MemosRead,
  MemoWritten,
  Released,
  ShownNext,
  ShownNodeless,
} from "../../lease/exchange.ts";

type Outcome =
  | Kept
  | Claimed
  | Released
  | Looked
  | MemoWritten
  | MemosRead
  | AskedToLeave
  | Invited
  | ShownNext
  | ShownNodeless;

export class NotConforming extends Error {
  override readonly name: string = "NotConforming";

  constructor(line: string, expected: string, actual: unknown) {
    super(`the contract says: ${line}\n  expected: ${expected}\n  actual:   ${show(actual)}`);
  }
}

/** `line` is the demand of the contract, in words. */
export function check(condition: boolean, line: string, expected: string, actual: unknown): asserts condition {
  if (!condition) throw new NotConforming(line, expected, actual);
}

export function checkEqual(actual: unknown, expected: unknown, line: string): void {
  check(show(actual) === show(expected), line, show(expected), actual);
}

export function checkKind<O extends Outcome, K extends O["kind"]>(
  outcome: O,
  kind: K,
  line: string,
): Extract<O, { kind: K }> {
  check(outcome.kind === kind, line, `an answer of kind "${kind}"`, outcome);
  return outcome as Extract<O, { kind: K }>;
}

/** Compares holds by name and bid, in any order. */
export function checkHolds(actual: readonly Hold[], expected: readonly Hold[], line: string): void {
  const keys = (holds: readonly Hold[]): readonly string[] => holds.map(({ name, bid }) => `${name} ${bid}`).toSorted();
  checkEqual(keys(actual), keys(expected), line);
}

/** Shows a value for people, and for comparing plain values. Long text is cut, with a sum that tells two texts apart. */
export function show(value: unknown): string {
  if (value === undefined) return "undefined";
  const text = JSON.stringify(value, (_key, part: unknown) =>
    typeof part === "bigint" ? `${part}n` : part instanceof Error ? String(part) : part,
  );
  return text.length > 2000 ? `${text.slice(0, 2000)}… (${text.length} characters, sum ${sumOf(text)})` : text;
}

/** Prevents two long texts that differ from looking alike. */
function sumOf(text: string): number {
  let sum = 0;
  for (let index = 0; index < text.length; index++) sum = (Math.imul(sum, 31) + text.charCodeAt(index)) | 0;
  return sum;
}
