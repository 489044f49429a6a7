// The bans of a modelled store, and the node for which each session was opened (lease/ban-rule.ts).
import { bannedNode, twinNode, unbannedNode } from "../../lease/ban-rule.ts";
import type { BanChange, Name, NodeIdentity, SessionSpec } from "../../lease/exchange.ts";
import type { Refused } from "../../base/outcome.ts";

export class BanRack {
  /** Node → the elections that have banned it. */
  readonly #bans = new Map<string, Set<Name>>();
  readonly #nodes = new Map<string, NodeIdentity>();

  /** Tells whether this session may be opened; if so, its node is recorded. `isLive` tells it of a session, by its id. */
  admit({ nonce, node }: SessionSpec, isLive: (session: string) => boolean): Refused | undefined {
    if (node === undefined) return undefined;
    const by = this.#bans.get(node.name);
    if (by !== undefined) return bannedNode("the store", node, [...by]);
    for (const [session, { name, machine }] of this.#nodes)
      if (name === node.name && machine !== node.machine && isLive(session)) return twinNode("the store", node);
    this.#nodes.set(nonce, node);
    return undefined;
  }

  /** Tells whether the node of this session is banned. */
  isBanned(session: string): boolean {
    const node = this.#nodes.get(session);
    return node !== undefined && this.#bans.has(node.name);
  }

  change({ node, stands }: BanChange, by: Name): void {
    const bans = this.#bans.get(node) ?? new Set<Name>();
    if (stands) this.#bans.set(node, bans.add(by));
    else if (bans.delete(by) && bans.size === 0) this.#bans.delete(node);
  }

  /** The sessions of a node may be ended only while a ban of this election stands (rule 6 of lease/ban-rule.ts). Undefined: they may be ended, or that is not asked for. */
  objection({ node, endsSessions }: BanChange, by: Name): Refused | undefined {
    if (endsSessions !== true || this.#bans.get(node)?.has(by) === true) return undefined;
    return unbannedNode("the store", node);
  }

  /** The sessions that were opened for the node. */
  sessionsOf(node: string): readonly string[] {
    return [...this.#nodes].flatMap(([session, { name }]) => (name === node ? [session] : []));
  }

  clear(): void {
    this.#bans.clear();
  }

  copy(): BanRack {
    const twin = new BanRack();
    for (const [node, bans] of this.#bans) twin.#bans.set(node, new Set(bans));
    for (const [session, node] of this.#nodes) twin.#nodes.set(session, node);
    return twin;
  }
}
