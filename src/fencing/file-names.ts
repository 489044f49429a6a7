// Names of the files of a fenced file, and how they sort. All of one resource stand in one folder and begin with its name:
//   NAME@ERA@era           which domain era ERA has; era 0 begins with the first token, each `adopt` begins the next
//   NAME@ERA@VALUE@claim   a token of that era, with its bid: at most one bid can claim a value
//   NAME@ERA@VALUE         what was written under that token, or taken over when it was raised
//   NAME@ERA@VALUE@none    nothing had been written when that token was raised
//   NAME@ERA@VALUE@tmp-…   a file that is being written, or was torn by a crash; never read
// A later era is greater; within an era a greater value is greater. Numbers are decimal, of any length.
import { ConclaveError } from "../base/errors.ts";
import { fileNameOf } from "./disk.ts";

/** Where something stands in the order of all terms of a resource. */
export interface TokenPosition {
  readonly era: bigint;
  readonly value: bigint;
}

export interface TokenFileName extends TokenPosition {
  readonly kind: "claim" | "content" | "none" | "temporary";
}

export type ParsedFileName = { readonly kind: "era"; readonly era: bigint } | TokenFileName;

export function compare(a: TokenPosition, b: TokenPosition): number {
  const difference = a.era === b.era ? a.value - b.value : a.era - b.era;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** The names of one resource. */
export class Names {
  readonly #prefix: string;

  constructor(name: string) {
    this.#prefix = `${fileNameOf(name)}@`;
    if (this.#prefix.length > 120)
      throw new ConclaveError(
        "CONFIG_INVALID",
        `fileFence: the name ${JSON.stringify(name)} is too long for a file's.`,
      );
  }

  era(era: bigint): string {
    return `${this.#prefix}${era}@era`;
  }

  claim(position: TokenPosition): string {
    return `${this.content(position)}@claim`;
  }

  content({ era, value }: TokenPosition): string {
    return `${this.#prefix}${era}@${value}`;
  }

  none(position: TokenPosition): string {
    return `${this.content(position)}@none`;
  }

  temporary(position: TokenPosition, attempt: number): string {
    return `${this.content(position)}@tmp-${process.pid}-${attempt}`;
  }

  /** `undefined` for a file of another program. Throws for a file that begins with our name and is not ours, because it might hide a token. */
  parse(file: string): ParsedFileName | undefined {
    if (!file.startsWith(this.#prefix)) return undefined;
    const match = FORM.exec(file.slice(this.#prefix.length));
    if (match === null) throw foreignFile(file, "is not a name that fileFence gives");
    const [, era = "", value, kind] = match;
    if (value === undefined) return { kind: "era", era: BigInt(era) };
    return { kind: kindOf(kind), era: BigInt(era), value: BigInt(value) };
  }
}

const FORM = /^(0|[1-9][0-9]{0,8})@(?:era|(0|[1-9][0-9]{0,38})(?:@(claim|none|tmp-[0-9]+-[0-9]+))?)$/;

function kindOf(suffix: string | undefined): TokenFileName["kind"] {
  if (suffix === undefined) return "content";
  return suffix === "claim" || suffix === "none" ? suffix : "temporary";
}

export function foreignFile(file: string, why: string, cause?: unknown): ConclaveError {
  const message = `fileFence: ${file} ${why}. Remove it if you know where it comes from. Nothing was written.`;
  return new ConclaveError("STORE_FOREIGN_DATA", message, { cause });
}
