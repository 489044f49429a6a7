// The effect of an action on the links. Returns the messages that were held and travel on now.
import type { Rng } from "../../base/rng.ts";
import type { NodeId } from "../../protocols/node.ts";
import type { Action } from "./actions.ts";
import type { HeldMessage, Links } from "./links.ts";
import { cutsOf } from "./partitions.ts";

type LinkAction = Extract<
  Action,
  { readonly type: "partition" | "cut" | "mend" | "hold" | "release" | "heal" | "latency" | "loss" | "duplicate" }
>;

interface Surroundings {
  readonly nodes: number;
  leaders(): readonly NodeId[];
}

const NOTHING: readonly HeldMessage[] = [];

export function changeLinks(links: Links, action: LinkAction, world: Surroundings, rng: Rng): readonly HeldMessage[] {
  switch (action.type) {
    case "partition":
      links.partition(action.how, cutsOf(action.how, world.nodes, world.leaders(), rng));
      return NOTHING;
    case "cut":
      links.cut(action.from, action.to);
      return NOTHING;
    case "mend":
      links.mend(action.from, action.to);
      return NOTHING;
    case "hold":
      links.hold(action.from, action.to);
      return NOTHING;
    case "release":
      return links.release(action.from, action.to);
    case "heal":
      if (action.how !== undefined) {
        links.unite(action.how);
        return NOTHING;
      }
      links.mendAll();
      return links.releaseAll();
    case "latency":
      links.spec = { ...links.spec, latency: action.latency };
      return NOTHING;
    case "loss":
      links.spec = { ...links.spec, lossChance: action.chance };
      return NOTHING;
    case "duplicate":
      links.spec = { ...links.spec, duplicateChance: action.chance };
      return NOTHING;
  }
}
