// Numbers for the writes of one handle to one resource, so that a server can tell a write that it has carried out from one that is new. The server remembers the number of a write that it carries out; a client library may send
// one write twice, and the second copy has the same number.
//
// A writer has a random name, because a handle that forgets its numbers, or a process that starts again, begins with 1. A write keeps its number until it is settled, which means that its caller has been told how
// it ended, also when that is "unknown". `settled` is below all numbers under way: nobody waits for a write with a smaller number, so that it need never be carried out any more.
import { randomId } from "../clients/random.ts";

/** The names and numbers of one write, as a server is told. */
export interface WriteNumber {
  readonly writer: string;
  readonly number: number;
  /** The smallest number that is under way. */
  readonly settledBelow: number;
}

export class WriteNumbers {
  readonly #writer = randomId();
  #last = 0;
  /** In the order of their numbers. */
  readonly #underWay = new Set<number>();

  begin(): number {
    const number = ++this.#last;
    this.#underWay.add(number);
    return number;
  }

  tell(number: number): WriteNumber {
    const [settledBelow = number] = this.#underWay;
    return { writer: this.#writer, number, settledBelow };
  }

  settle(number: number): void {
    this.#underWay.delete(number);
  }
}
