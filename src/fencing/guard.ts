// What a guard does with the rule (rule.ts): `admit` gives what to remember from now on, or throws the refusal in words; `moveDomain` likewise for a
// deliberate move to another store, or a repair. The rule, and the argument why a guard that keeps to it makes a stale leader harmless, stand in rule.ts.
import { ConclaveError } from "../base/errors.ts";
import { show } from "../base/show.ts";
import { flawOf } from "../base/text.ts";
import { adoptByCall, foreignToken, type HowToAdopt, leftDomain, sameNumber, staleToken } from "./refusals.ts";
import {
  judge,
  leave,
  lower,
  type Lowering,
  type TokenMark,
  type Move,
  type Objection,
  type Remembered,
} from "./rule.ts";
import type { FencingToken } from "./token.ts";

export type { Lowering, TokenMark, Move, Remembered } from "./rule.ts";

/** What `adopt` has done, or found done. */
export interface Adopted {
  /** False if it had been done before. */
  readonly changed: boolean;
  /** The domain that was left, and the greatest value met there; its tokens are refused. After a repair this is the value that was taken back. */
  readonly from: { readonly domain: string; readonly value: bigint | undefined };
  /** The present domain, and the greatest value met there; undefined if its first token is yet to come. */
  readonly to: { readonly domain: string; readonly value: bigint | undefined };
}

/** What to remember once an operation with `token` is admitted: the same object if nothing is new. Throws a refusal. */
export function admit(
  resource: string,
  remembered: Remembered | undefined,
  token: FencingToken,
  howToAdopt: HowToAdopt = adoptByCall,
): Remembered {
  const judged = judge(remembered, token);
  if (typeof judged === "string") throw inWords(judged, resource, remembered as Remembered, token, howToAdopt);
  return judged;
}

/** Nothing is refused if nothing is remembered, and no token is stale or equal if there is no mark. */
function inWords(
  objection: Objection,
  resource: string,
  { domain, mark }: Remembered,
  token: FencingToken,
  howToAdopt: HowToAdopt,
): ConclaveError {
  switch (objection) {
    case "left":
      return leftDomain(resource, domain, token);
    case "foreign":
      return foreignToken(resource, domain, token, howToAdopt);
    case "stale":
      return staleToken(resource, domain, mark as TokenMark, token);
    case "equal":
      return sameNumber(resource, domain, mark as TokenMark, token);
  }
}

/** What to remember after a deliberate move, or a repair. Doing it twice has the same result as doing it once. */
export function moveDomain(resource: string, remembered: Remembered | undefined, move: Move | Lowering): Remembered {
  const checked = isLowering(move) ? checkLowering(resource, move) : checkMove(resource, move);
  if (remembered === undefined)
    throw refusedMove(resource, `it has met no token yet; its first token will decide the domain`);
  if (isLowering(checked)) return lowered(resource, remembered, checked);
  const moved = leave(remembered, checked);
  if (moved === "elsewhere")
    throw refusedMove(resource, `it knows tokens of ${remembered.domain}, not of ${checked.from}`);
  return moved;
}

function lowered(resource: string, remembered: Remembered, lowering: Lowering): Remembered {
  const after = lower(remembered, lowering);
  if (after !== "elsewhere") return after;
  const { domain, mark } = remembered;
  const known = mark === undefined ? `no token of ${domain}` : `token ${mark.value} of ${domain}`;
  throw refusedMove(resource, `it knows ${known}, not ${lowering.from} of ${lowering.domain}`);
}

/** `remembered`: after the move. */
export function adopted(remembered: Remembered, move: Move | Lowering, changed: boolean): Adopted {
  if (isLowering(move))
    return {
      changed,
      from: { domain: move.domain, value: move.from },
      to: { domain: move.domain, value: remembered.mark?.value },
    };
  const { from, to } = move;
  return {
    changed,
    from: { domain: from, value: remembered.left.get(from) },
    to: { domain: to, value: remembered.mark?.value },
  };
}

export function isLowering(move: Move | Lowering): move is Lowering {
  return typeof (move as Partial<Lowering> | undefined)?.domain === "string";
}

function checkLowering(resource: string, lowering: Lowering): Lowering {
  const { domain, from, to } = lowering;
  if (typeof from !== "bigint" || typeof to !== "bigint")
    throw refusedMove(resource, `pass { domain, from, to }, both values as bigint`);
  if (to < 0n || to >= from) throw refusedMove(resource, `${to} is not below ${from}`);
  mustBeDomain(resource, domain);
  return { domain, from, to };
}

function checkMove(resource: string, move: Move): Move {
  const { from, to } = (move ?? {}) as Partial<Move>;
  if (typeof from !== "string" || typeof to !== "string")
    throw refusedMove(resource, `pass { from, to }, both domains as in token.domain`);
  mustBeDomain(resource, from);
  mustBeDomain(resource, to);
  if (from === to) throw refusedMove(resource, `from and to are both ${from}`);
  return { from, to };
}

/** A text that no token can have as its domain must not be remembered: a guard that cannot write it as it is may write that of another domain in its place, and two domains would be one. */
function mustBeDomain(resource: string, domain: string): void {
  const flaw = domain === "" ? "it is empty" : flawOf(domain);
  if (flaw !== undefined) throw refusedMove(resource, `${show(domain)} is not a domain: ${flaw}`);
}

function refusedMove(resource: string, why: string): ConclaveError {
  return new ConclaveError("CONFIG_INVALID", `adopt for "${resource}": ${why}. Nothing was changed.`);
}
