// Many requests of one call: a few at a time. A candidate may stand for ten thousand names; if all it has to ask about them were sent at once, its next renewal
// would wait behind that at the server, and every term would expire. So only a few requests of a call are under way, and renewals find a free road.

const UNDER_WAY = 16;

/** As Promise.all over `work`, with a few under way. What has not begun when one fails is not begun. */
export async function inTurns<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  underWay: number = UNDER_WAY,
): Promise<readonly R[]> {
  if (items.length <= underWay) return await Promise.all(items.map(async (item) => await work(item)));
  const results: R[] = [];
  let next = 0;
  const takeTurns = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) results[index] = await work(items[index] as T);
  };
  const failed = (error: unknown): never => {
    next = items.length;
    throw error;
  };
  const hands = Array.from({ length: Math.min(underWay, items.length) }, () => takeTurns().catch(failed));
  await Promise.all(hands);
  return results;
}

/** Pieces of at most `size`. */
export function piecesOf<T>(all: readonly T[], size: number): readonly (readonly T[])[] {
  const pieces: (readonly T[])[] = [];
  for (let at = 0; at < all.length; at += size) pieces.push(all.slice(at, at + size));
  return pieces;
}
