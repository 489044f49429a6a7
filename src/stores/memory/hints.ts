// Who watches which names, and what each has been told. A hint is given for a change that matters: another holder, none, or another value; not for
// keeps, which move the version only. An entry of a line is woken when it becomes the first, or ceases to be; everybody else when anything changes.
//
// INVARIANT  a name has a post exactly while somebody watches it
import type { Bid, Invitation, Name, Question, Seat } from "../../lease/exchange.ts";
import type { Mailbox } from "../mailbox.ts";

interface Post {
  seat: Seat;
  readonly watchers: Set<Watcher>;
}

interface Watcher {
  readonly bid: Bid | undefined;
  /** Wants to hear of this memo, and of nothing else. */
  readonly memo: string | undefined;
  readonly mailbox: Mailbox;
}

export class Hints {
  readonly #look: (name: Name) => Seat;
  readonly #posts = new Map<Name, Post>();

  constructor(look: (name: Name) => Seat) {
    this.#look = look;
  }

  get watched(): boolean {
    return this.#posts.size > 0;
  }

  /** Something may have changed at `names`, or anywhere. */
  tell(names: Iterable<Name> = this.#posts.keys()): void {
    for (const name of names) {
      const post = this.#posts.get(name);
      if (post !== undefined) this.#tellPost(name, post);
    }
  }

  #tellPost(name: Name, post: Post): void {
    const before = post.seat;
    const seat = this.#look(name);
    post.seat = seat;
    if (isSame(before, seat)) return;
    for (const { bid, memo, mailbox } of post.watchers)
      if (memo !== undefined) continue;
      else if (bid === undefined || bid === seat.holder?.bid || bid === before.holder?.bid) mailbox.put({ name, seat });
  }

  tellMemo(name: Name, memo: string): void {
    for (const watcher of this.#posts.get(name)?.watchers ?? [])
      if (watcher.memo === memo) watcher.mailbox.put({ name, memo });
  }

  tellAsked(name: Name): void {
    for (const { mailbox } of this.#posts.get(name)?.watchers ?? []) mailbox.put({ name, asked: true });
  }

  tellInvited(name: Name, invited: Invitation): void {
    for (const { memo, mailbox } of this.#posts.get(name)?.watchers ?? [])
      if (memo === undefined) mailbox.put({ name, invited });
  }

  /** Returns how to stop. */
  add(questions: readonly Question[], mailbox: Mailbox): () => void {
    const added = questions.map(({ name, bid, memo }) => ({ name, watcher: { bid, memo, mailbox } }));
    for (const { name, watcher } of added) {
      const post = this.#posts.get(name) ?? { seat: this.#look(name), watchers: new Set() };
      this.#posts.set(name, post);
      post.watchers.add(watcher);
      // It became the first between its claim and this watch.
      if (watcher.bid !== undefined && watcher.bid === post.seat.holder?.bid) mailbox.put({ name, seat: post.seat });
    }
    return () => {
      for (const { name, watcher } of added) this.#remove(name, watcher);
    };
  }

  #remove(name: Name, watcher: Watcher): void {
    const post = this.#posts.get(name);
    post?.watchers.delete(watcher);
    if (post?.watchers.size === 0) this.#posts.delete(name);
  }
}

function isSame(a: Seat, b: Seat): boolean {
  return a.state === b.state && a.holder?.bid === b.holder?.bid && a.holder?.value === b.holder?.value;
}
