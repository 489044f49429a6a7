// What a controller sees of the members: one look at all seats, and what their holders have said. Hints cause a look, and so does a timer, because hints get lost. A look does not prove that
// anybody is gone. But if a seat was granted, earlier sessions of that seat are over, whichever look shows it.
import type { Clock } from "../base/clock.ts";
import { ConclaveError } from "../base/errors.ts";
import { noAnswerTo } from "../base/outcome.ts";
import { exchange } from "../election/ask.ts";
import { Watches } from "../election/watches.ts";
import type { StoredMemo, Name, Seat, Store } from "../stores/contract.ts";
import type { Request } from "../lease/state.ts";
import { sessionRef } from "./chunk.ts";
import type { SeatedMember } from "./controller.ts";
import { digestOf } from "./bid-digest.ts";
import { MEMBER_KEY, memberName, reserved } from "./names.ts";
import { parseStatement } from "./texts.ts";

export interface MembersSight {
  readonly members: readonly SeatedMember[];
  /** Id → the token of the present grant of its seat, whichever session has it. */
  readonly granted: ReadonlyMap<string, bigint>;
}

export class MemberLookout {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #group: string;
  readonly #requestTimeoutMs: number;
  readonly #seats: Watches;
  readonly #statements: Watches;
  /** What each seat's memo said when it was last read. */
  readonly #said = new Map<string, StoredMemo>();
  /** Ids whose memo may have changed since. */
  readonly #changed = new Set<string>();
  readonly #watched = new Set<string>();

  constructor(store: Store, clock: Clock, group: string, requestTimeoutMs: number, ring: () => void) {
    this.#store = store;
    this.#clock = clock;
    this.#group = group;
    this.#requestTimeoutMs = requestTimeoutMs;
    const idOf = (name: Name): string => name.slice(memberName(group, "").length);
    this.#seats = new Watches(store, clock, () => ring());
    this.#statements = new Watches(store, clock, ({ name }) => {
      this.#changed.add(idOf(name));
      ring();
    });
  }

  close(): void {
    this.#seats.close();
    this.#statements.close();
  }

  /** `doubted`: ids whose memo is read even if no hint came. Rejects if anything could not be read, because half a view would move partitions for nothing. */
  async look(ids: ReadonlySet<string>, doubted: ReadonlySet<string>): Promise<MembersSight> {
    for (const id of ids) this.#watch(id);
    const list = [...ids];
    const seats = list.length === 0 ? [] : await this.#lookAt(list.map((id) => memberName(this.#group, id)));
    const members: SeatedMember[] = [];
    const granted = new Map<string, bigint>();
    await Promise.all(
      list.map(async (id, place) => {
        const token = seats[place]?.holder?.token;
        if (token === undefined) return;
        granted.set(id, token);
        const memo = await this.#statementOf(id, token, doubted.has(id));
        if (memo === undefined) return;
        const { weight, zone, acks } = parseStatement(memo.value);
        members.push({ session: sessionRef(id, token, digestOf(memo.token.bid)), weight, zone, acks });
      }),
    );
    return { members, granted };
  }

  #watch(id: string): void {
    if (this.#watched.has(id)) return;
    this.#watched.add(id);
    const name = memberName(this.#group, id);
    this.#seats.add({ name });
    this.#statements.add({ name, memo: reserved(MEMBER_KEY) });
  }

  /** What exactly this term has said; undefined: nothing yet. */
  async #statementOf(id: string, token: bigint, isDoubted: boolean): Promise<StoredMemo | undefined> {
    const known = this.#said.get(id);
    if (known?.token.value === token && !isDoubted && !this.#changed.has(id)) return known;
    this.#changed.delete(id);
    try {
      const key = reserved(MEMBER_KEY);
      const memos = await this.readMemos(memberName(this.#group, id), key);
      const memo = memos.find((each) => each.key === key);
      if (memo === undefined || memo.token.value !== token) return undefined;
      this.#said.set(id, memo);
      return memo;
    } catch (error) {
      this.#changed.add(id);
      throw error;
    }
  }

  async #lookAt(names: readonly Name[]): Promise<readonly Seat[]> {
    const answer = await this.#ask({ method: "look", questions: names.map((name) => ({ name })) });
    if (answer.kind === "seen") return answer.seats;
    throw failure("a look at the members", answer);
  }

  /** A linearizable read. */
  async readMemos(name: Name, key: string | undefined): Promise<readonly StoredMemo[]> {
    const answer = await this.#ask({ method: "readMemos", name, key });
    if (answer.kind === "memos") return answer.memos;
    throw failure(`a read of the memos of "${name}"`, answer);
  }

  #ask(request: Request): Promise<Parameters<Parameters<typeof exchange>[5]>[0]> {
    return new Promise((resolve) => {
      exchange(this.#store, this.#clock, request, this.#requestTimeoutMs, this.#clock.now(), resolve);
    });
  }
}

function failure(what: string, answer: { readonly kind: string }): ConclaveError {
  if (answer.kind === "refused") {
    const { code, message, retryable, cause } = answer as Extract<
      Awaited<ReturnType<Store["look"]>>,
      { kind: "refused" }
    >;
    return new ConclaveError(code, message, { retryable, cause });
  }
  const cause = "cause" in answer ? answer.cause : undefined;
  return new ConclaveError("STORE_TIMEOUT", noAnswerTo(what, cause), { cause });
}
