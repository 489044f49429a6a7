// `zookeeper:` is a store in a ZooKeeper ensemble, 3.6 or newer: a line. One session a candidate carries all its elections; each election is a node with one
// ephemeral sequential child for each candidate, and the child with the smallest number leads. The layout is that of Curator's LeaderLatch, or by an option of its LeaderSelector
// or of kazoo's Election, so that candidates in Java and Python take turns with ours.
//
// Clock: ZooKeeper's leader counts a session's timeout from what its servers tell it they have heard, on monotonic clocks, and a new leader counts anew. Proof: a write to which
// a majority agrees proves the one before it (zookeeper/guarantee.ts); a ping proves nothing. Token: the number of the write that made the entry, in a domain that is made once.
// Not promised: that a leader of the ensemble that stands still for a session's timeout ends no session early. docs/stores/zookeeper.md has it in sentences.
import { invalidConfig } from "../base/errors.ts";
import { problemsOfKeys } from "../base/option-keys.ts";
import { show } from "../base/show.ts";
import { parseAddress } from "../clients/zookeeper/address.ts";
import { type NodeZooKeeperClient, urlOfClient } from "../clients/zookeeper/borrowed.ts";
import { CREATOR_ACL, OPEN_ACL } from "../clients/zookeeper/messages.ts";
import type { FencedStore, Reopenable } from "./contract.ts";
import { DEFAULT_TICK_MS } from "./zookeeper/guarantee.ts";
import { type LayoutName, LAYOUTS } from "./zookeeper/layout.ts";
import { type ShapeName, SHAPES } from "./zookeeper/place.ts";
import { HOW_TO_NAME_A_USER } from "./zookeeper/refusals.ts";
import { ZooKeeperStore } from "./zookeeper/zookeeper-store.ts";

export type { NodeZooKeeperClient } from "../clients/zookeeper/borrowed.ts";

/** Options of `zookeeper`. Each can also stand in the URL, as `?tickMs=2000&layout=latch&acl=open`; where both say something, they must say the same. */
export interface ZooKeeperOptions {
  /**
   * The server's `tickTime`, 2000 if not given. Where the server allows the word `conf`, what that says counts in its place; elsewhere nobody can tell that it is wrong. The
   * shortest ttl is four of these, so a server with a shorter tick is worth an option.
   */
  readonly tickMs?: number | undefined;
  /** Whose candidates stand in the same line: Curator's LeaderLatch (`latch`, the default), its LeaderSelector (`selector`), or kazoo's Election (`kazoo`). */
  readonly layout?: LayoutName | undefined;
  /**
   * `line` (the default): candidates lead in the order in which they came, and one that leaves wakes one. `race`: one node that whoever is first holds, as Kafka's controllers
   * had it; one that leaves wakes them all. Every candidate of a name must have the same.
   */
  readonly shape?: ShapeName | undefined;
  /** Who may do what with the nodes that are made: everybody (`open`, the default without a user), or only this user (`creator`, the default with one). */
  readonly acl?: "open" | "creator" | undefined;
}

const SETTINGS = ["tickMs", "shape", "layout", "acl"] as const;
const ACLS: readonly string[] = ["open", "creator"];
const LONGEST_TICK_MS = 600_000;

/**
 * A store at `zookeeper://[user:password@]host[:port][,host[:port]…][/CHROOT]`, or `zookeepers://` with TLS and `?ca=FILE&cert=FILE&key=FILE&servername=NAME`.
 * Nothing is opened before the first call; needs no client library.
 *
 * In place of the URL it takes a client of `node-zookeeper-client`, and reads its servers, its chroot and the user of its `addAuthInfo`, once: call that before. The store has a session and
 * connections of its own beside the client's, which `close()` does not touch.
 */
export function zookeeper(
  source: string | NodeZooKeeperClient,
  options: ZooKeeperOptions = {},
): FencedStore & Reopenable {
  const url = typeof source === "object" && source !== null ? urlOfClient(source) : source;
  const parsed = parseAddress(url, SETTINGS);
  const said = new Map(parsed.settings);
  const problems = problemsOfKeys(options, SETTINGS);
  for (const [key, value] of Object.entries(options ?? {})) {
    if (value === undefined) continue;
    const text = typeof value === "object" ? show(value) : String(value);
    if (said.has(key) && said.get(key) !== text)
      problems.push(`${key} is ${show(value)} as an option, and another in the URL`);
    said.set(key, text);
  }
  const tickMs = Number(said.get("tickMs") ?? DEFAULT_TICK_MS);
  const shape = said.get("shape") ?? "line";
  const layout = said.get("layout") ?? "latch";
  const acl = said.get("acl") ?? (parsed.user === undefined ? "open" : "creator");
  if (!(tickMs >= 1 && tickMs <= LONGEST_TICK_MS))
    problems.push(`tickMs ${show(said.get("tickMs"))} is not a number of milliseconds`);
  if (!isLayout(layout)) problems.push(`layout ${show(layout)} is not known: ${LAYOUTS.join(", ")} are`);
  if (!isShape(shape)) problems.push(`shape ${show(shape)} is not known: ${SHAPES.join(", ")} are`);
  if (shape === "race" && said.has("layout")) problems.push("layout is of a line: leave it out, or shape race");
  if (!ACLS.includes(acl)) problems.push(`acl ${show(acl)} is not known: ${ACLS.join(", ")} are`);
  if (acl === "creator" && parsed.user === undefined) problems.push(`acl creator needs a user: ${HOW_TO_NAME_A_USER}`);
  if (problems.length > 0 || !isLayout(layout) || !isShape(shape)) throw invalidConfig("zookeeper", problems);
  const address = { ...parsed, url: urlWith(url, said) };
  return new ZooKeeperStore({ address, tickMs, shape, layout, acl: acl === "open" ? OPEN_ACL : CREATOR_ACL });
}

function isLayout(layout: string): layout is LayoutName {
  return LAYOUTS.some((known) => known === layout);
}

function isShape(shape: string): shape is ShapeName {
  return SHAPES.some((known) => known === shape);
}

/** Another process opens the same. */
function urlWith(url: string, said: ReadonlyMap<string, string>): string {
  const [base = "", query = ""] = url.split("?");
  const settings = new URLSearchParams(query);
  for (const [key, value] of said) settings.set(key, value);
  const text = settings.toString();
  return text === "" ? base : `${base}?${text}`;
}
