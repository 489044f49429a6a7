// A term for unit tests: held until `lose()`; no store, no timers, no deadline. For code that is given a term and must stop when it is lost.
import { invalidConfig, type LossReason, TermLostError } from "../base/errors.ts";
import { show } from "../base/show.ts";
import { banKey, banValue } from "../election/bans.ts";
import { checkKey, checkUnreserved } from "../election/memo.ts";
import type { TransferAnswer } from "../election/face.ts";
import type { Term } from "../election/term.ts";
import { type FencingToken, makeToken } from "../fencing/token.ts";
import type { TermState } from "../lease/events.ts";

/** Options of `fakeTerm`. */
export interface FakeTermOptions {
  /** @default 1n */
  readonly token?: bigint | undefined;
  /** @default "fake" */
  readonly election?: string | undefined;
}

/** A term that the test controls. */
export interface FakeTerm extends Term {
  /** The values that were written with `memo`, by key. */
  readonly memos: ReadonlyMap<string, string>;
  /** The term is over from now on. Only the first call counts. */
  lose(reason?: LossReason): void;
}

/** The remaining time that a fake term reports while it is held: the default ttl, which every timer accepts. */
const REMAINING_MS = 15_000;

/** Makes a term that the test controls, for code that is given one. */
export function fakeTerm(options?: FakeTermOptions): FakeTerm {
  const { token = 1n, election = "fake" } = options ?? {};
  return new HeldUntilLost(election, fakeToken(token));
}

/** Equal values make equal tokens; the domain is "fake". */
export function fakeToken(value: bigint): FencingToken {
  if (typeof value !== "bigint") throw invalidConfig("fakeToken", [`${show(value)} is not a bigint: write 1n`]);
  return makeToken({ domain: "fake", value, bid: `fake.${value}` });
}

class HeldUntilLost implements FakeTerm {
  readonly election: string;
  readonly candidate = "fake";
  readonly token: FencingToken;
  readonly ended: Promise<LossReason>;
  readonly memos: Map<string, string> = new Map();
  readonly #controller = new AbortController();

  constructor(election: string, token: FencingToken) {
    this.election = election;
    this.token = token;
    const { signal } = this.#controller;
    this.ended = new Promise((resolve) => {
      signal.addEventListener("abort", () => resolve((signal.reason as TermLostError).reason), { once: true });
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  lose(reason: LossReason = "expired"): void {
    if (this.isHeld()) this.#controller.abort(new TermLostError(this.election, reason));
  }

  isLeading(): boolean {
    return this.isHeld();
  }

  isHeld(): boolean {
    return !this.signal.aborted;
  }

  throwIfNotLeading(): void {
    this.signal.throwIfAborted();
  }

  state(): TermState {
    return this.isHeld() ? "safe" : "lost";
  }

  remainingMs(): number {
    return this.isHeld() ? REMAINING_MS : 0;
  }

  async renew(): Promise<void> {
    this.throwIfNotLeading();
  }

  async announce(): Promise<void> {
    this.throwIfNotLeading();
  }

  async memo(key: string, value: string): Promise<void> {
    checkKey(key, "fakeTerm");
    checkUnreserved(key, "fakeTerm");
    await this.anyMemo(key, value);
  }

  /** Works as in a real term: for reserved keys. */
  async anyMemo(key: string, value: string): Promise<void> {
    checkKey(key, "fakeTerm");
    this.throwIfNotLeading();
    this.memos.set(key, value);
  }

  async ban(node: string, why: string): Promise<void> {
    await this.anyMemo(banKey(node), banValue(why, true));
  }

  async lift(node: string): Promise<void> {
    await this.anyMemo(banKey(node), banValue("", false));
  }

  /** No other node has a session here. */
  async endSessionsOf(): Promise<void> {
    this.throwIfNotLeading();
  }

  /** Every candidate is there, and answers at once. */
  async transfer(): Promise<TransferAnswer> {
    this.throwIfNotLeading();
    this.lose("asked");
    return { accepted: true };
  }

  async resign(): Promise<void> {
    this.lose("resigned");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.resign();
  }
}
