// The six methods of the contract over a port that can read, swap and list. A driver for a store without transactions is a port, a guarantee and this.
// A call of several names works on them side by side; each name has an answer of its own.
import type { Guarantee } from "../../lease/guarantee.ts";
import type {
  Call,
  Claim,
  Claimed,
  FencedStore,
  Hint,
  Hold,
  Kept,
  Looked,
  Question,
  Released,
  Session,
  SessionSpec,
  Will,
} from "../contract.ts";
import { Mailboxes } from "../mailbox.ts";
import { orHalt } from "./halt.ts";
import type { SwapPort } from "./port.ts";
import { SwapShelf } from "./shelf.ts";

export class SwapStore implements FencedStore {
  readonly guarantee: Guarantee<"fenced">;
  readonly #port: SwapPort;
  readonly #shelf: SwapShelf;
  readonly #mailboxes = new Mailboxes();

  constructor(port: SwapPort, guarantee: Guarantee<"fenced">) {
    const { minMs, maxMs, stepMs } = guarantee.ttl;
    const grant = (askedMs: number): number => Math.min(maxMs, Math.max(minMs, Math.ceil(askedMs / stepMs) * stepMs));
    this.guarantee = guarantee;
    this.#port = port;
    this.#shelf = new SwapShelf(port, { domain: guarantee.token.domain, grant });
  }

  keep(session: Session | SessionSpec, holds: readonly Hold[], call: Call): Promise<Kept> {
    return orHalt(() =>
      "nonce" in session ? this.#shelf.open(session, call) : this.#shelf.keep(session, holds, call),
    );
  }

  claim(claims: readonly Claim[], call: Call): Promise<readonly Claimed[]> {
    return Promise.all(claims.map((claim) => orHalt(() => this.#shelf.claim(claim, call))));
  }

  release(will: Will, call: Call): Promise<Released> {
    return orHalt(async () => {
      await this.#shelf.release(will, call);
      return { kind: "released" };
    });
  }

  look(questions: readonly Question[], call: Call): Promise<Looked> {
    return orHalt(async () => {
      const names = questions.map(({ name }) => name);
      return { kind: "seen", seats: await this.#shelf.look(names, call) };
    });
  }

  /** Says nothing until its signal aborts: the guarantee of such a store says that waiters look from time to time. */
  watch(_questions: readonly Question[], call: Call): AsyncIterable<Hint> {
    return this.#mailboxes.watch(call.signal, () => () => {});
  }

  async close(): Promise<void> {
    this.#mailboxes.endAll();
    await this.#port.close();
  }
}
