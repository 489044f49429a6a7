// A short digest of a bid: a session is named by its member's id, its token and this digest. Two bids under one token happen only after a store has forgotten; then the digest tells them apart, but for one
// chance in 2^32. It is pure, and the same everywhere: 32-bit FNV-1a over the UTF-16 units, in base 36.

export function digestOf(bid: string): string {
  let hash = 0x811c9dc5;
  for (let place = 0; place < bid.length; place++) hash = Math.imul(hash ^ bid.charCodeAt(place), 0x01000193);
  return (hash >>> 0).toString(36);
}
