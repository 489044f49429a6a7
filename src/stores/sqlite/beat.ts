// A beat (`Session.beats`) as the column of a session's row stores it: a whole number. Files that were made before beats have that column too, and older processes write
// one more than its present value. So such processes and new ones can use one file together. 52 bits of the 128 are more than enough to tell two copies apart.
const DIGITS = 13;

export function numberOf(beat: string): number {
  const number = Number.parseInt(beat.replaceAll("-", "").slice(0, DIGITS), 16);
  if (!Number.isSafeInteger(number)) throw new TypeError(`a beat is a UUID, and this is none: ${JSON.stringify(beat)}`);
  return number;
}
