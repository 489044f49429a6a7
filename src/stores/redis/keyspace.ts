// The server's own events of keys, if they are switched on (notify-keyspace-events with K, $, g and x, or KA). They tell of every change by any client: also of a lock that another
// library gives back. The server is not asked whether they are on, because CONFIG is often forbidden. Instead a key is written and removed: if that is heard, they are on. So the number of the
// database, which is a part of their names, need not be certain either: with a wrong number nothing is heard.
import type { Listening } from "../../clients/redis/port.ts";

/** The events that free a key, or give it to another client. A later expiry changes nothing for those who wait. */
const CHANGES = new Set(["set", "del", "expired", "evicted", "rename_from", "rename_to"]);

export interface KeyspaceParts {
  readonly database: number;
  /** The key that is written and removed. */
  readonly probeKey: string;
  readonly probe: () => Promise<unknown>;
}

export class Keyspace {
  readonly #parts: KeyspaceParts;
  #listening: Listening | undefined;
  #heard = new Set<string>();

  constructor(parts: KeyspaceParts) {
    this.#parts = parts;
  }

  /** Whether all changes are heard. */
  get isOn(): boolean {
    return this.#heard.has("set") && this.#heard.has("del");
  }

  channelOf(key: string): string {
    return `__keyspace@${this.#parts.database}__:${key}`;
  }

  /** Finds out whether they are on. Never rejects: a user without the right hears nothing. */
  async begin(listening: Listening): Promise<void> {
    this.#listening = listening;
    this.#heard = new Set();
    try {
      await listening.add(this.#probeChannel);
      await this.#parts.probe();
    } catch {
      // They are off for this user.
    }
  }

  end(): void {
    this.#listening = undefined;
    this.#heard = new Set();
  }

  /** Whether something has changed that is worth a look. For a message of another kind the answer is always yes. */
  isChange(channel: string, message: string): boolean {
    if (channel !== this.#probeChannel) return !channel.startsWith("__keyspace@") || CHANGES.has(message);
    this.#heard.add(message);
    if (this.isOn) this.#listening?.remove(channel); // others ask, too
    return false;
  }

  get #probeChannel(): string {
    return this.channelOf(this.#parts.probeKey);
  }
}
