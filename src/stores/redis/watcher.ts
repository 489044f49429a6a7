// Hints, for as long as somebody watches, in the quickest way that there is:
//   published   our scripts publish every grant and release to a channel of its name
//   keyspace    where others write who do not publish (layout redlock), the server tells of their changes, if its keyspace events are on (keyspace.ts)
//   looks       if nothing can be heard (no right to subscribe, a client that cannot), or not everything: twice a second
// Nobody tells in time that a lease has run out. So each look says how long the lease lasts at least, and the next look is made when that is over.
// Safety does not depend on hints; errors here are reported by the machine's own requests.
import type { Listening, RedisPort } from "../../clients/redis/port.ts";
import type { Name, Seat } from "../contract.ts";
import type { Mailbox } from "../mailbox.ts";
import { Watched } from "../watched.ts";
import type { Keyspace } from "./keyspace.ts";

const LOOK_EVERY_MS = 500;
/** The look comes so long after the lease may have run out, so that a seat that is renewed just in time is not looked at all the time. */
const LOOK_AFTER_MS = 20;
/** A name that is due so soon after another is looked at together with it. Otherwise, of a thousand names that were won together, each would cost a request. */
const TOGETHER_MS = 100;
const NAMES_MAX = 500;
/** A renewal is expected long before; this look makes up for a lost message. */
const LOOK_AT_LATEST_MS = 30_000;

export interface Glance {
  readonly seat: Seat;
  readonly leftMs: number | undefined;
}

export interface RedisWatcherParts {
  readonly port: RedisPort;
  readonly channel: (name: Name) => string;
  /** For a name that is a key which others write, too. Undefined: every writer publishes its changes. */
  readonly keyspace: Keyspace | undefined;
  /** undefined: it could not be read now. */
  readonly look: (names: readonly Name[]) => Promise<readonly Glance[] | undefined>;
}

export class RedisWatcher {
  readonly #parts: RedisWatcherParts;
  readonly #watched = new Watched();
  /** When each name is looked at next; one timer for the first of them. */
  readonly #dueAtMs = new Map<Name, number>();
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = Infinity;
  /** What was last seen. */
  readonly #seen = new Map<Name, string>();
  readonly #names = new Map<string, Name>();
  #listening: Promise<Listening> | undefined;
  #heard = new Set<Name>();

  constructor(parts: RedisWatcherParts) {
    this.#parts = parts;
  }

  /** Returns how to stop. */
  add(names: readonly Name[], mailbox: Mailbox): () => void {
    const fresh = names.filter((name) => !this.#watched.has(name));
    this.#watched.add(names, mailbox);
    void this.#begin(fresh, names, mailbox);
    return () => {
      for (const name of names) this.#remove(name, mailbox);
    };
  }

  /**
   * It listens first and looks then, so that changes in between are heard. Nobody may watch any more by then, and the store may be closed: a look would connect again, and nobody would end that
   * connection, so that the process could not exit.
   */
  async #begin(fresh: readonly Name[], names: readonly Name[], newcomer: Mailbox): Promise<void> {
    await Promise.all(fresh.map((name) => this.#listenTo(name)));
    const watched = names.filter((name) => this.#watched.has(name));
    if (watched.length > 0) await this.#look(watched, newcomer);
  }

  async #listenTo(name: Name): Promise<void> {
    const { channel, keyspace } = this.#parts;
    try {
      const listening = await (this.#listening ??= this.#listen());
      await listening.add(channel(name));
      const events = keyspace?.channelOf(name);
      const canHear = events === undefined || (await canAdd(listening, events));
      if (!this.#watched.has(name)) return;
      this.#names.set(channel(name), name);
      if (events !== undefined) this.#names.set(events, name);
      if (canHear) this.#heard.add(name);
    } catch {
      this.#stopListening(); // looks replace it, until another watch begins
    }
  }

  #listen(): Promise<Listening> {
    const { port, keyspace } = this.#parts;
    const listening: Promise<Listening> = port.listen({
      heard: (from, message) => {
        if (keyspace?.isChange(from, message) !== false) this.#told(from);
      },
      broken: () => {
        if (this.#listening === listening) this.#broken(); // not a connection that was stopped before
      },
    });
    void listening.then((each) => keyspace?.begin(each)).catch(() => {}); // there is none
    return listening;
  }

  #told(channel: string): void {
    const name = this.#names.get(channel);
    if (name !== undefined) void this.#look([name]);
  }

  /** Callers that still want a watch begin one again. */
  #broken(): void {
    this.#stopListening();
    this.#watched.endAll();
  }

  /** A seat that is free already was given back between the look that led to this watch and now. The newcomer is told, whatever others were told before. */
  async #look(names: readonly Name[], newcomer?: Mailbox): Promise<void> {
    const glances = (await this.#parts.look(names)) ?? [];
    for (const [index, name] of names.entries()) {
      if (!this.#watched.has(name)) continue;
      const glance = glances[index];
      if (glance !== undefined) this.#tell(glance.seat, newcomer);
      this.#lookLater(name, glance);
    }
  }

  #tell(seat: Seat, newcomer: Mailbox | undefined): void {
    const [before, now] = [this.#seen.get(seat.name), `${seat.state} ${seat.holder?.bid} ${seat.holder?.value}`];
    this.#seen.set(seat.name, now);
    if (before === undefined ? seat.state !== "held" : before !== now) this.#watched.tell(seat.name, seat);
    else if (seat.state !== "held") newcomer?.put({ name: seat.name, seat });
  }

  #lookLater(name: Name, glance: Glance | undefined): void {
    const leftMs = glance?.seat.state === "held" ? glance.leftMs : undefined;
    const hearsAll = this.#parts.keyspace?.isOn !== false;
    const isHeard = this.#heard.has(name) && hearsAll && glance !== undefined;
    const most = isHeard ? LOOK_AT_LATEST_MS : LOOK_EVERY_MS;
    const waitMs = Math.min(most, Math.max(LOOK_AFTER_MS, (leftMs ?? most) + 1));
    const dueAtMs = performance.now() + waitMs;
    this.#dueAtMs.set(name, dueAtMs);
    this.#wakeAt(dueAtMs);
  }

  #wakeAt(atMs: number): void {
    if (atMs >= this.#timerAtMs) return;
    clearTimeout(this.#timer);
    this.#timerAtMs = atMs;
    this.#timer = setTimeout(() => this.#lookAtDue(), Math.max(0, atMs - performance.now())).unref();
  }

  /** Names that are due soon are looked at together with those that are due. If a lease has not run out by then, another look follows at its time. */
  #lookAtDue(): void {
    this.#timerAtMs = Infinity;
    const untilMs = performance.now() + TOGETHER_MS;
    const due: Name[] = [];
    let next = Infinity;
    for (const [name, atMs] of this.#dueAtMs)
      if (atMs <= untilMs) due.push(name);
      else next = Math.min(next, atMs);
    for (const name of due) this.#dueAtMs.delete(name);
    for (let from = 0; from < due.length; from += NAMES_MAX) void this.#look(due.slice(from, from + NAMES_MAX));
    if (next < Infinity) this.#wakeAt(next);
  }

  #remove(name: Name, mailbox: Mailbox): void {
    if (!this.#watched.remove(name, mailbox)) return;
    this.#dueAtMs.delete(name);
    this.#seen.delete(name);
    this.#heard.delete(name);
    const channels = [this.#parts.channel(name), this.#parts.keyspace?.channelOf(name) ?? []].flat();
    for (const channel of channels) this.#names.delete(channel);
    if (this.#watched.size === 0) this.#stopListening();
    else void this.#listening?.then((each) => channels.forEach((channel) => each.remove(channel))).catch(() => {}); // it was never heard
  }

  #stopListening(): void {
    const listening = this.#listening;
    this.#listening = undefined;
    this.#heard = new Set();
    this.#names.clear();
    this.#parts.keyspace?.end();
    void listening?.then((each) => each.stop()).catch(() => {}); // there was none
  }
}

/** A user may have the right to listen to our channels, but not to those of the server. */
async function canAdd(listening: Listening, channel: string): Promise<boolean> {
  try {
    await listening.add(channel);
    return true;
  } catch {
    return false;
  }
}
