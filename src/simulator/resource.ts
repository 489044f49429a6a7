// A resource that leaders write to, in both worlds: it remembers the newest token that it has met, and judges each write by the rule of the guards that ship
// (fencing/rule.ts). A rule that is wrong there is found here.
import { judge, leave, type Move, type Numbered, type Objection, type Remembered } from "../fencing/rule.ts";

export class Resource {
  #remembered: Remembered | undefined;

  fork(): Resource {
    const fork = new Resource();
    fork.#remembered = this.#remembered;
    return fork;
  }

  /** The domain of the tokens that it accepts; undefined until the first write. */
  get domain(): string | undefined {
    return this.#remembered?.domain;
  }

  write(token: Numbered): "accepted" | Objection {
    const judged = judge(this.#remembered, token);
    if (typeof judged === "string") return judged;
    this.#remembered = judged;
    return "accepted";
  }

  /** An operator moves it to tokens of another domain. False: it was moved before, or is elsewhere. */
  adopt(move: Move): boolean {
    const moved = this.#remembered === undefined ? "elsewhere" : leave(this.#remembered, move);
    if (moved === "elsewhere" || moved === this.#remembered) return false;
    this.#remembered = moved;
    return true;
  }
}
