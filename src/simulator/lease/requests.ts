// Requests to hand over, as somebody with a command line makes them: a token that was seen to lead, sent to the store now or much later. What the store does with
// one is the shelf's affair. A store may keep requests where a grant does not reach them (`showsOldRequests`): then it shows the last one to the present
// holder, and the holder must find out by itself that it is not meant.
import { nextChance, nextOf, type Rng } from "../../base/rng.ts";
import type { Hold, Kept, Name, Token } from "../../lease/exchange.ts";
import type { Shelf } from "../models/shelf.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { Counts } from "./counts.ts";
import { TOKEN_DOMAIN } from "./guarantees.ts";
import type { Observation } from "./observation.ts";

interface Surroundings {
  readonly kernel: Kernel;
  readonly counts: Counts;
  readonly rng: Rng;
  observe(observation: Observation): void;
}

export class Requests {
  readonly #world: Surroundings;
  readonly #showsOld: boolean;
  readonly #granted = new Map<Name, Token[]>();
  readonly #last = new Map<Name, Token>();

  constructor(world: Surroundings, showsOld: boolean) {
    this.#world = world;
    this.#showsOld = showsOld;
  }

  granted(name: Name, token: Token): void {
    this.#granted.set(name, [...(this.#granted.get(name) ?? []), token]);
  }

  /** Somebody has seen the latest term of `name`, or one of those before it. What comes back lets the request arrive; undefined if there was none. */
  draw(name: Name, arrive: (token: Token) => void): (() => void) | undefined {
    const { counts, kernel, rng } = this.#world;
    const tokens = this.#granted.get(name) ?? [];
    const token = tokens.length > 1 && nextChance(rng, 0.4) ? nextOf(rng, tokens.slice(0, -1)) : tokens.at(-1);
    if (token === undefined) return undefined;
    counts.requests++;
    this.#world.observe({ type: "asked", atMs: kernel.nowMs, election: name, token });
    return () => arrive(token);
  }

  /** Whether the store keeps it. `domain`: of the tokens that it gives now; its shelf knows only the first one. */
  arrive(name: Name, token: Token, shelf: Shelf, domain: string): boolean {
    this.#last.set(name, token);
    const isKept = token.domain === domain && shelf.askToLeave(name, { ...token, domain: TOKEN_DOMAIN });
    if (!isKept) this.#world.counts.requestsTooLate++;
    return isKept;
  }

  /** What a keep is answered, with the requests that its holds are shown. */
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
