// The six methods of the contract, each as one call of one function of the database (sql/functions.sql): one message, one transaction. Nothing is remembered
// between calls.
//
// There are two timeouts. The caller's: when its signal aborts we stop waiting, and the outcome is unknown. The server's: each function is told how long its caller waits
// (sql/functions.sql), so that a function that waits for a lock, or whose client is gone, rolls back instead of being applied much later.
import { type Refused, unknown, type Unknown } from "../../base/outcome.ts";
import { sqlLiteral } from "../../base/sql-literal.ts";
import type { Guarantee } from "../../lease/guarantee.ts";
import type {
  AskedToLeave,
  Call,
  FencedStore,
  Invitation,
  Invited,
  KeepsMemos,
  ListedNames,
  ListsNames,
  PassesInvitations,
} from "../contract.ts";
import type {
  Claim,
  Claimed,
  Hint,
  Hold,
  Kept,
  Looked,
  MemosRead,
  MemoWrite,
  MemoWritten,
  Name,
  Question,
  Released,
  Session,
  SessionSpec,
  Token,
  Will,
} from "../contract.ts";
import { isGivenUp, whenGivenUp } from "../call.ts";
import { grantedMs } from "../granted-ttl.ts";
import { markOf } from "../mark.ts";
import { ownNode } from "../../lease/ban-rule.ts";
import { nodeRefused } from "./bans.ts";
import { MEMOS, tooLarge } from "../memos.ts";
import { Mailboxes } from "../mailbox.ts";
import { type AnswerRow, readAsked, readAudit, readClaimed, readSeats, readSession, readText } from "./answers.ts";
import type { Database } from "../../clients/postgres/database.ts";
import { edited, insideTransaction, knowsNo, otherLayout, outcomeOf, type PostgresWhereabouts } from "./refusals.ts";
import { readMemos, readWritten, wishOf } from "./memos.ts";
import { LAYOUT, listNamesSql, notifySql } from "./schema.ts";
import { Tables } from "./tables.ts";
import { invitedWord, PostgresWatcher } from "./watcher.ts";

export interface PostgresStoreParts {
  readonly database: Database;
  readonly where: PostgresWhereabouts;
  readonly guarantee: Guarantee<"fenced">;
  /** Whether missing tables are made. */
  readonly createTables: boolean;
}

/** The longest text of a notification: PostgreSQL takes 8000 bytes. */
const LONGEST_WORD = 7900;

function tooLong(name: Name): Refused {
  const message = `postgres: the name "${name.slice(0, 40)}…" is too long for a notification. Nobody was told.`;
  return { kind: "refused", code: "STORE_UNSUPPORTED", message, retryable: false };
}

const REQUESTS = "requests to hand over";
/** A caller gives up after a quarter of its ttl; a statement that still runs after a half is of no use to it. */
const SHARE_OF_TTL = 1 / 2;
const SHORTEST_MS = 100;
const LONGEST_MS = 10_000;
/** How much later the client gives up the connection on which nothing came back. */
const LAST_PATIENCE_MS = 1_000;

type Reader<A> = (answer: AnswerRow) => A;

export class PostgresStore implements ListsNames, PassesInvitations, KeepsMemos, FencedStore {
  readonly guarantee: Guarantee<"fenced">;
  readonly #database: Database;
  readonly #where: PostgresWhereabouts;
  readonly #byClock: boolean;
  readonly #tables: Tables;
  readonly #watcher: PostgresWatcher;
  readonly #mailboxes = new Mailboxes();

  constructor({ database, where, guarantee, createTables }: PostgresStoreParts) {
    this.guarantee = guarantee;
    this.#database = database;
    this.#where = where;
    this.#byClock = guarantee.judge === "store-wall";
    this.#tables = new Tables(database, where, createTables);
    this.#watcher = new PostgresWatcher({ database, channel: where.schema, look: (names) => this.#glance(names) });
  }

  async keep(session: Session | SessionSpec, holds: readonly Hold[], call: Call): Promise<Kept> {
    if ("nonce" in session) return await this.#open(session, call);
    let marks = 0;
    for (const hold of holds) marks += markOf(hold);
    const asked = { session: session.id, held: holds.length, marks, beats: session.beats };
    return await this.#ask("keep", asked, session.ttlMs, call, (answer): Kept => {
      if (answer["kind"] === "session-lost") return { kind: "session-lost" };
      const kept = readSession(session.id, answer, this.#where);
      const audit =
        answer["seats"] === undefined ? { lost: [], strays: [] } : readAudit(answer["seats"], holds, this.#where);
      return { kind: "kept", session: kept, unsure: [], ...audit, asked: readAsked(answer["asked"], this.#where) };
    });
  }

  /** If there are no tables yet, they are made, and the opening is sent once more: the first one did nothing. */
  async #open(spec: SessionSpec, call: Call): Promise<Kept> {
    const kept = await this.#askToOpen(spec, call);
    if (kept.kind !== "refused" || !this.#tables.mayMake(kept.cause)) return kept;
    const problem = await this.#unlessGivenUp(this.#tables.make(), call);
    return problem ?? (await this.#askToOpen(spec, call));
  }

  #unlessGivenUp<P>(making: Promise<P>, call: Call): Promise<P | Unknown> {
    return new Promise((resolve) => {
      const stop = whenGivenUp(call, () => resolve(unknown(call.signal.reason)));
      void making.then((made) => {
        stop?.();
        resolve(made);
      });
    });
  }

  async #askToOpen({ nonce, candidate, ttlMs, beat, node }: SessionSpec, call: Call): Promise<Kept> {
    const ttl = grantedMs(ttlMs, this.guarantee.ttl);
    return await this.#ask("open", { session: nonce, candidate, ttl, beat, node }, ttl, call, (answer): Kept => {
      if (answer["kind"] === "session-lost") return { kind: "session-lost" };
      const refused = node && nodeRefused(node, answer, this.#where);
      if (refused !== undefined) return refused;
      const session = readSession(nonce, answer, this.#where);
      this.#tables.met(beat !== undefined && session.beats === undefined);
      return { kind: "kept", session, lost: [], unsure: [], strays: [] };
    });
  }

  claim(claims: readonly Claim[], call: Call): Promise<readonly Claimed[]> {
    const [claim] = claims;
    const words = claim !== undefined && claims.length === 1 && !this.#byClock ? wordsOf(claim) : undefined;
    return claim === undefined || words === undefined ? this.#claimAll(claims, call) : this.#take(claim, words, call);
  }

  async #claimAll(claims: readonly Claim[], call: Call): Promise<readonly Claimed[]> {
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

  /** One claim, by the function that is made for it. */
  #take(claim: Claim, words: readonly string[], call: Call): Promise<readonly Claimed[]> {
    const patience = patienceOf(claim.session.ttlMs);
    const read = (answer: AnswerRow): readonly Claimed[] =>
      answer["kind"] === "taken"
        ? [readClaimed(claim, answer, answer["domain"], this.#where)]
        : this.#readClaims([claim], answer);
    return this.#call("take", [`${LAYOUT}`, `${patience}`, ...words], patience, call, read, (outcome) => [outcome]);
  }

  /** For a name that comes twice: one statement writes a row once, and would tell both claims that it is theirs. */
  async #claimInTurn(claims: readonly Claim[], call: Call): Promise<readonly Claimed[]> {
    const answers: Claimed[] = [];
    for (const claim of claims) answers.push(...(await this.claim([claim], call)));
    return answers;
  }

  #readClaims(claims: readonly Claim[], { domain, claimed }: AnswerRow): readonly Claimed[] {
    const where = this.#where;
    if (!Array.isArray(claimed) || claimed.length !== claims.length)
      return claims.map(() => unknown(edited("a claim", claimed, where)));
    return claims.map((claim, index) => readClaimed(claim, claimed[index] as AnswerRow, domain, where));
  }

  release({ session, holds, endSession }: Will, call: Call): Promise<Released> {
    const hold = holds.length === 1 && !endSession ? holds[0] : undefined;
    const words = hold && literals([hold.name, session.id, hold.bid]);
    if (words !== undefined) {
      const patience = patienceOf(session.ttlMs);
      return this.#call("give", [`${LAYOUT}`, `${patience}`, ...words], patience, call, asReleased, asItIs);
    }
    const asked = {
      session: session.id,
      candidate: session.candidate,
      ttl: session.ttlMs,
      beats: session.beats,
      holds: holds.map(({ name, bid }) => ({ name, bid })),
      end: endSession,
    };
    return this.#ask("release", asked, session.ttlMs, call, asReleased);
  }

  async look(questions: readonly Question[], call: Call): Promise<Looked> {
    const names = questions.map(({ name }) => name);
    return await this.#ask("look", { names }, Infinity, call, (answer): Looked => {
      return { kind: "seen", seats: readSeats(answer["seats"], this.#where) };
    });
  }

  async askToLeave(name: Name, { domain, value, bid }: Token, call: Call): Promise<AskedToLeave> {
    const asked = { name, domain, token: `${value}`, bid };
    const outcome = await this.#ask("ask", asked, Infinity, call, (answer): AskedToLeave => {
      if (answer["kind"] === "asked") return { kind: "asked" };
      const [seat] = readSeats(answer["seats"], this.#where);
      if (seat === undefined) throw edited("a look", answer["seats"], this.#where);
      return { kind: "not-leading", seat };
    });
    return outcome.kind === "refused" && isUndefinedFunction(outcome.cause)
      ? knowsNo(REQUESTS, "Until then send SIGTERM to the leader's process.", outcome.cause, this.#where)
      : outcome;
  }

  /** Nothing is written: the listeners are notified. Behind a pooler that does not pass NOTIFY on, nobody hears of it. */
  async invite(name: Name, invitation: Invitation, call: Call): Promise<Invited> {
    if (isGivenUp(call)) return unknown(call.signal.reason);
    const word = invitedWord(name, invitation);
    if (word.length > LONGEST_WORD) return tooLong(name);
    try {
      await this.#database.run(notifySql(this.#where.schema, word), LONGEST_MS);
      return { kind: "told" };
    } catch (error) {
      return outcomeOf(error, this.#where);
    }
  }

  async writeMemo(write: MemoWrite, call: Call): Promise<MemoWritten> {
    const { session } = write;
    const outcome =
      ownNode("postgres", session, write.ban) ??
      tooLarge("postgres", write, MEMOS) ??
      (await this.#ask(
        write.ban === undefined ? "write_memo" : "write_ban",
        wishOf(write),
        session.ttlMs,
        call,
        (answer): MemoWritten => {
          return readWritten(write, answer, this.#where);
        },
      ));
    return this.#orWithoutMemos(outcome);
  }

  async readMemos(name: Name, key: string | undefined, call: Call): Promise<MemosRead> {
    const outcome = await this.#ask("read_memos", { name, key }, Infinity, call, (answer): MemosRead => {
      return readMemos(name, answer, this.#where);
    });
    return this.#orWithoutMemos(outcome);
  }

  #orWithoutMemos<O extends MemoWritten | MemosRead>(outcome: O): O | Refused {
    if (outcome.kind !== "refused" || !isUndefinedFunction(outcome.cause)) return outcome;
    return knowsNo("memos", "Elections go on as before.", outcome.cause, this.#where);
  }

  async listNames(most: number, call: Call): Promise<ListedNames> {
    if (isGivenUp(call)) return unknown(call.signal.reason);
    try {
      const answer = await this.#database.run(listNamesSql(this.#where.schema, most + 1), LONGEST_MS);
      const names = JSON.parse(readText(answer, "a list of elections", this.#where)) as readonly string[];
      return { kind: "listed", names: names.slice(0, most), isWhole: names.length <= most };
    } catch (error) {
      return outcomeOf(error, this.#where);
    }
  }

  watch(questions: readonly Question[], call: Call): AsyncIterable<Hint> {
    return this.#mailboxes.watch(call.signal, (mailbox) => this.#watcher.add(questions, mailbox));
  }

  async #glance(names: readonly string[]): ReturnType<ConstructorParameters<typeof PostgresWatcher>[0]["look"]> {
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

  #ask<A>(verb: string, asked: object, ttlMs: number, call: Call, read: Reader<A>): Promise<A | Refused | Unknown> {
    const patience = patienceOf(ttlMs);
    const request = JSON.stringify({ layout: LAYOUT, patience, byClock: this.#byClock, ...asked });
    return this.#call<A | Refused | Unknown>(verb, [sqlLiteral(request) ?? "NULL"], patience, call, read, asItIs);
  }

  /** Never rejects: an error is an outcome too, and `otherwise` says in which form. */
  #call<A>(
    verb: string,
    args: readonly string[],
    patience: number,
    call: Call,
    read: Reader<A>,
    otherwise: (outcome: Refused | Unknown) => A,
  ): Promise<A> {
    return new Promise((resolve) => {
      if (isGivenUp(call)) return resolve(otherwise(unknown(call.signal.reason)));
      const stop = whenGivenUp(call, () => {
        this.#database.doubt();
        resolve(otherwise(unknown(call.signal.reason)));
      });
      const fail = (error: unknown): void => resolve(otherwise(outcomeOf(error, this.#where)));
      const answered = (answer: unknown): void => {
        try {
          resolve(read(this.#parse(answer)));
        } catch (error) {
          fail(error);
        }
      };
      try {
        const running = this.#database.call(`${this.#where.schema}.${verb}`, args, patience + LAST_PATIENCE_MS);
        void (stop === undefined ? running : running.finally(stop)).then(answered, fail);
      } catch (error) {
        fail(error);
      }
    });
  }

  #parse(text: unknown): AnswerRow {
    // What was asked may have been done, so this is no refusal.
    if (typeof text !== "string") throw new TypeError("postgres: the answer of a function is no text");
    const answer = JSON.parse(text) as AnswerRow;
    if (answer["kind"] === "layout") throw otherLayout(answer["layout"], LAYOUT, this.#where);
    if (answer["kind"] === "in-transaction") throw insideTransaction();
    return answer;
  }
}

function patienceOf(ttlMs: number): number {
  return Math.max(SHORTEST_MS, Math.min(Math.round(ttlMs * SHARE_OF_TTL), LONGEST_MS));
}

/** undefined: it contains something that only JSON can say; Postgres will refuse it. */
function wordsOf(claim: Claim): readonly string[] | undefined {
  if (claim.over === undefined) return undefined;
  const texts = literals([claim.name, claim.session.id, claim.bid, claim.over, claim.value]);
  return texts && [...texts, `${markOf(claim)}`];
}

function literals(texts: readonly string[]): readonly string[] | undefined {
  const written = texts.map(sqlLiteral);
  return written.includes(undefined) ? undefined : (written as string[]);
}

function isUndefinedFunction(cause: unknown): boolean {
  return (cause as { readonly code?: unknown } | undefined)?.code === "42883";
}

function asReleased(): Released {
  return { kind: "released" };
}

function asItIs<O>(outcome: O): O {
  return outcome;
}
