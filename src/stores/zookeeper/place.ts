// Where elections lie, and in which form: what the parts of this driver are given with every request.
import type { LayoutName } from "./layout.ts";

/** line: sequential nodes, in the order of which candidates lead. race: one node, which has whoever makes it first. */
export const SHAPES = ["line", "race"] as const;
export type ShapeName = (typeof SHAPES)[number];

export interface TreePlace {
  readonly chroot: string;
  readonly shape: ShapeName;
  /** Of a line. */
  readonly layout: LayoutName;
  readonly domain: string;
}
