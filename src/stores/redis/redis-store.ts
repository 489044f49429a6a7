// The six methods of the contract on one server of Redis, each as one script (lua/): one request, one step at the server. Nothing is remembered between calls.
//
// The server judges: a session lives until the instant that its last renewal has written, by the server's wall clock. guarantee.ts declares what that clock, a failover or a restart
// can break. Because of these, terms of this store have no tokens.
import { type Refused, unknown, type Unknown } from "../../base/outcome.ts";
import { foreignText, outcomeOf, type RedisWhereabouts } from "../../clients/redis/errors.ts";
import type { RedisPort } from "../../clients/redis/port.ts";
import type { Guarantee } from "../../lease/guarantee.ts";
import type {
  Call,
  Claim,
  Claimed,
  Hint,
  Hold,
  KeepWish,
  Kept,
  ListedNames,
  ListsNames,
  Looked,
  Name,
  Question,
  Released,
  Session,
  SessionSpec,
  UnfencedStore,
  Will,
} from "../contract.ts";
import { isGivenUp, whenGivenUp } from "../call.ts";
import { grantedMs } from "../granted-ttl.ts";
import { Mailboxes } from "../mailbox.ts";
import { type ScriptAnswer, holdsAt, leftMsOf, listOf, parseAnswer, seatOf, sessionOf, straysOf } from "./answers.ts";
import type { Layout } from "./guarantee.ts";
import { Keyspace } from "./keyspace.ts";
import { PROBE, SCRIPTS, type Verb } from "./scripts.ts";
import { RedisWatcher } from "./watcher.ts";

export interface RedisStoreParts {
  readonly port: RedisPort;
  readonly where: RedisWhereabouts;
  readonly guarantee: Guarantee<"unfenced">;
  readonly layout: Layout;
  /** The prefix of our own keys. */
  readonly prefix: string;
  /** A server that has run for less than this grants nothing. */
  readonly minUptimeMs?: number | undefined;
  /** This server is one of several: it votes (lua/keep.lua, lua/claim.lua). */
  readonly votes?: boolean | undefined;
}

export class RedisStore implements UnfencedStore, ListsNames {
  readonly guarantee: Guarantee<"unfenced">;
  readonly #parts: RedisStoreParts;
  readonly #watcher: RedisWatcher;
  readonly #mailboxes = new Mailboxes();

  constructor(parts: RedisStoreParts) {
    this.guarantee = parts.guarantee;
    this.#parts = parts;
    this.#watcher = new RedisWatcher({
      port: parts.port,
      channel: (name) => `${parts.prefix}:told:${name}`,
      keyspace: parts.layout === "ours" ? undefined : keyspaceOf(parts),
      look: (names) => this.#glance(names),
    });
  }

  /** Where it is, for messages. */
  get place(): string {
    return this.#parts.where.place;
  }

  keep(session: Session | SessionSpec, holds: readonly Hold[], call: Call, wish: KeepWish = {}): Promise<Kept> {
    if ("nonce" in session) return this.#open(session, call);
    const asked = {
      session: session.id,
      ...(this.guarantee.refusesClones === true ? { beats: session.beats } : {}),
      bids: holds.map(({ bid }) => bid),
      strays: wish.strays !== false && wish.part !== true,
      ...(this.#parts.votes === true
        ? { votes: { candidate: session.candidate, ttl: session.ttlMs }, uptime: this.#parts.minUptimeMs }
        : {}),
    };
    return this.#ask<Kept>("keep", namesOf(holds), [JSON.stringify(asked)], call, (answer) => {
      if (answer["kind"] === "session-lost") return { kind: "session-lost" };
      const lost = holdsAt(holds, answer["lost"]);
      const proof = answer["isNew"] === true ? { proves: false as const } : {};
      return {
        kind: "kept",
        session: sessionOf(session.id, answer),
        lost,
        unsure: [],
        strays: straysOf(answer["strays"]),
        ...proof,
      };
    });
  }

  #open({ nonce, candidate, ttlMs, beat }: SessionSpec, call: Call): Promise<Kept> {
    const ttl = grantedMs(ttlMs, this.guarantee.ttl);
    const asked = { session: nonce, candidate, ttl, ...(this.guarantee.refusesClones === true ? { beat } : {}) };
    return this.#ask<Kept>("open", [], [JSON.stringify(asked)], call, (answer) => {
      if (answer["kind"] === "session-lost") return { kind: "session-lost" };
      return { kind: "kept", session: sessionOf(nonce, answer), lost: [], unsure: [], strays: [], ...metOf(answer) };
    });
  }

  async claim(claims: readonly Claim[], call: Call): Promise<readonly Claimed[]> {
    const { minUptimeMs, votes } = this.#parts;
    const args = [minUptimeMs === undefined ? "" : String(minUptimeMs), votes === true ? "1" : ""];
    let before: string | undefined;
    for (const { session, bid, over = "", value } of claims) {
      args.push(session.id === before ? "" : session.id, bid, over, value);
      before = session.id;
    }
    const answer = await this.#ask("claim", namesOf(claims), args, call, (answer) => {
      const answers = answer["kind"] === "granted" ? undefined : listOf<ScriptAnswer>(answer["answers"]);
      return {
        kind: "claimed" as const,
        claimed: claims.map((claim, index) => this.#readClaim(claim, answers === undefined ? answer : answers[index])),
      };
    });
    return answer.kind === "claimed" ? answer.claimed : claims.map(() => answer);
  }

  #readClaim({ name, bid }: Claim, answer: ScriptAnswer | undefined): Claimed {
    const { place } = this.#parts.where;
    switch (answer?.["kind"]) {
      case "granted":
        return { kind: "granted", hold: { name, bid } };
      case "beaten":
        return { kind: "beaten", seat: seatOf(name, answer["seat"] as ScriptAnswer, place) };
      case "session-lost":
        return { kind: "session-lost" };
      case "foreign":
        return refused("STORE_FOREIGN_DATA", foreignText(String(answer["key"]), place), false);
      case "restarted":
        return refused(
          "STORE_UNREACHABLE",
          `${place} was started less than ${this.#parts.minUptimeMs} ms ago (maxTtlMs), and may have forgotten who leads. It grants nothing until then. It is tried again.`,
          true,
        );
      default:
        return unknown(new Error(`redis: ${place} did not answer a claim`));
    }
  }

  release({ session, holds, endSession }: Will, call: Call): Promise<Released> {
    const args = [session.id, ...holds.map(({ bid }) => bid)];
    if (endSession && this.guarantee.refusesClones === true) args.push(...(session.beats ?? []));
    return this.#ask<Released>(endSession ? "leave" : "release", namesOf(holds), args, call, () => ({
      kind: "released",
    }));
  }

  look(questions: readonly Question[], call: Call): Promise<Looked> {
    const names = namesOf(questions);
    return this.#ask<Looked>("look", names, [], call, (answer) => ({
      kind: "seen",
      seats: this.#readSeats(names, answer),
    }));
  }

  #readSeats(names: readonly Name[], answer: ScriptAnswer): ReturnType<typeof seatOf>[] {
    const seats = listOf<ScriptAnswer>(answer["seats"]);
    return names.map((name, index) => seatOf(name, seats[index] ?? {}, this.place));
  }

  /** Page by page, until the server has shown all of its keys. */
  async listNames(most: number, call: Call): Promise<ListedNames> {
    const names = new Set<Name>();
    for (let cursor = "0"; ;) {
      const page = await this.#ask("list", [], [cursor], call, (answer) => ({ kind: "page" as const, answer }));
      if (page.kind !== "page") return page;
      for (const name of listOf<Name>(page.answer["names"])) names.add(name);
      cursor = String(page.answer["cursor"]);
      if (cursor === "0") break;
    }
    const sorted = [...names].toSorted();
    return { kind: "listed", names: sorted.slice(0, most), isWhole: sorted.length <= most };
  }

  watch(questions: readonly Question[], call: Call): AsyncIterable<Hint> {
    return this.#mailboxes.watch(call.signal, (mailbox) => this.#watcher.add(namesOf(questions), mailbox));
  }

  /** For hints: each seat, and how long it is held at least. undefined: it could not be read now. */
  async #glance(names: readonly Name[]): ReturnType<ConstructorParameters<typeof RedisWatcher>[0]["look"]> {
    const call = { signal: new AbortController().signal, sentAtMs: 0 };
    const looked = await this.#ask("look", names, [], call, (answer) => ({
      kind: "glanced" as const,
      glances: this.#readSeats(names, answer).map((seat, index) => ({
        seat,
        leftMs: leftMsOf(listOf<ScriptAnswer>(answer["seats"])[index]),
      })),
    }));
    return looked.kind === "glanced" ? looked.glances : undefined;
  }

  async close(): Promise<void> {
    this.#mailboxes.endAll();
    await this.#parts.port.close();
  }

  // ---- one call

  #keyOf(name: Name): string {
    return this.#parts.layout === "ours" ? `${this.#parts.prefix}:seat:${name}` : name;
  }

  /** Never rejects: an error is an outcome too. */
  #ask<A>(
    verb: Verb,
    names: readonly Name[],
    args: readonly string[],
    call: Call,
    read: (answer: ScriptAnswer) => A,
  ): Promise<A | Refused | Unknown> {
    const { port, where, prefix, layout } = this.#parts;
    return new Promise((resolve) => {
      if (isGivenUp(call)) return resolve(unknown(call.signal.reason));
      const stop = whenGivenUp(call, () => {
        port.doubt();
        resolve(unknown(call.signal.reason));
      });
      const keys = [prefix, ...names.map((name) => this.#keyOf(name))];
      const failed = (error: unknown): void => (stop?.(), resolve(outcomeOf(error, where)));
      const answered = (reply: unknown): void => {
        stop?.();
        try {
          resolve(read(parseAnswer(reply, where.place)));
        } catch (error) {
          failed(error);
        }
      };
      port.run(SCRIPTS[layout][verb], keys, args).then(answered, failed);
    });
  }
}

function keyspaceOf({ port, prefix }: RedisStoreParts): Keyspace {
  const probeKey = `${prefix}:probe`;
  return new Keyspace({ database: port.database, probeKey, probe: () => port.run(PROBE, [probeKey], []) });
}

function namesOf(of: readonly { readonly name: Name }[]): Name[] {
  return of.map(({ name }) => name);
}

function refused(code: Refused["code"], message: string, retryable: boolean): Refused {
  return { kind: "refused", code, message: `redis: ${message}`, retryable };
}

function metOf({ redis, valkey }: ScriptAnswer): { met?: { server: string } } {
  if (typeof valkey === "string") return { met: { server: `Valkey ${valkey}` } };
  return typeof redis === "string" ? { met: { server: `Redis ${redis}` } } : {};
}
