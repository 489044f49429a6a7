// One handle on a shelf: the six methods of the contract, promises around the model. A call is applied at once and answered in a later job; it is
// unknown only if its signal had aborted before. Closing ends the watches of this handle, which are all that it opened; it can be used again.
import { unknown } from "../../base/outcome.ts";
import type {
  Claim,
  Claimed,
  Hint,
  Hold,
  Invitation,
  Invited,
  Kept,
  Looked,
  MemosRead,
  MemoWrite,
  MemoWritten,
  Name,
  Question,
  Released,
  Session,
  SessionSpec,
  Token,
  Will,
} from "../../lease/exchange.ts";
import type { Guarantee } from "../../lease/guarantee.ts";
import type {
  AskedToLeave,
  Call,
  FencedStore,
  KeepsMemos,
  ListedNames,
  ListsNames,
  PassesInvitations,
  Reopenable,
  ShownNext,
  ShowsNext,
} from "../contract.ts";
import { isGivenUp } from "../call.ts";
import { Mailboxes } from "../mailbox.ts";
import type { SharedShelf } from "./shared-shelf.ts";

export class MemoryStore implements FencedStore, PassesInvitations, ShowsNext, KeepsMemos, ListsNames, Reopenable {
  readonly url: string;
  readonly guarantee: Guarantee<"fenced">;
  readonly #shared: SharedShelf;
  readonly #mailboxes = new Mailboxes();

  constructor(shared: SharedShelf, url: string) {
    this.url = url;
    this.guarantee = shared.guarantee;
    this.#shared = shared;
  }

  async keep(session: Session | SessionSpec, holds: readonly Hold[], call: Call): Promise<Kept> {
    if (isGivenUp(call)) return unknown(call.signal.reason);
    return this.#shared.access((shelf, nowMs) => {
      const kept = shelf.keep(session, holds, nowMs);
      if ("nonce" in session && kept.kind === "kept") this.#shared.expectEnd(nowMs + kept.session.ttlMs);
      return kept;
    });
  }

  async claim(claims: readonly Claim[], call: Call): Promise<readonly Claimed[]> {
    if (isGivenUp(call)) return claims.map(() => unknown(call.signal.reason));
    return this.#shared.access((shelf, nowMs) => {
      const claimed = claims.map((claim) => shelf.claim(claim, nowMs));
      for (const { name } of claims) this.#shared.claimed.add(name);
      // A swap over a silent session's seat ends that session, and so changes seats that were not claimed.
      this.#shared.tell(this.guarantee.judge === "taker" ? undefined : claims.map(({ name }) => name));
      return claimed;
    });
  }

  async release(will: Will, call: Call): Promise<Released> {
    if (isGivenUp(call)) return unknown(call.signal.reason);
    return this.#shared.access((shelf, nowMs) => {
      shelf.release(will, nowMs);
      this.#shared.tell(will.endSession ? undefined : will.holds.map(({ name }) => name));
      return { kind: "released" };
    });
  }

  async look(questions: readonly Question[], call: Call): Promise<Looked> {
    if (isGivenUp(call)) return unknown(call.signal.reason);
    return this.#shared.access((shelf, nowMs) => ({
      kind: "seen",
      seats: questions.map((question) => shelf.look(question, nowMs)),
    }));
  }

  async askToLeave(name: Name, token: Token, call: Call): Promise<AskedToLeave> {
    if (isGivenUp(call)) return unknown(call.signal.reason);
    return this.#shared.access((shelf, nowMs): AskedToLeave => {
      if (!shelf.askToLeave(name, token)) return { kind: "not-leading", seat: shelf.look({ name }, nowMs) };
      this.#shared.tellAsked(name);
      return { kind: "asked" };
    });
  }

  async invite(name: Name, invitation: Invitation, call: Call): Promise<Invited> {
    if (isGivenUp(call)) return unknown(call.signal.reason);
    this.#shared.tellInvited(name, invitation);
    return { kind: "told" };
  }

  async showNext(name: Name, token: Token, call: Call): Promise<ShownNext> {
    if (isGivenUp(call)) return unknown(call.signal.reason);
    return this.#shared.access((shelf) => shelf.showNext(name, token));
  }

  async writeMemo(write: MemoWrite, call: Call): Promise<MemoWritten> {
    if (isGivenUp(call)) return unknown(call.signal.reason);
    return this.#shared.access((shelf, nowMs) => {
      const written = shelf.writeMemo(write, nowMs);
      if (written.kind === "written") this.#shared.tellMemo(write.hold.name, write.key);
      if (written.kind === "written" && write.ban?.endsSessions === true) this.#shared.tell();
      return written;
    });
  }

  async readMemos(name: Name, key: string | undefined, call: Call): Promise<MemosRead> {
    if (isGivenUp(call)) return unknown(call.signal.reason);
    return this.#shared.access((shelf) => ({ kind: "memos", memos: shelf.readMemos(name, key) }));
  }

  async listNames(most: number, call: Call): Promise<ListedNames> {
    if (isGivenUp(call)) return unknown(call.signal.reason);
    const names = [...this.#shared.claimed].toSorted();
    return { kind: "listed", names: names.slice(0, most), isWhole: names.length <= most };
  }

  watch(questions: readonly Question[], call: Call): AsyncIterable<Hint> {
    return this.#mailboxes.watch(call.signal, (mailbox) => this.#shared.watch(questions, mailbox));
  }

  async close(): Promise<void> {
    this.#mailboxes.endAll();
  }
}
