// The guard's rule, pure: given what a resource remembers and the token of an operation, either what to remember from now on, or a refusal.
//
// A resource remembers (domain, value, bid) of the newest token it has met, and of each domain that it has left how far that domain had come.
//   older value, same domain             refused, TOKEN_STALE
//   equal value of another bid           refused, TOKEN_STALE: two terms carry one number, so the store has forgotten, and none can tell which is newer
//   another domain                       refused, TOKEN_FOREIGN: its values do not compare; until somebody who knows says `adopt`
//   a domain that was left               refused, TOKEN_FOREIGN, for ever, unless it is adopted again; then only greater values than it had
//   the newest token, or a greater one   admitted, and remembered
//
// THE ARGUMENT  What an adapter must do with this rule for a stale leader to be harmless (laws 10 and 12):
//   one step    An adapter calls `admit`, stores the result and counts the operation as begun in one step that no other operation of this resource
//               can come between. Then the tokens of admitted operations, in order of admission, never fall: `admit` returns a memory whose token
//               is at least the remembered one, and refuses everything below.
//   raise       An operation with a greater token begins only when none with an older one is in progress. Operations of different tokens then never
//               overlap, so all effects of an old leader come before the first read of the new one. Whoever reads before its token is installed may
//               read what an old operation changes afterwards: raise, then read, then write.
//   durable     What is remembered must outlive what it protects. A guard that forgets admits an old leader again.
// The rule does not ask whether the term is held. That is belief; this is about effects.
import { ConclaveError } from "../base/errors.ts";
import { adoptByCall, foreignToken, type HowToAdopt, leftDomain, sameNumber, staleToken } from "./refusals.ts";
import type { FencingToken } from "./token.ts";

/** How far a domain has come. */
export interface Mark {
  readonly value: bigint;
  /** None right after a domain was adopted again: whoever carried this value was of before, and is refused. */
  readonly bid: string | undefined;
}

/** What a resource remembers. */
export interface Remembered {
  readonly domain: string;
  /** None until the first token of a newly adopted domain. */
  readonly mark: Mark | undefined;
  /** Domain → the greatest value met there, before it was left; none if none was met. */
  readonly left: ReadonlyMap<string, bigint | undefined>;
}

export interface Move {
  readonly from: string;
  readonly to: string;
}

/** What `adopt` has done, or found done. */
export interface Adopted {
  /** False if it had been done before. */
  readonly changed: boolean;
  /** The domain that was left, and the greatest value met there; its tokens are refused. */
  readonly from: { readonly domain: string; readonly value: bigint | undefined };
  /** The present domain, and the greatest value met there; without one, its first token is yet to come. */
  readonly to: { readonly domain: string; readonly value: bigint | undefined };
}

/** What to remember once an operation with `token` is admitted: the same object if nothing is new. Throws a refusal. */
export function admit(
  resource: string,
  remembered: Remembered | undefined,
  token: FencingToken,
  howToAdopt: HowToAdopt = adoptByCall,
): Remembered {
  const { domain, value, bid } = token;
  if (remembered === undefined) return { domain, mark: { value, bid }, left: new Map() };
  if (domain !== remembered.domain)
    throw remembered.left.has(domain)
      ? leftDomain(resource, remembered.domain, token)
      : foreignToken(resource, remembered.domain, token, howToAdopt);
  const { mark } = remembered;
  if (mark !== undefined && value < mark.value) throw staleToken(resource, domain, mark, token);
  if (mark !== undefined && value === mark.value && bid !== mark.bid) throw sameNumber(resource, domain, mark, token);
  return mark !== undefined && value === mark.value ? remembered : { ...remembered, mark: { value, bid } };
}

/** What to remember after a deliberate move. Doing it twice is doing it once. */
export function moveDomain(resource: string, remembered: Remembered | undefined, move: Move): Remembered {
  const { from, to } = checkMove(resource, move);
  if (remembered === undefined)
    throw refusedMove(resource, `it has met no token yet; its first token will decide the domain`);
  if (remembered.domain === to && remembered.left.has(from)) return remembered;
  if (remembered.domain !== from)
    throw refusedMove(resource, `it knows tokens of ${remembered.domain}, not of ${from}`);
  const left = new Map(remembered.left).set(from, remembered.mark?.value);
  const floor = left.get(to);
  left.delete(to);
  return { domain: to, mark: floor === undefined ? undefined : { value: floor, bid: undefined }, left };
}

/** `remembered`: after the move. */
export function adopted(remembered: Remembered, { from, to }: Move, changed: boolean): Adopted {
  return {
    changed,
    from: { domain: from, value: remembered.left.get(from) },
    to: { domain: to, value: remembered.mark?.value },
  };
}

function checkMove(resource: string, move: Move): Move {
  const { from, to } = (move ?? {}) as Partial<Move>;
  if (typeof from !== "string" || typeof to !== "string")
    throw refusedMove(resource, `pass { from, to }, both domains as in token.domain`);
  if (from === to) throw refusedMove(resource, `from and to are both ${from}`);
  return { from, to };
}

function refusedMove(resource: string, why: string): ConclaveError {
  return new ConclaveError("CONFIG_INVALID", `adopt for "${resource}": ${why}. Nothing was changed.`);
}
