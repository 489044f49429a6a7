// One election of the application, with everything that its decorators want of it: methods that run while it is led, and calls that run only then.
// All of it belongs to one term, so that the store is told only after the last of it has settled (law 8).
import type { Election } from "../election/face.ts";
import { nap } from "../election/nap.ts";
import type { UnfencedTerm } from "../election/term.ts";

export interface TermWork {
  readonly name: string;
  readonly run: (term: UnfencedTerm) => Promise<unknown>;
}

export interface StandingOptions {
  readonly election: Election<UnfencedTerm>;
  /** Methods to run in each term. */
  readonly works: readonly TermWork[];
  /** Whether it is led also while no method runs, for calls. */
  readonly isAsked: boolean;
  readonly log: { log(line: string): void; error(line: string, stack?: string): void };
}

const PAUSE_FIRST_MS = 1000;
const PAUSE_LAST_MS = 30_000;

export class Standing {
  readonly #options: StandingOptions;
  readonly #closing = new AbortController();
  #over: Promise<void> | undefined;

  constructor(options: StandingOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#options.works.length === 0) this.#options.election.start();
    else this.#over ??= this.#stand();
  }

  /** Resolves when all work has settled and the seat is given back. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#over;
    await this.#options.election.close();
  }

  async #stand(): Promise<void> {
    const { election, log } = this.#options;
    const { signal } = this.#closing;
    for (let pauseMs = PAUSE_FIRST_MS; !signal.aborted; pauseMs = Math.min(PAUSE_LAST_MS, 2 * pauseMs)) {
      try {
        await election.lead((term) => this.#serve(term), { signal });
        if (!signal.aborted) log.log(`"${election.name}": the work has ended; this process does not stand again`);
        return;
      } catch (error) {
        log.error(
          `"${election.name}": ${messageOf(error)}. This process stands again in ${pauseMs / 1000} s`,
          stackOf(error),
        );
        await nap(pauseMs, signal);
      }
    }
  }

  /** The work of one term. Settles when everything has settled; what failed first is thrown then. */
  async #serve(term: UnfencedTerm): Promise<void> {
    const { works, isAsked, election, log } = this.#options;
    const parts = works.map(async ({ name, run }) => {
      try {
        await run(term);
      } catch (error) {
        if (works.length > 1 || isAsked)
          log.error(`"${election.name}": ${name} failed: ${messageOf(error)}`, stackOf(error));
        throw error;
      }
    });
    // Calls belong to the term, which waits for them itself.
    if (isAsked) parts.push(term.ended.then(() => {}));
    const failed = (await Promise.allSettled(parts)).find((part) => part.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
}

function messageOf(error: unknown): string {
  const message = (error as { readonly message?: unknown } | undefined)?.message;
  return typeof message === "string" ? message : String(error);
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}
