// Which mailboxes watch which names, the same for stores that hear of changes by themselves.
//
// INVARIANT  a name is here exactly while somebody watches it
import type { Invitation, Name, Seat } from "../lease/exchange.ts";
import type { Mailbox } from "./mailbox.ts";

/** The watches of one store, by name. */
export class Watched {
  readonly #mailboxes = new Map<Name, Set<Mailbox>>();

  get size(): number {
    return this.#mailboxes.size;
  }

  has(name: Name): boolean {
    return this.#mailboxes.has(name);
  }

  names(): Iterable<Name> {
    return this.#mailboxes.keys();
  }

  add(names: readonly Name[], mailbox: Mailbox): void {
    for (const name of names) this.#mailboxes.set(name, (this.#mailboxes.get(name) ?? new Set()).add(mailbox));
  }

  /** Whether nobody watches the name any more. */
  remove(name: Name, mailbox: Mailbox): boolean {
    const mailboxes = this.#mailboxes.get(name);
    mailboxes?.delete(mailbox);
    return mailboxes?.size === 0 && this.#mailboxes.delete(name);
  }

  tell(name: Name, seat: Seat): void {
    for (const mailbox of this.#mailboxes.get(name) ?? []) mailbox.put({ name, seat });
  }

  /** The holder was asked to hand over. */
  tellAsked(name: Name): void {
    for (const mailbox of this.#mailboxes.get(name) ?? []) mailbox.put({ name, asked: true });
  }

  /** Somebody is invited to lead next. */
  tellInvited(name: Name, invited: Invitation): void {
    for (const mailbox of this.#mailboxes.get(name) ?? []) mailbox.put({ name, invited });
  }

  /** A memo was written. */
  tellMemo(name: Name, key: string): void {
    for (const mailbox of this.#mailboxes.get(name) ?? []) mailbox.put({ name, memo: key });
  }

  /** A caller that still wants a watch begins one again. */
  endAll(): void {
    const all = new Set([...this.#mailboxes.values()].flatMap((each) => [...each]));
    for (const mailbox of all) mailbox.end();
  }
}
