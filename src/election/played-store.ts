// The store of a rehearsal (rehearsal.ts): it answers at once, from within the process, as a store does in which one candidate has led and now leaves. There is one candidate and one name.
import type { Claim, Claimed, Hint, Hold, Kept, Looked, Question, Released, Seat, Session } from "../lease/exchange.ts";
import type { SessionSpec, Version } from "../lease/exchange.ts";
import type { Guarantee } from "../lease/guarantee.ts";
import type { Store } from "../stores/contract.ts";

/** The token of the leader before; the one after it is granted. */
const TOKEN_BEFORE = 1n;
const LEADER_BEFORE = { candidate: "the leader before", token: TOKEN_BEFORE, domain: "rehearsal" };
/** The road by which every answer comes, for stores of whose keeps the next one proves the one before. */
const ROAD = "rehearsal";

export class PlayedStore implements Store {
  /** That of the candidate's own store, so that the same rules are played. */
  readonly guarantee: Guarantee;
  #hasLeft = false;

  constructor(guarantee: Guarantee) {
    this.guarantee = guarantee;
  }

  async keep(session: Session | SessionSpec): Promise<Kept> {
    return { kind: "kept", session: sessionOf(session), lost: [], unsure: [], strays: [], road: ROAD };
  }

  async claim(claims: readonly Claim[]): Promise<readonly Claimed[]> {
    return claims.map((claim) => this.#judge(claim));
  }

  async release(): Promise<Released> {
    return { kind: "released" };
  }

  async look(questions: readonly Question[]): Promise<Looked> {
    return { kind: "seen", seats: questions.map((question) => this.#seatOf(question)) };
  }

  /** The leader before leaves as soon as somebody watches. */
  async *watch(questions: readonly Question[]): AsyncIterable<Hint> {
    this.#hasLeft = true;
    for (const question of questions) yield { name: question.name, seat: this.#seatOf(question) };
  }

  async close(): Promise<void> {}

  #judge(claim: Claim): Claimed {
    const { name } = claim;
    if (this.#hasLeft) return { kind: "granted", hold: this.#holdOf(claim) };
    if (this.guarantee.shape === "line") return { kind: "waiting", hold: this.#holdOf(claim), ahead: 1 };
    return { kind: "beaten", seat: this.#seatOf({ name }) };
  }

  #holdOf({ name, bid }: Claim): Hold {
    if (this.guarantee.fencing === "unfenced") return { name, bid };
    return { name, bid, token: { domain: LEADER_BEFORE.domain, value: TOKEN_BEFORE + 1n, bid } };
  }

  #seatOf({ name, bid }: Question): Seat {
    const place = bid === undefined ? {} : { place: { present: true, ahead: this.#hasLeft ? 0 : 1 } };
    if (this.guarantee.shape === "race" && this.#hasLeft) return { name, version: "2" as Version, state: "vacant" };
    return { name, version: "1" as Version, state: "held", holder: LEADER_BEFORE, ttlMs: 60_000, ...place };
  }
}

/** A session of this spec, or the same session with its last beat. */
function sessionOf(asked: Session | SessionSpec): Session {
  const beat = "id" in asked ? asked.beats?.at(-1) : asked.beat;
  const { candidate, ttlMs } = asked;
  const session = { id: "id" in asked ? asked.id : asked.nonce, candidate, ttlMs };
  return beat === undefined ? session : { ...session, beats: [beat] };
}
