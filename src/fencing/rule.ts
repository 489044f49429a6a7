// The guard's rule, pure: given what a resource remembers and the token of an operation, either what to remember from now on, or why it is refused.
// Every guard that ships decides by this file (guard.ts puts the refusals into words), and so does the resource of the simulator: the hunt tests the code that
// ships.
//
// A resource remembers (domain, value, bid) of the newest token it has met, and of each domain that it has left how far that domain had come.
//   older value, same domain             refused, `stale`
//   equal value of another bid           refused, `equal`: two terms carry one number, so the store has forgotten, and none can tell which is newer
//   another domain                       refused, `foreign`: its values do not compare, until an operator calls `adopt`
//   a domain that was left               refused, `left`, for ever, unless it is adopted again; then only greater values than it had
//   the newest token, or a greater one   admitted, and remembered
//
// THE ARGUMENT  What an adapter must do with this rule for a stale leader to be harmless (law 10: tokens grow; law 12: raise, then read, then write):
//   one step    An adapter calls `judge`, stores the result and counts the operation as begun in one step that no other operation of this resource
//               can come between. Then the tokens of admitted operations, in order of admission, never fall: `judge` returns a memory whose token
//               is at least the remembered one, and refuses everything below.
//   raise       An operation with a greater token begins only when none with an older one is in progress. Operations of different tokens then never
//               overlap, so all effects of an old leader come before the first read of the new one. A leader that reads before its token is installed
//               may read what an old operation changes afterwards: raise, then read, then write.
//   durable     What is remembered must outlive what it protects. A guard that forgets admits an old leader again.
// The rule does not ask whether the term is held. That is about belief; this file is about effects.

/** What the rule reads of a token. */
export interface Numbered {
  readonly domain: string;
  readonly value: bigint;
  readonly bid: string;
}

/** How far a domain has come. */
export interface TokenMark {
  readonly value: bigint;
  /** Undefined right after a domain was adopted again: every term that carried this value came before, and is refused. */
  readonly bid: string | undefined;
}

/** What a resource remembers. */
export interface Remembered {
  readonly domain: string;
  /** Undefined until the first token of a newly adopted domain comes. */
  readonly mark: TokenMark | undefined;
  /** Domain → the greatest value met there, before it was left; undefined if none was met. */
  readonly left: ReadonlyMap<string, bigint | undefined>;
}

/** Why the rule does not admit an operation. */
export type Objection = "stale" | "equal" | "foreign" | "left";

/** A move of the store on purpose: from which token domain to which. */
export interface Move {
  readonly from: string;
  readonly to: string;
}

/**
 * A repair: the resource has met a value that no store has granted, and refuses everything since. `from`: the value that it remembers; `to`: the greatest that it
 * shall remember instead. Tokens above `to` are admitted again, so no leader older than that may be left.
 */
export interface Lowering {
  readonly domain: string;
  readonly from: bigint;
  readonly to: bigint;
}

const NO_DOMAIN: ReadonlyMap<string, bigint | undefined> = new Map();

/** What to remember once an operation with `token` is admitted: the same object if nothing is new. A word means that it is refused. */
export function judge(remembered: Remembered | undefined, token: Numbered): Remembered | Objection {
  const { domain, value, bid } = token;
  if (remembered === undefined) return { domain, mark: { value, bid }, left: NO_DOMAIN };
  const { mark, left } = remembered;
  if (domain !== remembered.domain) return left.has(domain) ? "left" : "foreign";
  if (mark !== undefined && value < mark.value) return "stale";
  if (mark !== undefined && value === mark.value && bid !== mark.bid) return "equal";
  return mark?.value === value ? remembered : { domain, mark: { value, bid }, left };
}

/** What to remember after a deliberate move: the same object if it was done before. `elsewhere`: the resource does not know `from`. */
export function leave(remembered: Remembered, { from, to }: Move): Remembered | "elsewhere" {
  if (remembered.domain === to && remembered.left.has(from)) return remembered;
  if (remembered.domain !== from) return "elsewhere";
  const left = new Map(remembered.left).set(from, remembered.mark?.value);
  const floor = left.get(to);
  left.delete(to);
  return { domain: to, mark: floor === undefined ? undefined : { value: floor, bid: undefined }, left };
}

/**
 * What to remember after a repair: the same object if it was done before. `elsewhere`: the resource remembers another domain, or a value beyond `from`. It swaps over exactly
 * the value that it names, so that a repeated repair takes back no token that was admitted since.
 */
export function lower(remembered: Remembered, { domain, from, to }: Lowering): Remembered | "elsewhere" {
  const { mark, left } = remembered;
  if (remembered.domain !== domain || mark === undefined || mark.value > from) return "elsewhere";
  return mark.value < from ? remembered : { domain, mark: { value: to, bid: undefined }, left };
}
