// What a drill and its candidates say to each other, a line each: JSON from the candidates on stdout, words to them on stdin. The first line to a candidate
// is its options: a URL may carry a password, which must not be seen among the arguments of a process.
//
//   resign      give the term up, and stand back
//   stand       stand again
//   compose     check the term, take some time over a write, and send it without checking again
//   report      say how much was written
//
// Stamps are on the clock that all processes of a host share.

export interface DrillCandidateOptions {
  readonly id: string;
  readonly url: string;
  readonly election: string;
  readonly ttlMs: number;
  readonly unfenced: boolean;
  /** Where it notes its terms for the judge (src/testing/judge.ts). */
  readonly log: string;
  /** How long it takes over a write when told to compose one. */
  readonly composeMs: number;
}

export type DrillMessage =
  /** It has a session, and knows who leads. */
  | { readonly at: number; readonly event: "waiting" }
  | { readonly at: number; readonly event: "elected"; readonly token: string }
  | { readonly at: number; readonly event: "resigning"; readonly token: string }
  | { readonly at: number; readonly event: "lost"; readonly token: string; readonly reason: string }
  | { readonly at: number; readonly event: "composing"; readonly token: string }
  | { readonly at: number; readonly event: "written"; readonly writes: number; readonly lastToken: string }
  | { readonly at: number; readonly event: "trouble"; readonly code: string; readonly message: string }
  | Write;

/** A write to the resource. `at` was read before the term said that it was held; for a composed write the term was not asked again. */
export interface Write {
  readonly at: number;
  readonly event: "write";
  /** Counts the writes of this process from 1. */
  readonly number: number;
  readonly token: string;
  /** domain:value:bid; empty if the store has no tokens. */
  readonly fence: string;
  readonly composed: boolean;
}

export function nowMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
