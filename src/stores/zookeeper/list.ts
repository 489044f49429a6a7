// Lists the elections below a chroot: its children that have candidates of the layout below them, or a seat. Those of Curator and kazoo are among them.
import { Refusal } from "../../base/refusal.ts";
import type { ListedNames } from "../contract.ts";
import { inTurns } from "../few-at-once.ts";
import { decodeName, EPOCH, readLine, ROOT, SEAT } from "./layout.ts";
import type { ZooKeeperLink } from "./link.ts";
import type { TreePlace } from "./place.ts";

export async function listNames(link: ZooKeeperLink, place: TreePlace, most: number): Promise<ListedNames> {
  const { chroot } = place;
  const top = chroot === "" ? "/" : chroot;
  await link.sync(top);
  const { found } = await link.children(top);
  const nodes = (found?.names ?? []).filter((node) => node !== ROOT && node !== "zookeeper");
  const names = await inTurns(nodes, async (node) => {
    const parent = `${chroot}/${node}`;
    const name = decodeName(node);
    const children = (await link.children(parent)).found?.names ?? [];
    return name !== undefined && children.length > 0 && isElection(place, parent, children) ? [name] : [];
  });
  const sorted = names.flat().toSorted();
  return { kind: "listed", names: sorted.slice(0, most), isWhole: sorted.length <= most };
}

function isElection({ shape, layout }: TreePlace, parent: string, children: readonly string[]): boolean {
  if (shape === "race") return children.every((child) => child === SEAT || child === EPOCH);
  try {
    return readLine(layout, parent, children).length > 0;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}
