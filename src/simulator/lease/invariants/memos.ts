// MEMOS. A memo is written only for the term that was granted last. Memos of one key are written in the order of (token, n). A write that was acknowledged was written. A read shows the latest memo that
// was acknowledged before the read was sent, or a later one. And nothing is sent for a term that is not held.
// Source: docs/MEMOS.md, docs/adr/0037-memos.md. Not checked across a failover that forgot: memos that were acknowledged before may be gone. Sends of a process whose clock stood still are not checked:
// by its own clock its term is held.
import type { StoredMemo, MemoWrite, Token } from "../../../lease/exchange.ts";
import type { Request } from "../../../lease/state.ts";
import type { Ears, LeaseInvariant, Judgement, ObservationOf, Who } from "../observation.ts";

/** The order of memos. */
interface MemoOrder {
  readonly token: Pick<Token, "value" | "bid"> | undefined;
  readonly n: number;
}

interface Asked {
  readonly request: Request;
  /** For a read: the latest memo that was acknowledged when it was sent. */
  readonly known: MemoOrder | undefined;
}

export class Memos implements LeaseInvariant {
  readonly name = "memos";
  readonly hears: Ears = {
    sent: (observation) => this.#sent(observation),
    granted: ({ election, token }) => void this.#granted.set(election, token),
    noted: ({ write }) => this.#noted(write),
    answer: (observation) => this.#answered(observation),
    meddled: ({ act }) => {
      if (act === "forgot") this.#forget();
    },
    died: ({ who }) => void this.#asked.delete(who),
  };
  readonly #judgement: Judgement;
  readonly #asked = new Map<Who, Map<number, Asked>>();
  readonly #granted = new Map<string, Token>();
  #last = new Map<string, MemoOrder>();
  #acknowledged = new Map<string, MemoOrder>();
  #written = new Set<string>();

  constructor(judgement: Judgement) {
    this.#judgement = judgement;
  }

  #sent({ who, errand, request }: ObservationOf<"sent">): void {
    if (request.method !== "writeMemo" && request.method !== "readMemos") return;
    const known = request.method === "readMemos" ? this.#acknowledged.get(keyOf(request.name, request.key)) : undefined;
    const asked = this.#asked.get(who) ?? new Map<number, Asked>();
    this.#asked.set(who, asked.set(errand, { request, known }));
    if (request.method === "readMemos") return;
    const { name, bid } = request.write.hold;
    if (!this.#judgement.probes.isHeld(who, name, bid))
      this.#judgement.violate(this.name, `${who.label} sends a memo of "${name}" (bid ${bid}), which it does not hold`);
  }

  #noted(write: MemoWrite): void {
    const key = keyOf(write.hold.name, write.key);
    const place = placeOf(write);
    const last = this.#last.get(key);
    if (last !== undefined && !isAfter(place, last))
      this.#judgement.violate(this.name, `the memo ${key} of ${show(place)} was written after that of ${show(last)}`);
    const seat = this.#granted.get(write.hold.name);
    if (!this.#hasForgotten && (seat?.bid !== write.hold.bid || seat.value !== write.hold.token?.value))
      this.#judgement.violate(
        this.name,
        `the memo ${key} of ${show(place)} was written after a grant of ${seat?.value}`,
      );
    this.#last.set(key, place);
    this.#written.add(idOf(write));
  }

  #answered({ who, errand, answer }: ObservationOf<"answer">): void {
    const asked = this.#asked.get(who)?.get(errand);
    this.#asked.get(who)?.delete(errand);
    if (asked?.request.method === "writeMemo" && answer.kind === "written") this.#acknowledge(asked.request.write);
    if (asked?.request.method === "readMemos" && answer.kind === "memos")
      this.#read(keyOf(asked.request.name, asked.request.key), asked.known, answer.memos[0]);
  }

  #acknowledge(write: MemoWrite): void {
    const key = keyOf(write.hold.name, write.key);
    const place = placeOf(write);
    if (!this.#written.has(idOf(write)) && !this.#hasForgotten)
      this.#judgement.violate(this.name, `the memo ${key} of ${show(place)} was acknowledged, and never written`);
    const known = this.#acknowledged.get(key);
    if (known === undefined || isAfter(place, known)) this.#acknowledged.set(key, place);
  }

  #read(key: string, known: MemoOrder | undefined, memo: StoredMemo | undefined): void {
    if (known === undefined || this.#hasForgotten) return;
    if (memo === undefined || isAfter(known, memo))
      this.#judgement.violate(
        this.name,
        `a read of ${key} shows ${show(memo)}, although ${show(known)} was acknowledged`,
      );
  }

  /** From here on an answer may be one from before the forgetting. */
  #hasForgotten = false;

  #forget(): void {
    this.#hasForgotten = true;
    this.#last = new Map();
    this.#acknowledged = new Map();
    this.#written = new Set();
  }
}

function keyOf(name: string, key: string | undefined): string {
  return `"${key ?? ""}" of "${name}"`;
}

function placeOf({ hold, n }: MemoWrite): MemoOrder {
  return { token: hold.token, n };
}

function idOf(write: MemoWrite): string {
  return JSON.stringify([
    write.hold.name,
    write.key,
    write.hold.bid,
    `${write.hold.token?.value}`,
    write.n,
    write.value,
  ]);
}

function isAfter(a: MemoOrder, b: MemoOrder): boolean {
  const [value, other] = [a.token?.value ?? 0n, b.token?.value ?? 0n];
  return value === other ? a.n > b.n : value > other;
}

function show(place: MemoOrder | undefined): string {
  return place === undefined ? "nothing" : `(${place.token?.value ?? "none"}, ${place.n})`;
}
