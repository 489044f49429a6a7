// The same in NestJS, as a provider. Its decorators are left out here, and shown as comments.
// The candidate is injected, so this file knows nothing of the store. It must be a fenced one: that is what `Candidate` means by default.
import type { Candidate, Election } from "conclave";

declare function bill(options: { signal: AbortSignal }): Promise<void>;

export class BillingService /* implements OnApplicationBootstrap, BeforeApplicationShutdown */ {
  readonly #election: Election;

  constructor(candidate: Candidate) {
    this.#election = candidate.election("nightly-billing");
  }

  onApplicationBootstrap(): void {
    this.#election.start();
  }

  /** Resolves when the work has settled and the seat is given back. */
  beforeApplicationShutdown(): Promise<void> {
    return this.#election.close();
  }

  /* @Cron("0 3 * * *") */
  async nightly(): Promise<void> {
    const term = this.#election.term();
    if (term) await bill({ signal: term.signal });
  }
}
