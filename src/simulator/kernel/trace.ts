// What happened in a world, as typed events: recorded only when asked for, and hashed always. What a reader sees (text, JSON, a transcript, a screen) is
// made from the events; nothing is read back from text.
import { Hash } from "./hash.ts";

/** An event without its time, for each member of a union. */
export type Happening<Event> = Event extends unknown ? Omit<Event, "atMs"> : never;

export class Trace<Event extends { readonly atMs: number }> {
  readonly isRecorded: boolean;
  readonly hash: Hash;
  readonly events: Event[] = [];

  constructor(isRecorded: boolean, hash: Hash = new Hash()) {
    this.isRecorded = isRecorded;
    this.hash = hash;
  }

  /** Events are never changed, so they are shared. */
  fork(): Trace<Event> {
    const fork = new Trace<Event>(this.isRecorded, this.hash.fork());
    for (const event of this.events) fork.events.push(event);
    return fork;
  }

  /** Ask `isRecorded` first: making the event costs more than throwing it away. */
  record(atMs: number, happening: Happening<Event>): void {
    if (this.isRecorded) this.events.push({ atMs, ...happening } as unknown as Event);
  }
}
