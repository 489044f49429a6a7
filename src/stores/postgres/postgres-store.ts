// The six methods of the contract, each as one call of one function of the database (functions.ts): one message, one transaction. Nothing is remembered
// between calls.
//
// Two timeouts. The caller's: when its signal aborts we stop waiting, and the outcome is unknown. The server's: each function is told how long anybody waits
// for it (functions.ts), so that one that waits for a lock, or was left alone by a client that is gone, takes itself back instead of being applied much later.
import { type Refused, unknown, type Unknown } from "../../base/outcome.ts";
import { sqlLiteral } from "../../base/sql-literal.ts";
import type { Guarantee } from "../../lease/guarantee.ts";
import type { Call, FencedStore } from "../contract.ts";
import type {
  Claim,
  Claimed,
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
import { markOf } from "../mark.ts";
import { Mailboxes } from "../mailbox.ts";
import { type Answer, readAudit, readSeat, readSeats, readSession, readText, readToken } from "./answers.ts";
import type { Database } from "./database.ts";
import { TTL_MAX_MS, TTL_MIN_MS } from "./guarantee.ts";
import { edited, insideTransaction, otherLayout, outcomeOf, type Whereabouts } from "./refusals.ts";
import { LAYOUT } from "./schema.ts";
import { Watcher } from "./watcher.ts";

export interface StoreParts {
  readonly database: Database;
  readonly where: Whereabouts;
  readonly guarantee: Guarantee<"fenced">;
}

/** A caller gives up after a quarter of its ttl; what still runs after a half is of no use to it. */
const SHARE_OF_TTL = 1 / 2;
const SHORTEST_MS = 100;
const LONGEST_MS = 10_000;
/** How much later the client gives up the connection on which nothing came back. */
const LAST_PATIENCE_MS = 1_000;

export class PostgresStore implements FencedStore {
  readonly guarantee: Guarantee<"fenced">;
  readonly #database: Database;
  readonly #where: Whereabouts;
  readonly #byClock: boolean;
  readonly #watcher: Watcher;
  readonly #mailboxes = new Mailboxes();

  constructor({ database, where, guarantee }: StoreParts) {
    this.guarantee = guarantee;
    this.#database = database;
    this.#where = where;
    this.#byClock = guarantee.judge === "store-wall";
    this.#watcher = new Watcher({ database, channel: where.schema, look: (names) => this.#glance(names) });
  }

  async keep(session: Session | SessionSpec, holds: readonly Hold[], call: Call): Promise<Kept> {
    if ("nonce" in session) return await this.#open(session, call);
    let marks = 0;
    for (const hold of holds) marks += markOf(hold);
    const asked = { session: session.id, held: holds.length, marks };
    return await this.#ask("keep", asked, session.ttlMs, call, (answer): Kept => {
      if (answer["kind"] === "session-lost") return { kind: "session-lost" };
      const kept = readSession(session.id, answer, this.#where);
      const audit =
        answer["seats"] === undefined ? { lost: [], strays: [] } : readAudit(answer["seats"], holds, this.#where);
      return { kind: "kept", session: kept, unsure: [], ...audit };
    });
  }

  async #open({ nonce, candidate, ttlMs }: SessionSpec, call: Call): Promise<Kept> {
    const ttl = Math.min(TTL_MAX_MS, Math.max(TTL_MIN_MS, Math.ceil(ttlMs)));
    return await this.#ask("open", { session: nonce, candidate, ttl }, ttl, call, (answer): Kept => {
      if (answer["kind"] === "session-lost") return { kind: "session-lost" };
      const session = readSession(nonce, answer, this.#where);
      return { kind: "kept", session, lost: [], unsure: [], strays: [] };
    });
  }

  async claim(claims: readonly Claim[], call: Call): Promise<readonly Claimed[]> {
    if (new Set(claims.map(({ name }) => name)).size < claims.length) return await this.#claimInTurn(claims, call);
    const asked = claims.map((claim) => ({
      name: claim.name,
      session: claim.session.id,
      bid: claim.bid,
      over: claim.over,
      mark: markOf(claim),
      value: claim.value,
    }));
    const ttlMs = Math.min(...claims.map(({ session }) => session.ttlMs));
    const answer = await this.#ask("claim", { claims: asked }, ttlMs, call, (answer) => ({
      kind: "claimed" as const,
      claimed: this.#readClaims(claims, answer),
    }));
    return answer.kind === "claimed" ? answer.claimed : claims.map(() => answer);
  }

  /** Where a name comes twice: one statement writes a row once, and would tell both that it is theirs. */
  async #claimInTurn(claims: readonly Claim[], call: Call): Promise<readonly Claimed[]> {
    const answers: Claimed[] = [];
    for (const claim of claims) answers.push(...(await this.claim([claim], call)));
    return answers;
  }

  #readClaims(claims: readonly Claim[], { domain, claimed }: Answer): readonly Claimed[] {
    const where = this.#where;
    if (!Array.isArray(claimed) || claimed.length !== claims.length) throw edited("a claim", claimed, where);
    return claims.map(({ name, bid }, index): Claimed => {
      const { verdict, token, seat } = claimed[index] as Answer;
      if (verdict === "session-lost") return { kind: "session-lost" };
      if (verdict === "beaten") return { kind: "beaten", seat: readSeat(seat as Answer, where) };
      const value = readToken(token, `the counter of "${name}"`, where);
      const origin = readText(domain, "the token domain", where);
      return { kind: "granted", hold: { name, bid, token: { domain: origin, value, bid } } };
    });
  }

  async release({ session, holds, endSession }: Will, call: Call): Promise<Released> {
    const asked = {
      session: session.id,
      candidate: session.candidate,
      ttl: session.ttlMs,
      holds: holds.map(({ name, bid }) => ({ name, bid })),
      end: endSession,
    };
    return await this.#ask("release", asked, session.ttlMs, call, (): Released => ({ kind: "released" }));
  }

  async look(questions: readonly Question[], call: Call): Promise<Looked> {
    const names = questions.map(({ name }) => name);
    return await this.#ask("look", { names }, Infinity, call, (answer): Looked => {
      return { kind: "seen", seats: readSeats(answer["seats"], this.#where) };
    });
  }

  watch(questions: readonly Question[], call: Call): AsyncIterable<Hint> {
    return this.#mailboxes.watch(call.signal, (mailbox) => this.#watcher.add(questions, mailbox));
  }

  async #glance(names: readonly string[]): ReturnType<ConstructorParameters<typeof Watcher>[0]["look"]> {
    const never = new AbortController().signal;
    const looked = await this.look(
      names.map((name) => ({ name })),
      { signal: never, sentAtMs: 0 },
    );
    return looked.kind === "seen" ? looked.seats : undefined;
  }

  async close(): Promise<void> {
    this.#mailboxes.endAll();
    await this.#database.close();
  }

  // ---- one call

  async #ask<A>(
    verb: string,
    asked: object,
    ttlMs: number,
    call: Call,
    read: (answer: Answer) => A,
  ): Promise<A | Refused | Unknown> {
    const { signal } = call;
    if (signal.aborted) return unknown(signal.reason);
    const timeoutMs = Math.max(SHORTEST_MS, Math.min(Math.round(ttlMs * SHARE_OF_TTL), LONGEST_MS));
    try {
      const running = this.#database.run(this.#text(verb, asked, timeoutMs), timeoutMs + LAST_PATIENCE_MS);
      const rows = await untilAborted(running, signal);
      if (rows === undefined) {
        this.#database.doubt();
        return unknown(signal.reason);
      }
      return read(this.#parse(rows[0]?.["answer"]));
    } catch (error) {
      return outcomeOf(error, this.#where);
    }
  }

  #text(verb: string, asked: object, patience: number): string {
    const request = JSON.stringify({ layout: LAYOUT, patience, byClock: this.#byClock, ...asked });
    return `SELECT ${this.#where.schema}.${verb}(${sqlLiteral(request)}::json)::text AS answer`;
  }

  #parse(text: unknown): Answer {
    const answer = JSON.parse(readText(text, "an answer", this.#where)) as Answer;
    if (answer["kind"] === "layout") throw otherLayout(answer["layout"], LAYOUT, this.#where);
    if (answer["kind"] === "in-transaction") throw insideTransaction();
    return answer;
  }
}

/** undefined: aborted. What comes later is dropped. */
function untilAborted<T>(running: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const give = (): void => resolve(undefined);
    signal.addEventListener("abort", give, { once: true });
    running.then(resolve, reject).finally(() => signal.removeEventListener("abort", give));
  });
}
