// The identity of this process. It is drawn at the first claim rather than at import: a snapshot of a process that has only loaded the package may be
// started many times, and each copy must draw its own.
let drawn: string | undefined;
let candidates = 0;

/** A name for one candidate of this process, unique for ever: 64 random bits and a counter. */
export function nextCandidateNonce(): string {
  drawn ??= Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join(
    "",
  );
  candidates += 1;
  return `${drawn}-${candidates}`;
}

export function randomSeed(): number {
  const [low = 0, high = 0] = crypto.getRandomValues(new Uint32Array(2));
  return low + (high & 0x1f_ffff) * 0x1_0000_0000;
}
