// The greatest token seen at a name, for each domain: values of different domains do not compare (law 10). A store that was replaced, or whose domain was
// changed on purpose, counts anew, and tokens of the old one must not keep anybody from leading.
//
// What this is for: a grant whose token is not greater than one seen before shows that the store has forgotten. It is given back, never announced. No
// exclusion rests on it, so that a domain may be forgotten here: only the last few are remembered.
import type { Token } from "./exchange.ts";

export type Greatest = Pick<Token, "domain" | "value">;

/** A store moves seldom. */
const DOMAINS_MAX = 4;

/** The list with this token added; the domain seen last is the first. */
export function noted(seen: readonly Greatest[], { domain, value }: Greatest): readonly Greatest[] {
  const known = greatestIn(seen, domain);
  if (known !== undefined && known >= value && seen[0]?.domain === domain) return seen;
  const others = seen.filter((each) => each.domain !== domain);
  const greatest = known !== undefined && known > value ? known : value;
  return [{ domain, value: greatest }, ...others].slice(0, DOMAINS_MAX);
}

export function greatestIn(seen: readonly Greatest[], domain: string): bigint | undefined {
  return seen.find((each) => each.domain === domain)?.value;
}
