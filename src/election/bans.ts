// Bans as users see them: a leader bans a node, and from that step on the store grants nothing to it (lease/ban-rule.ts). A ban is a memo under a reserved key. So it is guarded
// by the term, it is ordered by (token, n), and it outlives the term that wrote it. Reading a ban proves nothing about who leads.
import { invalidConfig } from "../base/errors.ts";
import { withJson } from "../base/json.ts";
import { show } from "../base/show.ts";
import { flawOf } from "../base/text.ts";
import { type FencingToken, makeToken } from "../fencing/token.ts";
import type { StoredMemo, Name } from "../lease/exchange.ts";
import { hasControlCharacter } from "../lease/settings.ts";
import { cannotKeepBans, keepsBans, type Store } from "../stores/contract.ts";
import { readMemos, RESERVED } from "./memo.ts";
import type { Lookout } from "./observe.ts";

/** A ban that is in force: `term.ban(node, why)`. */
export interface Ban {
  readonly node: string;
  readonly why: string;
  /** The token of the term that wrote it. */
  readonly token: FencingToken;
}

const BANS = `${RESERVED}ban/`;
const WHY_MAX = 1000;

export function banKey(node: string): string {
  return BANS + node;
}

export function banValue(why: string, stands: boolean): string {
  return JSON.stringify({ stands, why });
}

/** Refuses a ban that no store keeps, before anything is sent. */
export function checkBan(store: Store, node: unknown, why: unknown, call: string): asserts node is string {
  if (!keepsBans(store)) throw cannotKeepBans(store);
  const isName = typeof node === "string" && node.length > 0 && node.length <= 150 && !hasControlCharacter(node);
  const flaw = isName ? flawOf(node) : "1 to 150 characters, no control characters";
  const isWhy = typeof why === "string" && why.length <= WHY_MAX && flawOf(why) === undefined;
  const problems = [
    ...(flaw === undefined ? [] : [`${show(node)} is not the name of a node: ${flaw}`]),
    ...(isWhy ? [] : [`${show(why)} is not a reason: a text of up to ${WHY_MAX} characters`]),
  ];
  if (problems.length > 0) throw invalidConfig(call, problems);
}

/** Reads the bans of one election that are in force, by one linearizable read. */
export async function readBans(lookout: Lookout, name: Name): Promise<readonly Ban[]> {
  if (!keepsBans(lookout.store)) throw cannotKeepBans(lookout.store);
  const memos = await readMemos(lookout, { name, key: undefined, what: `the bans of "${name}"` });
  return memos.flatMap(standingBan);
}

/** A ban that cannot be read counts as in force, because somebody has written it for a reason. */
function standingBan({ key, value, token }: StoredMemo): readonly Ban[] {
  if (!key.startsWith(BANS)) return [];
  const { stands, why } = read(value);
  return stands ? [withJson({ node: key.slice(BANS.length), why, token: makeToken(token) })] : [];
}

function read(value: string): { readonly stands: boolean; readonly why: string } {
  try {
    const { stands, why } = JSON.parse(value) as { readonly stands?: unknown; readonly why?: unknown };
    return { stands: stands !== false, why: typeof why === "string" ? why : value };
  } catch {
    return { stands: true, why: value };
  }
}
