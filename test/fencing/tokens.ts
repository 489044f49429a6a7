// Terms and tokens for the tests of guards, and the order that a history of admitted tokens must have.
import fc from "fast-check";
import { type Fenced, type FencingToken, parseToken } from "conclave";

export const token = (value: bigint | number, bid = `b${value}`, domain = "etcd-1"): FencingToken =>
  parseToken(`${domain}:${value}:${bid}`);

export const by = (value: bigint | number, bid?: string, domain?: string): Fenced => ({
  token: token(value, bid, domain),
});

/** Few values, so that they meet; and some beyond 2⁵³ and 2⁶³. */
export const anyToken: fc.Arbitrary<FencingToken> = fc
  .record({
    value: fc.oneof(
      fc.bigInt(0n, 5n),
      fc.constantFrom(2n ** 53n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n, 10n ** 39n - 1n),
    ),
    bid: fc.constantFrom("x", "y"),
    domain: fc.constantFrom("etcd-1", "etcd-1", "etcd-1", "etcd-2"),
  })
  .map(({ value, bid, domain }) => token(value, bid, domain));

/** Why this order of admissions is wrong, or nothing. */
export function findDisorder(admitted: readonly FencingToken[]): string | undefined {
  let [newest] = admitted;
  for (const next of admitted) {
    if (newest === undefined) return undefined;
    if (next.domain !== newest.domain) return `another domain: ${next.domain} after ${newest.domain}`;
    if (next.value < newest.value) return `older: ${next.value} after ${newest.value}`;
    if (next.value === newest.value && next.bid !== newest.bid) return `one number, two bids: ${next.value}`;
    newest = next;
  }
  return undefined;
}

export const codeOf = async (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "admitted",
    (error: { readonly code?: string; readonly message: string }) => error.code ?? error.message,
  );

/** Lets everything that can go on go on. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
