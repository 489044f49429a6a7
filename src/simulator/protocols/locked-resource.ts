// A resource at address 0 that leaders write to, and the lock service that gives each new leader a greater token. The guards' own rule decides whether a write comes too late. Unfenced, the resource
// takes such a write all the same, and the write is *stale*: it overwrites the write of a newer leader. Fenced, it refuses the write, and the refused leader stops writing: it has learned that it was
// replaced, which no message of its own protocol had told it.
import type { NodeId } from "../../protocols/node.ts";
import type { AcceptedWrite } from "./invariants/invariant.ts";
import type { Member } from "./member.ts";
import { Resource } from "../resource.ts";

export type WriteOutcome = "accepted" | "stale" | "refused";

/** All tokens come from one lock service. */
const DOMAIN = "lock service";

export class LockedResource {
  readonly accepted: AcceptedWrite[] = [];
  /** Writes that a fence refused. */
  refused = 0;
  /** Writes that were taken although a newer leader had written. */
  stale = 0;
  /** The times when, with two active writers, the first and the last write of an older one was taken. */
  staleFromMs: number = Infinity;
  staleToMs: number = -Infinity;
  readonly #isFenced: boolean;
  #granted = 0;
  #resource = new Resource();
  /** Member → its token; absent: it does not write. */
  readonly #tokens = new Map<NodeId, number>();
  /** Member → the number of its live write loop. */
  readonly #loops = new Map<NodeId, number>();

  constructor(isFenced: boolean) {
    this.#isFenced = isFenced;
  }

  fork(): LockedResource {
    const fork = new LockedResource(this.#isFenced);
    const { refused, stale, staleFromMs, staleToMs } = this;
    Object.assign(fork, { refused, stale, staleFromMs, staleToMs });
    fork.#granted = this.#granted;
    fork.#resource = this.#resource.fork();
    fork.accepted.push(...this.accepted);
    for (const [node, token] of this.#tokens) fork.#tokens.set(node, token);
    for (const [node, loop] of this.#loops) fork.#loops.set(node, loop);
    return fork;
  }

  /** The lock service grants a token greater than all before. */
  grant(): number {
    return ++this.#granted;
  }

  /** A member has its token, and writes from now on. Returns the number of its write loop. */
  begin(node: NodeId, token: number): number {
    this.#tokens.set(node, token);
    const loop = (this.#loops.get(node) ?? 0) + 1;
    this.#loops.set(node, loop);
    return loop;
  }

  /** Returns the token of its next write; undefined: this loop is over. */
  tokenFor({ id, isUp, role }: Member, loop: number): number | undefined {
    if (isUp && role === "leader" && this.#loops.get(id) === loop) return this.#tokens.get(id);
    if (this.#loops.get(id) === loop) this.#tokens.delete(id);
    return undefined;
  }

  write(node: NodeId, token: number, atMs: number): WriteOutcome {
    const isRefused = this.#resource.write({ domain: DOMAIN, value: BigInt(token), bid: String(node) }) !== "accepted";
    if (isRefused && this.#isFenced) {
      this.refused++;
      return "refused";
    }
    this.accepted.push({ atMs, node, token });
    if (!isRefused) return "accepted";
    this.stale++;
    this.staleFromMs = Math.min(this.staleFromMs, atMs);
    this.staleToMs = atMs;
    return "stale";
  }

  /** A refused member writes no more, until it is elected anew. */
  stop(node: NodeId, token: number): void {
    if (this.#tokens.get(node) === token) this.#tokens.delete(node);
  }
}
