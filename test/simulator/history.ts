// Forged histories: what an invariant would see, written by hand, with the answers to its questions in the test's hands.
import type { Reading } from "../../src/base/clock.ts";
import type { Bid, Session, Token } from "conclave/stores/contract";
import type { Request } from "../../src/lease/state.ts";
import type {
  Judgement,
  ObservationListener,
  Observation,
  Promises,
  Who,
} from "../../src/simulator/lease/observation.ts";

export const ANN: Who = { number: 0, slot: 0, life: 1, label: "ann" };
export const BOB: Who = { number: 1, slot: 1, life: 1, label: "bob" };
export const ELECTION = "billing";

export const PROMISES: Promises = {
  shape: "race",
  keep: "one-request",
  keepProves: "this-send",
  takesTurns: false,
  proofWithinMs: Infinity,
  extraMarginMs: 0,
  rho: 0.005,
  ttlMaxMs: 1000,
  candidates: [
    { ttlMs: 10_000, drainMs: 100, monoGrainMs: 5, bootGrainMs: 5 },
    { ttlMs: 10_000, drainMs: 100, monoGrainMs: 5, bootGrainMs: 5 },
  ],
};

export const session: Session = { id: "s", candidate: "ann", ttlMs: 1000 };

export const tokenOf = (value: number, bid: string): Token => ({
  domain: "test",
  value: BigInt(value),
  bid: bid as Bid,
});

export const at = (ms: number): Reading => ({ mono: ms, boot: ms });

export class History {
  readonly findings: string[] = [];
  /** `ann billing b1` for every term that is held just now. */
  readonly held = new Set<string>();
  readonly standing = new Set<string>();
  readonly #listeners: ObservationListener[] = [];

  judgement(promises: Partial<Promises> = {}): Judgement {
    return {
      promises: { ...PROMISES, ...promises },
      probes: {
        isHeld: (who, election, bid) => this.held.has(`${who.label} ${election} ${bid}`),
        stands: (_election, bid) => this.standing.has(bid),
      },
      violate: (invariant, story) => void this.findings.push(`${invariant}: ${story}`),
    };
  }

  judgedBy(...listeners: ObservationListener[]): this {
    this.#listeners.push(...listeners);
    return this;
  }

  tell(...observations: Observation[]): this {
    for (const observation of observations)
      for (const { hears } of this.#listeners)
        (hears[observation.type] as ((heard: Observation) => void) | undefined)?.(observation);
    return this;
  }

  elected(who: Who, token: Token, atMs = 0): this {
    this.held.add(`${who.label} ${ELECTION} ${token.bid}`);
    return this.tell({ type: "elected", atMs, who, election: ELECTION, token, now: at(atMs) }).stepped(who, atMs);
  }

  granted(token: Token, atMs = 0): this {
    return this.tell({ type: "granted", atMs, election: ELECTION, token });
  }

  stepped(who: Who, atMs: number, wakeAt = atMs): this {
    return this.tell({ type: "stepped", atMs, who, now: at(atMs), wakeAt });
  }

  sent(who: Who, errand: number, request: Request, atMs: number): this {
    return this.tell({ type: "sent", atMs, who, errand, request, now: at(atMs) });
  }

  over(who: Who, token: Token): this {
    this.held.delete(`${who.label} ${ELECTION} ${token.bid}`);
    return this;
  }

  /** Opens a session at 0 and wins `token` with it, as far as requests and answers tell. */
  won(who: Who, token: Token): this {
    const { bid } = token;
    const spec = { nonce: "s", candidate: "ann", ttlMs: 1000 };
    const claims = [{ session, name: ELECTION, bid, value: "" }];
    const kept = { kind: "kept", session, lost: [], unsure: [], strays: [] } as const;
    const hold = { name: ELECTION, bid, token };
    return this.sent(who, 1, { method: "keep", session: spec, holds: [] }, 0)
      .tell({ type: "answer", atMs: 1, who, errand: 1, answer: kept, now: at(1) })
      .stepped(who, 1)
      .sent(who, 2, { method: "claim", claims }, 2)
      .tell({
        type: "answer",
        atMs: 3,
        who,
        errand: 2,
        answer: { kind: "claimed", claimed: [{ kind: "granted", hold }] },
        now: at(3),
      });
  }
}
