// A term as the user holds it: a thin view on the machine's books, by the clock. The abort signal and the promises are made only when they are asked for, because
// ten thousand held terms must stay cheap.
import { ConclaveError, invalidConfig, type LossReason, TermLostError } from "../base/errors.ts";
import { show } from "../base/show.ts";
import { flawOf } from "../base/text.ts";
import { type FencingToken, makeToken } from "../fencing/token.ts";
import type { TermState } from "../lease/events.ts";
import type { BanChange, Bid, Token } from "../lease/exchange.ts";
import { banKey, banValue, checkBan } from "./bans.ts";
import { checkKey, checkUnreserved, checkValue } from "./memo.ts";
import type { Runner } from "./runner.ts";
import type { TransferAnswer, TransferOptions } from "./face.ts";
import type { UnfencedTerm } from "./term.ts";
import { checkTarget, transferTerm, withinOf } from "./transfer.ts";

export class HeldTerm implements UnfencedTerm {
  readonly election: string;
  readonly candidate: string;
  /** This is set only where the store fences: an unfenced term has no such property. */
  declare readonly token?: FencingToken;
  readonly #runner: Runner;
  readonly #bid: Bid;
  readonly #giveUp: () => Promise<void>;
  /** The nodes that this term has banned, and why, until it lifts the ban. */
  #banned: Map<string, string> | undefined;
  #controller: AbortController | undefined;
  #ended: Promise<LossReason> | undefined;
  #tellEnded: ((reason: LossReason) => void) | undefined;
  #reason: LossReason | undefined;

  constructor(
    runner: Runner,
    election: string,
    candidate: string,
    bid: Bid,
    token: Token | undefined,
    giveUp: () => Promise<void>,
  ) {
    this.#runner = runner;
    this.election = election;
    this.candidate = candidate;
    this.#bid = bid;
    this.#giveUp = giveUp;
    if (token !== undefined) this.token = makeToken(token);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      this.isHeld();
      if (this.#reason !== undefined) this.#controller.abort(new TermLostError(this.election, this.#reason));
    }
    return this.#controller.signal;
  }

  get ended(): Promise<LossReason> {
    this.#ended ??=
      this.#reason === undefined
        ? new Promise((resolve) => (this.#tellEnded = resolve))
        : Promise.resolve(this.#reason);
    return this.#ended;
  }

  /** The reason of the abort, once there is one. */
  get reason(): LossReason | undefined {
    return this.#reason;
  }

  isHeld(): boolean {
    const held = this.#runner.isHeld(this.election, this.#bid);
    if (!held) this.#foundLost();
    return held;
  }

  isLeading(): boolean {
    const state = this.state();
    if (state === "lost") this.#foundLost();
    return this.#reason === undefined && state !== "ending";
  }

  /** `isHeld()` is computed, not remembered (law 3): the signal aborts here even if the runner has not come to it yet. */
  #foundLost(): void {
    this.abort(this.#runner.lossOf(this.election, this.#bid));
  }

  throwIfNotLeading(): void {
    if (!this.isLeading()) throw new TermLostError(this.election, this.#reason ?? "expired");
  }

  state(): TermState {
    return this.#runner.state(this.election, this.#bid);
  }

  remainingMs(): number {
    return this.#runner.remainingMs(this.election, this.#bid);
  }

  async renew(): Promise<void> {
    this.throwIfNotLeading();
    await this.#runner.renew(this.election, this.#bid);
    this.throwIfNotLeading();
  }

  async announce(value: string): Promise<void> {
    const flaw = typeof value === "string" ? flawOf(value) : "it is no text";
    if (flaw !== undefined) {
      const message = `"${this.election}": ${show(value)} cannot be announced: ${flaw}`;
      throw new ConclaveError("CONFIG_INVALID", message);
    }
    this.throwIfNotLeading();
    await this.#runner.announce(this.election, value);
    this.throwIfNotLeading();
  }

  async memo(key: string, value: string): Promise<void> {
    const call = `"${this.election}": term.memo`;
    checkKey(key, call);
    checkUnreserved(key, call);
    await this.anyMemo(key, value);
  }

  /** This is not on the type of a term: it is for reserved keys (memo.ts). It works while the term is ending too, because noting what was done is a part of stopping. */
  async anyMemo(key: string, value: string): Promise<void> {
    checkValue(this.#runner.store, value, `"${this.election}": term.memo`);
    if (!this.isHeld()) throw new TermLostError(this.election, this.#reason ?? "expired");
    await this.#runner.memo(this.election, this.#bid, key, value);
  }

  async ban(node: string, why: string): Promise<void> {
    await this.#changeBan("ban", node, why);
    this.#banned = (this.#banned ?? new Map<string, string>()).set(node, why);
  }

  async lift(node: string): Promise<void> {
    // This is forgotten before the request is sent: from then on nobody knows whether the ban is in force.
    this.#banned?.delete(node);
    await this.#changeBan("lift", node, "");
  }

  async endSessionsOf(node: string): Promise<void> {
    const why = this.#banned?.get(node);
    if (why === undefined) {
      const problem = `${show(node)} is not banned by this very term: whether its machine was off since then is not known`;
      throw invalidConfig(`"${this.election}": term.endSessionsOf`, [problem]);
    }
    await this.#changeBan("endSessionsOf", node, why);
  }

  async #changeBan(method: "ban" | "lift" | "endSessionsOf", node: string, why: string): Promise<void> {
    const call = `"${this.election}": term.${method}`;
    const stands = method !== "lift";
    checkBan(this.#runner.store, node, why, call);
    if (stands && node === this.#runner.node)
      throw invalidConfig(call, [`${show(node)} is the node of this very term`]);
    const key = banKey(node);
    checkKey(key, call);
    if (!this.isHeld()) throw new TermLostError(this.election, this.#reason ?? "expired");
    const change: BanChange = method === "endSessionsOf" ? { node, stands, endsSessions: true } : { node, stands };
    await this.#runner.memo(this.election, this.#bid, key, banValue(why, stands), change);
  }

  async transfer(to: string, options?: TransferOptions): Promise<TransferAnswer> {
    const call = `"${this.election}": term.transfer`;
    checkTarget(to, call);
    const withinMs = withinOf(options, call, ["withinMs"]);
    this.throwIfNotLeading();
    const clock = { timer: this.#runner.timer.bind(this.#runner) };
    return await transferTerm(this, { store: this.#runner.store, clock }, to, withinMs, () => this.resign());
  }

  resign(): Promise<void> {
    return this.#giveUp();
  }

  /** The fields that a log or a status page may show, as of now. */
  toJSON(): object {
    const { election, candidate, token } = this;
    return { election, candidate, token, state: this.state(), remainingMs: Math.round(this.remainingMs()) };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.resign();
  }

  /** The machine says that the term is ending, or lost. The first reason stays. */
  abort(reason: LossReason): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(new TermLostError(this.election, reason));
    this.#tellEnded?.(reason);
  }
}
