// A beat (`Session.beats`) as the column of a session's row has it: a whole number. Files that were made before beats have that column, and processes from then write
// one more than what stands there; so such processes and new ones can meet in one file. 52 bits of the 128 are more than enough to tell two copies apart.
const DIGITS = 13;

export function numberOf(beat: string): number {
  const number = Number.parseInt(beat.replaceAll("-", "").slice(0, DIGITS), 16);
  if (!Number.isSafeInteger(number)) throw new TypeError(`a beat is a UUID, and this is none: ${JSON.stringify(beat)}`);
  return number;
}
