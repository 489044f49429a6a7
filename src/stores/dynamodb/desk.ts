// The requests of the driver to its table, with the rule by which it recognises its own write.
//
// Every write of an item draws a new stamp. If a client tries a write again that was applied, and whose answer was lost, the second try is answered "the condition does
// not hold", and what stands there carries this very stamp: then it was applied. A stamp is drawn for one call alone, so no other write can have left it.
// But a cloned machine draws the same numbers as its original. So the stamp of a keep carries its beat as well, which no copy draws (election/fresh-beat.ts); and a client of
// our own, which sends nothing twice, recognises nothing: a conflict is a conflict.
// A try that comes late changes nothing: its condition names a stamp, a beat, or a session and a bid, none of which comes back.
import { isGivenUp, stopSignalOf } from "../call.ts";
import type { Call } from "../contract.ts";
import type { Attribute, Change, Consistency, DynamoTable, Item, Written } from "../../clients/dynamodb/client.ts";
import { freshId } from "../../clients/random.ts";
import { text } from "./items.ts";
import type { DynamoWhereabouts } from "./refusals.ts";

/** A condition and what to set; the stamp is added. Attributes that are undefined are removed. */
export interface Swap {
  readonly key: string;
  /** In the condition `#a` is the attribute `a`. */
  readonly condition: string;
  readonly values?: Item | undefined;
  readonly set: Readonly<Record<string, Item[string] | undefined>>;
  /** A text that becomes a part of the stamp. */
  readonly sign?: string | undefined;
  /** Attributes that are set if the item does not have them. */
  readonly atFirst?: Item | undefined;
}

/** `stamp`: what the item carries now. */
export type ItemSwapped =
  | { readonly kind: "written"; readonly stamp: string }
  | Extract<Written, { readonly kind: "conflict" }>;

export class Desk {
  readonly table: DynamoTable;
  readonly where: DynamoWhereabouts;
  readonly #consistency: Consistency;

  /** A desk that reads loosely is for hints: nothing may be claimed, kept or given back by what it reads. */
  constructor(table: DynamoTable, where: DynamoWhereabouts, consistency: Consistency = "consistent") {
    this.table = table;
    this.where = where;
    this.#consistency = consistency;
  }

  async read(keys: readonly string[], call: Call): Promise<readonly (Item | undefined)[]> {
    return keys.length === 0 ? [] : await this.table.read(keys, stopSignalOf(call), this.#consistency);
  }

  async readOne(key: string, call: Call): Promise<Item | undefined> {
    return (await this.read([key], call))[0];
  }

  /** Writes with a new stamp, and returns the stamp. `written` also if an earlier try of this very write was applied. */
  async swap(swap: Swap, call: Call): Promise<ItemSwapped> {
    if (isGivenUp(call)) call.signal.throwIfAborted();
    const stamp = `${freshId()}${swap.sign === undefined ? "" : `/${swap.sign}`}`;
    const written = await this.table.change(
      changeOf({ ...swap, set: { ...swap.set, stamp: text(stamp) } }),
      stopSignalOf(call),
    );
    if (written.kind === "written") return { ...written, stamp };
    return !this.table.isOwn && written.item?.["stamp"]?.S === stamp ? { kind: "written", stamp } : written;
  }

  /** Writes without a stamp: for changes that are no sign of life. */
  async note(change: Change, call: Call): Promise<Written> {
    return await this.table.change(change, stopSignalOf(call));
  }
}

function changeOf({ key, condition, values = {}, set, atFirst = {} }: Swap): Change {
  const [setting, removing]: [string[], string[]] = [[], []];
  const given: Record<string, Attribute> = { ...values };
  for (const [name, value] of Object.entries(set)) {
    if (value === undefined) removing.push(`#${name}`);
    else {
      setting.push(`#${name} = :set_${name}`);
      given[`:set_${name}`] = value;
    }
  }
  for (const [name, value] of Object.entries(atFirst)) {
    setting.push(`#${name} = if_not_exists(#${name}, :set_${name})`);
    given[`:set_${name}`] = value;
  }
  const update = `SET ${setting.join(", ")}${removing.length === 0 ? "" : ` REMOVE ${removing.join(", ")}`}`;
  return { key, condition, update, values: given };
}
