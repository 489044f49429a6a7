// Makes the events for the listeners of a candidate from the events of the runner: repeated errors are folded (troubles.ts), a caller that waits hears which candidate it waits
// for, and an event with a token can be written as JSON. Nothing here acts on anything.
import type { ConclaveError } from "../base/errors.ts";
import { withJson } from "../base/json.ts";
import type { ConclaveEvent } from "../lease/events.ts";
import type { Holder, Name, Token } from "../lease/exchange.ts";
import type { Answer, Request } from "../lease/state.ts";
import { Troubles } from "./troubles.ts";

export interface NarratorOptions {
  readonly nowMs: () => number;
  readonly ttlMs: number;
  /** True if the error has been thrown at the caller that waited for it, and nothing goes on trying. */
  readonly isDelivered: (error: ConclaveError) => boolean;
  readonly tell: (event: ConclaveEvent) => void;
}

interface Wait {
  leader: Holder | undefined;
  /** The holder that the last `waiting` event has named. Undefined before the first one. */
  told: string | undefined;
}

const NOBODY = "nobody";

export class Narrator {
  readonly #options: NarratorOptions;
  readonly #troubles: Troubles;
  readonly #waits = new Map<Name, Wait>();

  constructor(options: NarratorOptions) {
    this.#options = options;
    this.#troubles = new Troubles(options.nowMs, options.ttlMs);
  }

  /** Takes one event of the runner. */
  hear(event: ConclaveEvent): void {
    switch (event.type) {
      case "error":
        if (this.#options.isDelivered(event.error) || this.#troubles.isNews(event)) this.#options.tell(event);
        return;
      case "waiting":
        return this.#wait(event.election);
      case "leader":
        return this.#leads(event.election, event.leader);
      case "elected":
        this.#recover("grant", event.election);
        this.#waits.delete(event.election);
        return this.#options.tell({ ...event, token: event.token && publicToken(event.token) });
      case "session":
        if (event.state === "opened") this.#recover("open");
        return this.#options.tell(event);
      case "renewed":
        this.#recover("renew");
        return this.#options.tell(event);
      case "standing":
      case "state":
      case "lost":
      case "overstayed":
      case "settled":
      case "schedule":
      case "released":
      case "handed-back":
      case "recovered":
      case "warning":
        return this.#options.tell(event);
    }
  }

  /** The store has answered a request. Keeps are not reported here: their events are `session` and `renewed`. */
  answered(request: Request, answer: Answer): void {
    if (request.method === "release" && answer.kind === "released") this.#recover("release");
    if (request.method === "look" && answer.kind === "seen")
      for (const { name } of request.questions) this.#recover("look", name);
    if (request.method === "readMemos" && answer.kind === "memos") this.#recover("memo", request.name);
    if (request.method === "writeMemo" && answer.kind !== "unknown" && answer.kind !== "refused")
      this.#recover("memo", request.write.hold.name);
    if (request.method === "claim" && answer.kind === "claimed")
      request.claims.forEach(({ name }, index) => {
        const kind = answer.claimed[index]?.kind;
        if (kind !== undefined && kind !== "unknown" && kind !== "refused") this.#recover("claim", name);
      });
  }

  /** An observer of this election can see again. */
  observed(name: Name): void {
    this.#recover("observe", name);
  }

  /** Nobody stands for this name any more. */
  forget(name: Name): void {
    this.#waits.delete(name);
  }

  #recover(...[doing, election]: Parameters<Troubles["worked"]>): void {
    for (const event of this.#troubles.worked(doing, election)) this.#options.tell(event);
  }

  #wait(election: Name): void {
    const wait = this.#waitOf(election);
    const leader = wait.leader?.bid ?? wait.leader?.candidate ?? NOBODY;
    if (wait.told === leader) return;
    wait.told = leader;
    this.#options.tell({ type: "waiting", election, leader: wait.leader });
  }

  #leads(election: Name, holder: Holder | undefined): void {
    const leader = holder && publicHolder(holder);
    this.#options.tell({ type: "leader", election, leader });
    const wait = this.#waitOf(election);
    wait.leader = leader;
    if (wait.told !== undefined && leader !== undefined) this.#wait(election);
  }

  #waitOf(election: Name): Wait {
    let wait = this.#waits.get(election);
    if (wait === undefined) this.#waits.set(election, (wait = { leader: undefined, told: undefined }));
    return wait;
  }
}

function publicHolder({ candidate, bid, token, domain, value }: Holder): Holder {
  return withJson({ candidate, bid, token, domain, value });
}

function publicToken(token: Token): Token {
  return withJson({ domain: token.domain, value: token.value, bid: token.bid });
}
