// Hints on their way from a store to its watchers, the same for every store. A watch lasts until its signal aborts, its source breaks, its reader has
// enough, or the store is closed.
//
// INVARIANT  a mailbox holds at most three hints a name, the latest of each kind: a slow reader costs no memory. What is said of a memo or of an invitation
//            says nothing of the seat, and must not take the place of a hint that does
// INVARIANT  a source is stopped once, when its mailbox ends, for whatever reason
import type { Hint } from "../lease/exchange.ts";

const END: IteratorResult<Hint> = { done: true, value: undefined };

/** Hints on their way to one reader. Ends by `end`, or when the reader stops; both are final. */
export class Mailbox implements AsyncIterator<Hint> {
  readonly #hints = new Map<string, Hint>();
  readonly #readers: ((result: IteratorResult<Hint>) => void)[] = [];
  readonly #whenEnded: () => void;
  #ended = false;

  constructor(whenEnded: () => void) {
    this.#whenEnded = whenEnded;
  }

  put(hint: Hint): void {
    if (this.#ended) return;
    const reader = this.#readers.shift();
    if (reader === undefined) this.#hints.set(slotOf(hint), hint);
    else reader({ done: false, value: hint });
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#hints.clear();
    for (const reader of this.#readers.splice(0)) reader(END);
    this.#whenEnded();
  }

  next(): Promise<IteratorResult<Hint>> {
    if (this.#ended) return Promise.resolve(END);
    for (const [slot, hint] of this.#hints) {
      this.#hints.delete(slot);
      return Promise.resolve({ done: false, value: hint });
    }
    return new Promise((resolve) => this.#readers.push(resolve));
  }

  return(): Promise<IteratorResult<Hint>> {
    this.end();
    return Promise.resolve(END);
  }
}

function slotOf({ name, memo, invited }: Hint): string {
  if (invited !== undefined) return `${name}\ninvited`;
  return memo === undefined ? name : `${name}\nmemo`;
}

/** The watches of one store. */
export class Mailboxes {
  readonly #open = new Set<Mailbox>();

  /** `begin` starts what fills the mailbox, and returns how to stop it. Not called for a signal that has aborted. */
  watch(signal: AbortSignal, begin: (mailbox: Mailbox) => () => void): AsyncIterable<Hint> {
    return { [Symbol.asyncIterator]: () => this.#start(signal, begin) };
  }

  #start(signal: AbortSignal, begin: (mailbox: Mailbox) => () => void): AsyncIterator<Hint> {
    let stop = (): void => {};
    const mailbox = new Mailbox(() => {
      stop();
      this.#open.delete(mailbox);
      signal.removeEventListener("abort", end);
    });
    const end = (): void => mailbox.end();
    this.#open.add(mailbox);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
    else stop = begin(mailbox);
    if (!this.#open.has(mailbox)) stop(); // it ended while it began
    return mailbox;
  }

  endAll(): void {
    for (const mailbox of this.#open) mailbox.end();
  }
}
