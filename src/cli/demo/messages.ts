// What the demo and its candidates say to each other, a line each: JSON from the candidates on stdout, plain words to them on stdin.
//
//   compose      check the term, then take some time over an entry, and write it without checking again
//   mind PID     that process is about to be stopped: if stdin ends, let it go on, so that it notices too; 0: nobody
//
// Stamps are on the clock that all processes of a host share.

export interface DemoCandidateOptions {
  readonly who: string;
  readonly store: string;
  readonly ledger: string;
  /** Where it notes its terms for the judge (src/testing/judge.ts). */
  readonly log: string;
  readonly ttlMs: number;
  /** How long it takes over an entry when told to compose one. */
  readonly composeMs: number;
}

export type DemoMessage =
  | { readonly at: number; readonly event: "ready" }
  | { readonly at: number; readonly event: "elected"; readonly token: string }
  /** The ledger has taken an entry. */
  | { readonly at: number; readonly event: "wrote"; readonly token: string; readonly composed: boolean }
  /** The ledger has refused one, because it knows a newer token. */
  | {
      readonly at: number;
      readonly event: "refused";
      readonly token: string;
      readonly newest: string;
      readonly composed: boolean;
    }
  | { readonly at: number; readonly event: "composing"; readonly token: string }
  | { readonly at: number; readonly event: "lost"; readonly token: string; readonly reason: string }
  | { readonly at: number; readonly event: "trouble"; readonly message: string };

/** CLOCK_MONOTONIC, the same in every process of this host. */
export function nowMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
