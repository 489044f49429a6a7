// Lists the elections below a prefix: the name of every key that has the form of an entry. Those of Go are among them. Other data there is not listed: an entry ends
// in the number of the lease that it is bound to. Where nobody stands nothing is left, so an election that had a leader before is not listed.
import type { EtcdLink } from "../../clients/etcd/link.ts";
import type { StopSignal } from "../../clients/stop-signal.ts";
import { rangeEndOf } from "../../clients/etcd/messages.ts";
import type { ListedNames, Name } from "../contract.ts";
import { nameOfKey, sessionOfLease } from "./entry.ts";

/** The number of keys in one request. */
const PAGE = 1000;
const ZERO = Buffer.from([0]);

export async function listNames(
  link: EtcdLink,
  prefix: string,
  most: number,
  signal: StopSignal,
): Promise<ListedNames> {
  const names = new Set<Name>();
  const start = prefix === "" ? ZERO : Buffer.from(prefix);
  const rangeEnd = prefix === "" ? ZERO : rangeEndOf(start); // zero as the end means all keys
  for (let key = start; ;) {
    const { kvs, more } = await link.range({ key, rangeEnd, limit: PAGE, keysOnly: true }, signal);
    for (const { key, lease } of kvs) {
      const name = nameOfKey(prefix, key);
      const isEntry = lease !== 0n && key.toString("utf8").endsWith(`/${sessionOfLease(lease)}`);
      if (name !== undefined && isEntry) names.add(name);
    }
    const last = kvs.at(-1);
    const isWhole = !more || last === undefined;
    if (isWhole || names.size > most) return listed(names, most, isWhole);
    key = Buffer.concat([last.key, ZERO]); // the next possible key
  }
}

function listed(names: ReadonlySet<Name>, most: number, isWhole: boolean): ListedNames {
  const sorted = [...names].toSorted();
  return { kind: "listed", names: sorted.slice(0, most), isWhole: isWhole && sorted.length <= most };
}
