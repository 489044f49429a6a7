// Requests to hand over, as an operator makes them: a token that was seen to lead, sent to the store now or much later. The shelf decides what the store does with a request. A store may keep requests
// where a grant does not reach them (`showsOldRequests`): then it shows the last one to the present holder, and the holder must find out by itself that another term is meant.
import { nextChance, nextOf, type Rng } from "../../base/rng.ts";
import type { Hold, Kept, Name, Session, SessionSpec, Token } from "../../lease/exchange.ts";
import type { Answer, Request } from "../../lease/state.ts";
import type { Shelf } from "../models/shelf.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { Watchers } from "./audience.ts";
import type { Counts } from "./counts.ts";
import { TOKEN_DOMAIN } from "./guarantees.ts";
import type { Observation } from "./observation.ts";

interface Surroundings {
  readonly kernel: Kernel;
  readonly counts: Counts;
  readonly rng: Rng;
  observe(observation: Observation): void;
}

/** The place where requests arrive. `domain`: that of the tokens that the store gives now. */
interface RequestTarget {
  readonly shelf: Shelf;
  readonly domain: string;
  readonly audience: Watchers;
}

type Words = Extract<Request, { method: "askToLeave" | "invite" }>;

export class Requests {
  readonly #world: Surroundings;
  readonly #showsOld: boolean;
  readonly #place: () => RequestTarget;
  readonly #candidates = new Set<string>();
  readonly #granted = new Map<Name, Token[]>();
  readonly #last = new Map<Name, Token>();

  constructor(world: Surroundings, showsOld: boolean, place: () => RequestTarget) {
    this.#world = world;
    this.#place = place;
    this.#showsOld = showsOld;
  }

  granted(name: Name, token: Token): void {
    this.#granted.set(name, [...(this.#granted.get(name) ?? []), token]);
  }

  /** A candidate that has opened a session. */
  met(session: Session | SessionSpec): void {
    if ("nonce" in session) this.#candidates.add(session.candidate);
  }

  /** An operator has seen the latest term of `name`, or one of those before it. Returns a function that lets the request arrive; undefined if there was no term. */
  ask(name: Name): (() => void) | undefined {
    const token = this.#draw(name, 0.4);
    if (token === undefined) return undefined;
    this.#world.counts.requests++;
    this.#world.observe({ type: "asked", atMs: this.#world.kernel.nowMs, election: name, token });
    return () => void this.#arrive(name, token);
  }

  /** Likewise: an operator wants a candidate to lead after that term, or says in its name that it has a priority. */
  invite(name: Name): (() => void) | undefined {
    const token = this.#draw(name, 0.4);
    if (token === undefined) return undefined;
    this.#world.counts.invitations++;
    const to = nextOf(this.#world.rng, [...this.#candidates]);
    const priority = nextChance(this.#world.rng, 0.5) ? 3 : undefined;
    return () => void this.hear({ method: "invite", name, invitation: { token, to, priority } });
  }

  #draw(name: Name, oldChance: number): Token | undefined {
    const { rng } = this.#world;
    const tokens = this.#granted.get(name) ?? [];
    return tokens.length > 1 && nextChance(rng, oldChance) ? nextOf(rng, tokens.slice(0, -1)) : tokens.at(-1);
  }

  /** Receives a message that a machine sends to others through the store. The answer changes nothing for the machine. */
  hear(request: Words): Answer {
    const { counts, kernel } = this.#world;
    const { name } = request;
    if (request.method === "askToLeave") {
      counts.invitationsAnswered++;
      this.#world.observe({ type: "asked", atMs: kernel.nowMs, election: name, token: request.token });
      return this.#arrive(name, request.token);
    }
    const { invitation } = request;
    if (invitation.priority !== undefined) counts.pleas++;
    this.#world.observe({ type: "invited", atMs: kernel.nowMs, election: name, invitation });
    this.#place().audience.invite(name, invitation);
    return { kind: "told" };
  }

  /** The store keeps the request, or finds that it is too late. Its shelf knows only the first domain. */
  #arrive(name: Name, token: Token): Answer {
    const { shelf, domain, audience } = this.#place();
    this.#last.set(name, token);
    const isKept = token.domain === domain && shelf.askToLeave(name, { ...token, domain: TOKEN_DOMAIN });
    if (isKept) audience.tell([name], true);
    else this.#world.counts.requestsTooLate++;
    return { kind: "asked" };
  }

  /** Returns the answer to a keep, with the requests that its holds are shown. */
  shown(kept: Kept, holds: readonly Hold[], domain: string): Kept {
    if (kept.kind !== "kept" || this.#last.size === 0) return kept;
    const asked = (kept.asked ?? []).map(({ name, bid, token }) => ({
      name,
      bid,
      token: token && { ...token, domain },
    }));
    const old = this.#showsOld ? holds.flatMap((hold) => this.#old(hold)) : [];
    return { ...kept, asked: [...old, ...asked] };
  }

  #old({ name, bid }: Hold): readonly Hold[] {
    const token = this.#last.get(name);
    return token === undefined ? [] : [{ name, bid, token }];
  }
}
