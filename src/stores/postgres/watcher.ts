// Hints, for as long as somebody watches. NOTIFY, heard on a session of our own; and a look from time to time where there is no such session. A pooler in
// transaction mode accepts LISTEN and forgets it. So we send a word to ourselves, from another connection, and look until we have heard it.
// Hints are not needed for safety; what goes wrong here is said by the machine's own requests.
import { asBid, asVersion, type Hint, type Invitation, type Name, type Question, type Seat } from "../contract.ts";
import { readInvitation, writeInvitation } from "../invitations.ts";
import type { Mailbox } from "../mailbox.ts";
import { Watched } from "../watched.ts";
import type { Database, NotificationEars } from "../../clients/postgres/database.ts";
import { randomId } from "../../clients/random.ts";
import { notifySql } from "./schema.ts";

const LOOK_EVERY_MS = 500;
const PATIENCE_MS = 10_000;
const ECHO = "echo ";
/** In place of a bid, none of which has a space: the holder was asked to hand over. */
const ASKED = "asked ";
/** The same, with its key behind it: a memo was written. */
const MEMO = "memo ";
/** Somebody is invited to lead next. Name and invitation follow as one text, and the place of the name is empty: what earlier versions hear is for no name of theirs. */
const INVITED = "invited ";

/** As base64, so that nothing of it needs quotes in a statement. */
export function invitedWord(name: Name, invitation: Invitation): string {
  const text = JSON.stringify([name, writeInvitation(invitation)]);
  return `${INVITED}${Buffer.from(text).toString("base64url")}\n`;
}

function readInvitedWord(
  word: string,
): { readonly name: Name; readonly invitation: Invitation | undefined } | undefined {
  try {
    const [name, text] = JSON.parse(Buffer.from(word, "base64url").toString()) as readonly unknown[];
    return { name: String(name), invitation: readInvitation(String(text)) };
  } catch {
    return undefined;
  }
}

export interface PostgresWatcherParts {
  readonly database: Database;
  readonly channel: string;
  /** undefined: could not be seen now. */
  readonly look: (names: readonly Name[]) => Promise<readonly Seat[] | undefined>;
}

export class PostgresWatcher {
  readonly #parts: PostgresWatcherParts;
  readonly #watched = new Watched();
  readonly #memos = new Set<{ readonly hint: Hint; readonly mailbox: Mailbox }>();
  /** What was last seen by looking. */
  readonly #seen = new Map<Name, string>();
  #listening: Listening | undefined;

  constructor(parts: PostgresWatcherParts) {
    this.#parts = parts;
  }

  /** Whether NOTIFY is heard; otherwise looks do its work. */
  get isHearing(): boolean {
    return this.#listening?.isHearing ?? false;
  }

  /** Returns how to stop. */
  add(questions: readonly Question[], mailbox: Mailbox): () => void {
    const names = questions.map(({ name }) => name);
    const memos = questions.flatMap(({ name, memo }) =>
      memo === undefined ? [] : [{ hint: { name, memo }, mailbox }],
    );
    for (const memo of memos) this.#memos.add(memo);
    this.#watched.add(names, mailbox);
    this.#listening ??= new Listening(this.#parts, {
      heard: (word, name) => this.#heard(word, name),
      look: () => this.#lookAtAll(),
      broken: () => this.#watched.endAll(),
    });
    void this.#look(names, mailbox);
    return () => {
      for (const memo of memos) this.#memos.delete(memo);
      for (const name of names) this.#remove(name, mailbox);
    };
  }

  /** `word`: the bid that holds the seat, nothing, or what else has happened there. */
  #heard(word: string, name: Name): void {
    if (word === ASKED) this.#watched.tellAsked(name);
    else if (word.startsWith(INVITED)) this.#heardInvitation(word.slice(INVITED.length));
    else if (word.startsWith(MEMO)) this.#watched.tellMemo(name, word.slice(MEMO.length));
    else this.#watched.tell(name, hintedSeat(name, word));
  }

  #heardInvitation(text: string): void {
    const { name, invitation } = readInvitedWord(text) ?? {};
    if (name !== undefined && invitation !== undefined) this.#watched.tellInvited(name, invitation);
  }

  /** Where nothing was heard. A look at the seats shows no memo, so each reader of one reads it again. */
  async #lookAtAll(): Promise<void> {
    for (const { hint, mailbox } of this.#memos) mailbox.put(hint);
    await this.#look([...this.#watched.names()]);
  }

  /** What is free already was given back between the look that led to this watch and now: the newcomer is told, whatever others were told before. */
  async #look(names: readonly Name[], newcomer?: Mailbox): Promise<void> {
    const seats = (await this.#parts.look(names)) ?? [];
    for (const seat of seats) {
      const [before, now] = [this.#seen.get(seat.name), `${seat.state} ${seat.holder?.bid} ${seat.holder?.value}`];
      if (!this.#watched.has(seat.name)) continue;
      this.#seen.set(seat.name, now);
      if (before === undefined ? seat.state !== "held" : before !== now) this.#watched.tell(seat.name, seat);
      else if (seat.state !== "held") newcomer?.put({ name: seat.name, seat });
    }
  }

  #remove(name: Name, mailbox: Mailbox): void {
    if (!this.#watched.remove(name, mailbox)) return;
    this.#seen.delete(name);
    if (this.#watched.size > 0) return;
    this.#listening?.end();
    this.#listening = undefined;
  }
}

/** Who holds it is all that a hint is asked for; a look has the rest. */
function hintedSeat(name: Name, bid: string): Seat {
  const version = asVersion("hinted");
  return bid === ""
    ? { name, version, state: "vacant" }
    : { name, version, state: "held", holder: { candidate: "", bid: asBid(bid) } };
}

interface Uses {
  heard(word: string, name: Name): void;
  look(): Promise<void>;
  broken(): void;
}

/** One try to listen, and the looks until it is heard. */
class Listening {
  readonly #parts: PostgresWatcherParts;
  readonly #uses: Uses;
  readonly #echo: string = `${ECHO}${randomId()}`;
  #timer: NodeJS.Timeout | undefined;
  #stop: (() => void) | undefined;
  #isOver = false;
  isHearing = false;

  constructor(parts: PostgresWatcherParts, uses: Uses) {
    this.#parts = parts;
    this.#uses = uses;
    this.#lookLater();
    void this.#listen();
  }

  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#stop?.();
  }

  async #listen(): Promise<void> {
    const { database, channel } = this.#parts;
    try {
      const stop = await database.listen(channel, this.#ears());
      if (this.#isOver) stop();
      else this.#stop = stop;
    } catch {
      // No session to listen on: looks do.
    }
  }

  #ears(): NotificationEars {
    return {
      heard: (payload) => this.#heard(payload),
      // If nobody watches any more, the store may be closed, and a word to ourselves would connect again.
      listening: () => {
        if (!this.#isOver) this.#callOut();
      },
      broken: () => {
        if (!this.#isOver) this.#uses.broken();
      },
    };
  }

  #callOut(): void {
    const { database, channel } = this.#parts;
    const text = notifySql(channel, this.#echo);
    database.run(text, PATIENCE_MS).catch(() => {}); // not heard, then: looks go on
    // What was told while nobody listened.
    if (this.isHearing) void this.#uses.look();
  }

  #heard(payload: string): void {
    if (this.#isOver) return;
    if (payload === this.#echo) this.isHearing = true;
    const cut = payload.indexOf("\n");
    if (cut >= 0) this.#uses.heard(payload.slice(0, cut), payload.slice(cut + 1));
  }

  #lookLater(): void {
    this.#timer = setTimeout(() => void this.#lookNow(), LOOK_EVERY_MS).unref();
  }

  /** One more look after the echo: it covers what came before it. */
  async #lookNow(): Promise<void> {
    const isLast = this.isHearing;
    await this.#uses.look().catch(() => {}); // the next look comes anyway
    if (!isLast && !this.#isOver) this.#lookLater();
  }
}
