// What a store does with the beats that a request names (`Session.beats`), if it refuses clones. The argument stands in beats.ts. `standing` is the beat in the
// session's record; a record without one was last kept by a process that knows of no beats, and is kept and ended as ever.
import type { Session, SessionSpec } from "./exchange.ts";

type Named = Pick<Session, "beats">;

/** Whether an opening that finds the session's record is the one that has made it. */
export function isSameOpening({ beat }: SessionSpec, standing: string | undefined): boolean {
  return beat === undefined || standing === undefined || beat === standing;
}

/**
 * Whether a keep may renew the session: one of the beats before the one that it leaves must stand there. That one itself does not count, so that a second copy
 * which has drawn the same beat is refused too.
 */
export function mayKeep({ beats = [] }: Named, standing: string | undefined): boolean {
  return beats.length < 2 || standing === undefined || beats.lastIndexOf(standing, -2) >= 0;
}

/** Whether a will that ends the session may do so. */
export function mayEnd({ beats }: Named, standing: string | undefined): boolean {
  return beats === undefined || standing === undefined || beats.includes(standing);
}

/** The session as it is answered: with the beat that stands there now, if the request has left one. */
export function withBeat(session: Session, beat: string | undefined): Session {
  return beat === undefined ? session : { ...session, beats: [beat] };
}
