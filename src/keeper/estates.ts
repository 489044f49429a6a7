// What an app has at its stores, as its keeper knows it. The app tells of everything that it may have written at a store before it sends the request
// (election/kept-store.ts). So this list may name too much, which does no harm (will.ts), and misses nothing that was told.
import { asBid, type Session, type Will } from "../stores/contract.ts";
import type { KeptHold, KeptSession, ToAppKeeper } from "./messages.ts";

/** One session of the app. */
export interface SessionEstate {
  readonly url: string;
  readonly quietMs: number;
  readonly life: number | undefined;
  session: KeptSession;
  readonly holds: Map<string, string>;
}

type OfSession = Exclude<ToAppKeeper, { word: "hello" | "peer" | "farewell" }>;

export class Estates {
  readonly #all = new Map<number, SessionEstate>();

  enter(word: OfSession): void {
    if (word.word === "session") {
      const { key, url, quietMs, life, session, holds } = word;
      this.#all.set(key, { url, quietMs, life, session, holds: new Map(holds.map(entryOf)) });
      return;
    }
    if (word.word === "over") return void this.#all.delete(word.key);
    const estate = this.#all.get(word.key);
    if (estate === undefined) return;
    if (word.word === "beats") estate.session = { ...estate.session, beats: word.beats };
    else if (word.word === "claimed") for (const { name, bid } of word.holds) estate.holds.set(name, bid);
    else strike(estate.holds, word.holds);
  }

  of(key: number): SessionEstate | undefined {
    return this.#all.get(key);
  }

  all(): readonly SessionEstate[] {
    return [...this.#all.values()];
  }

  /** How long the rivals that watch a descriptor have to wait: the longest `quietMs` of the sessions that it belongs to. */
  quietMsOf(life: number): number {
    return Math.max(0, ...this.all().map((estate) => (estate.life === life ? estate.quietMs : 0)));
  }
}

/** A will names session and bids: a later process with the same name and the same id has others. */
export function willOf({ session, holds }: SessionEstate): Will {
  const named = [...holds].map(([name, bid]) => ({ name, bid: asBid(bid) }));
  return { session: session as Session, holds: named, endSession: true };
}

/** A name that was claimed again since then, with another bid, stays. */
export function strike(holds: Map<string, string>, returned: readonly KeptHold[]): void {
  for (const { name, bid } of returned) if (holds.get(name) === bid) holds.delete(name);
}

function entryOf({ name, bid }: KeptHold): readonly [string, string] {
  return [name, bid];
}
