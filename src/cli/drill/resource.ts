// The resource that the candidates of a drill write to: a guard that compares tokens, as a real resource would, and counts of who wrote what. It judges whether a write
// of a replaced leader is refused. That no two held at one instant is judged from the candidates' own log.
//
// Without tokens nothing can be refused: a write of a leader that was replaced is then accepted, and counted as such.
import { memoryFence, parseToken, StaleTokenError } from "../../fencing/index.ts";
import type { Write } from "./messages.ts";

const RESOURCE = "drill";

/** The writes of one process, as the resource has seen them. */
export interface WriteCounts {
  readonly id: string;
  arrived: number;
  accepted: number;
  refused: number;
  lastToken: bigint;
}

export class DrillResource {
  readonly #fence = memoryFence();
  readonly #books = new Map<string, WriteCounts>();
  readonly #listeners = new Set<(id: string, token: bigint, isComposed: boolean, isAccepted: boolean) => void>();
  #newest = -1n;
  #last: Promise<void> = Promise.resolve();
  staleRefused = 0;
  staleAccepted = 0;
  /** A sentence for everything that a resource should never see. */
  readonly problems: string[] = [];

  get books(): readonly WriteCounts[] {
    return [...this.#books.values()];
  }

  get newest(): bigint {
    return this.#newest;
  }

  onWrite(listener: (id: string, token: bigint, isComposed: boolean, isAccepted: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Writes are handled one after the other, in the order of arrival. */
  arrive(id: string, write: Write): Promise<void> {
    this.#last = this.#last.then(() => this.#take(id, write));
    return this.#last;
  }

  async #take(id: string, write: Write): Promise<void> {
    const books = this.#booksOf(id);
    const token = BigInt(write.token);
    books.arrived++;
    if (write.number !== books.arrived)
      this.problems.push(`${id} sent write ${write.number}, and ${books.arrived} had arrived`);
    books.lastToken = token;
    const isStale = token < this.#newest;
    const isAccepted = await this.#admit(write);
    if (isAccepted) {
      books.accepted++;
      if (isStale) this.staleAccepted++;
      if (token > this.#newest) this.#newest = token;
    } else {
      books.refused++;
      if (isStale) this.staleRefused++;
      else this.problems.push(`a write of ${id} with the newest token ${token} was refused`);
    }
    for (const listener of this.#listeners) listener(id, token, write.composed, isAccepted);
  }

  async #admit({ fence }: Write): Promise<boolean> {
    if (fence === "") return true;
    try {
      await this.#fence.run(RESOURCE, { token: parseToken(fence) }, () => Promise.resolve());
      return true;
    } catch (error) {
      if (error instanceof StaleTokenError) return false;
      throw error;
    }
  }

  #booksOf(id: string): WriteCounts {
    const books = this.#books.get(id) ?? { id, arrived: 0, accepted: 0, refused: 0, lastToken: 0n };
    this.#books.set(id, books);
    return books;
  }
}
