// The six methods of the contract on one table of DynamoDB, in the native layout. shelf.ts says what they mean. What is remembered between calls only saves requests; nothing
// is decided by it: which seats were given back here (free-seats.ts), and which session to read beside a seat.
import type { Refused, Unknown } from "../../base/outcome.ts";
import type {
  AskedToLeave,
  AsksToLeave,
  Call,
  Claim,
  Claimed,
  FencedStore,
  Hint,
  Hold,
  KeepsMemos,
  KeepWish,
  Kept,
  ListedNames,
  ListsNames,
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
import { wallClock } from "../../clients/wall-clock.ts";
import { stopSignalOf } from "../call.ts";
import { grantedMs } from "../granted-ttl.ts";
import { Mailboxes } from "../mailbox.ts";
import type { DynamoTable } from "../../clients/dynamodb/client.ts";
import { audit, NOTHING_FOUND } from "./audit.ts";
import { Desk } from "./desk.ts";
import { GUARANTEE } from "./guarantee.ts";
import { inTurns } from "./in-turns.ts";
import { askedItem, flag, nameOf, SEATS, seatKey, text, whole } from "./items.ts";
import { readMemos, writeMemo } from "./memos.ts";
import { foreignTable, globalTable, outcomeOf, type DynamoWhereabouts } from "./refusals.ts";
import { KEY } from "./schema.ts";
import { Scouts } from "./scouts.ts";
import { DynamoShelf, seatOf } from "./shelf.ts";

export interface DynamoSettings {
  /** How often waiters look. */
  readonly lookMs?: number | undefined;
  /** The clock for the time to live of sessions. */
  readonly now?: (() => Date) | undefined;
}

export class DynamoStore implements FencedStore, AsksToLeave, KeepsMemos, ListsNames {
  readonly guarantee: typeof GUARANTEE;
  readonly #desk: Desk;
  readonly #shelf: DynamoShelf;
  readonly #mailboxes = new Mailboxes();
  readonly #scouts: Scouts | undefined;

  constructor(table: DynamoTable, where: DynamoWhereabouts, { lookMs, now = wallClock }: DynamoSettings = {}) {
    this.guarantee = lookMs === undefined ? GUARANTEE : { ...GUARANTEE, lookMs, tellsFew: false };
    this.#desk = new Desk(table, where);
    this.#shelf = new DynamoShelf(this.#desk, now);
    if (lookMs !== undefined) return;
    const loose = new Desk(table, where, "loose");
    const glances = new DynamoShelf(loose, now);
    this.#scouts = new Scouts({ desk: loose, now, look: (name, call) => glances.seats([name], call) });
  }

  keep(session: Session | SessionSpec, holds: readonly Hold[], call: Call, wish: KeepWish = {}): Promise<Kept> {
    return this.#outcome(async () => {
      if ("nonce" in session) return await this.#open(session, call);
      const looksForStrays = wish.strays !== false && wish.part !== true;
      const isRead = holds.length > 0 || looksForStrays;
      const [kept, found] = await Promise.all([
        this.#shelf.keep(session, call),
        isRead ? audit(this.#desk, session, holds, looksForStrays, call) : NOTHING_FOUND,
      ]);
      return kept.kind === "kept" ? { ...kept, ...found } : kept;
    });
  }

  /** Looks at the table first: nothing is written into a table that is not ours, or that several regions write. */
  async #open(spec: SessionSpec, call: Call): Promise<Kept> {
    const { where, table } = this.#desk;
    const { id, keys, isGlobal } = await table.describe(stopSignalOf(call));
    if (isGlobal) throw globalTable(where);
    if (keys.join() !== `${KEY} S`) throw foreignTable(`its key is ${keys.join(" and ")}, not ${KEY} S`, where);
    const domain = `dynamodb-${id ?? where.table}`;
    return await this.#shelf.open(spec, grantedMs(spec.ttlMs, this.guarantee.ttl), domain, call);
  }

  async claim(claims: readonly Claim[], call: Call): Promise<readonly Claimed[]> {
    const retaken = await inTurns(claims, (claim) => this.#outcome(() => this.#shelf.retake(claim, call)));
    const others = claims.filter((_, index) => retaken[index] === undefined);
    if (others.length === claims.length) return await this.#claimByReading(claims, call);
    const answers = (await this.#claimByReading(others, call)).values();
    return retaken.flatMap((each) => each ?? answers.next().value ?? []);
  }

  async #claimByReading(claims: readonly Claim[], call: Call): Promise<readonly Claimed[]> {
    const read = await this.#outcome(async () => ({
      kind: "read" as const,
      surveys: await this.#shelf.survey(claims, call),
    }));
    if (read.kind !== "read") return claims.map(() => read);
    return await inTurns(claims, (claim, index) =>
      this.#outcome(async (): Promise<Claimed> => {
        const survey = read.surveys[index];
        if (survey === undefined) throw new Error("a survey answers every claim");
        return await this.#shelf.claim(claim, survey, call);
      }),
    );
  }

  /** The seats of an ended session are vacant, so one write that ends it gives everything back. */
  release(will: Will, call: Call): Promise<Released> {
    return this.#outcome(async () => {
      if (will.endSession) await this.#shelf.end(will.session, call);
      else await inTurns(will.holds, (hold) => this.#shelf.vacate(will.session.id, hold, call));
      return { kind: "released" };
    });
  }

  look(questions: readonly Question[], call: Call): Promise<Looked> {
    return this.#outcome(async () => {
      const names = questions.map(({ name }) => name);
      return { kind: "seen", seats: await this.#shelf.seats(names, call) };
    });
  }

  /** Gives hints only to a scout (scouts.ts): the others look from time to time. */
  watch(questions: readonly Question[], call: Call): AsyncIterable<Hint> {
    const names = questions.map(({ name }) => name);
    return this.#mailboxes.watch(call.signal, (mailbox) => this.#scouts?.add(names, mailbox) ?? (() => {}));
  }

  askToLeave(name: Name, token: Token, call: Call): Promise<AskedToLeave> {
    return this.#outcome(async (): Promise<AskedToLeave> => {
      const [place] = await this.#shelf.places([name], call);
      if (place === undefined) throw new Error("a read answers every key");
      const seat = seatOf(place);
      const { holder } = seat;
      const isNamed = holder?.bid === token.bid && holder.token === token.value && holder.domain === token.domain;
      if (seat.state !== "held" || !isNamed || place.seat === undefined) return { kind: "not-leading", seat };
      const written = await this.#desk.note(
        {
          key: seatKey(name),
          condition: "#session = :session AND #bid = :bid AND #token = :token AND #vacant = :false",
          update: "SET #asked = :asked",
          values: {
            ":session": text(place.seat.session),
            ":bid": text(token.bid),
            ":token": whole(token.value),
            ":false": flag(false),
            ":asked": askedItem(token),
          },
        },
        call,
      );
      if (written.kind === "written") return { kind: "asked" };
      const [now] = await this.#shelf.seats([name], call);
      return { kind: "not-leading", seat: now ?? seat };
    });
  }

  writeMemo(write: MemoWrite, call: Call): Promise<MemoWritten> {
    return this.#outcome(() => writeMemo(this.#desk, write, call));
  }

  readMemos(name: Name, key: string | undefined, call: Call): Promise<MemosRead> {
    return this.#outcome(() => readMemos(this.#desk, name, key, call));
  }

  listNames(most: number, call: Call): Promise<ListedNames> {
    return this.#outcome(async () => {
      const names: Name[] = [];
      for await (const key of this.#desk.table.keysFrom(SEATS, stopSignalOf(call))) names.push(nameOf(key));
      names.sort();
      return { kind: "listed", names: names.slice(0, most), isWhole: names.length <= most };
    });
  }

  async close(): Promise<void> {
    this.#mailboxes.endAll();
    this.#desk.table.close();
  }

  /** Never rejects: an error is an outcome too. */
  async #outcome<T>(act: () => Promise<T>): Promise<T | Refused | Unknown> {
    try {
      return await act();
    } catch (error) {
      return outcomeOf(error, this.#desk.where);
    }
  }
}
