// The parts of a world of a protocol, complete and as plain data. The same spec gives the same run, byte for byte.
import type { NodeId, NodeSettings } from "../../protocols/node.ts";
import type { Scheduled } from "./actions.ts";
import type { Latency } from "../kernel/latency.ts";
import type { LinkSpec } from "./links.ts";

/** This is more members than any world has: a direction is one number. */
export const NODES_MAX = 1024;

/** A complete world of a protocol: with its seed it determines every event. */
export interface ProtocolSpec {
  readonly protocol: string;
  readonly nodes: number;
  readonly seed: number;
  /** The settings have every parameter of the node. */
  readonly settings: NodeSettings;
  readonly links: LinkSpec;
  readonly diskLatency: Latency;
  /** Whether a crash loses unsynced writes. */
  readonly losesWrites: boolean;
  /** The members in clockwise order. */
  readonly ring: readonly NodeId[];
  /** The attributes of members 1…N, in this order. */
  readonly attributes: readonly number[];
  /** The clock rates of members 1…N: local milliseconds per true one. */
  readonly clockRates: readonly number[];
  /** The leader before the world began; 0: there was none. */
  readonly leader: NodeId;
  /** The members that are not started at the beginning. */
  readonly down: readonly NodeId[];
  /** A perfect failure detector: this long after a crash every other member is told `suspect`, if the crashed member is still down. 0: there is no detector. */
  readonly detectMs: number;
  readonly schedule: readonly Scheduled[];
  /** Leaders write to a resource at this interval; 0: there is no resource. */
  readonly writeEveryMs: number;
  /** Events of one instant happen in the order in which they were asked for, and not in a drawn one. */
  readonly isOrdered: boolean;
  /** Whether the resource compares tokens. */
  readonly isFenced: boolean;
}
