// The token domain of a modelled store. A store that was replaced, or that came back with old data as another store, gives tokens of another domain, which
// do not compare with those before.
import type { Claimed } from "../../lease/exchange.ts";
import { TOKEN_DOMAIN } from "./guarantees.ts";

export class Domain {
  #moves = 0;

  get name(): string {
    return this.#moves === 0 ? TOKEN_DOMAIN : `${TOKEN_DOMAIN}#${this.#moves}`;
  }

  get hasMoved(): boolean {
    return this.#moves > 0;
  }

  move(): void {
    this.#moves++;
  }

  /** Returns an answer of the shelf, which knows only the first domain, with a token of this one. */
  put(claimed: Claimed): Claimed {
    const token = claimed.kind === "granted" || claimed.kind === "waiting" ? claimed.hold.token : undefined;
    if (this.#moves === 0 || token === undefined) return claimed;
    const moved = { ...token, domain: this.name };
    if (claimed.kind === "granted") return { kind: "granted", hold: { ...claimed.hold, token: moved } };
    if (claimed.kind === "waiting")
      return { ahead: claimed.ahead, kind: "waiting", hold: { ...claimed.hold, token: moved } };
    return claimed;
  }
}

/** Returns how often a store had moved when it gave a token of this domain. */
export function movesOf(domain: string): number {
  return Number(domain.split("#")[1] ?? 0);
}
