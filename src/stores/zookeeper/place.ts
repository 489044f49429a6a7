// The place of elections and their form, which the parts of this driver get with every request.
import type { LayoutName } from "./layout.ts";

/** line: sequential nodes; candidates lead in their order. race: one node, which belongs to the candidate that makes it first. */
export const SHAPES = ["line", "race"] as const;
export type ShapeName = (typeof SHAPES)[number];

export interface TreePlace {
  readonly chroot: string;
  readonly shape: ShapeName;
  /** The layout of a line. */
  readonly layout: LayoutName;
  readonly domain: string;
}
