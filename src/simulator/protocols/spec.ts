// What a world of a protocol is made of, complete and as plain data. The same spec gives the same run, byte for byte.
import type { NodeId, NodeSettings } from "../../protocols/node.ts";
import type { Scheduled } from "./actions.ts";
import type { Latency } from "../kernel/latency.ts";
import type { LinkSpec } from "./links.ts";

/** More members than any world has: a direction is one number. */
export const NODES_MAX = 1024;

/** A world of a protocol, complete: with its seed it determines every event. */
export interface ProtocolSpec {
  readonly protocol: string;
  readonly nodes: number;
  readonly seed: number;
  /** Complete. */
  readonly settings: NodeSettings;
  readonly links: LinkSpec;
  readonly diskLatency: Latency;
  /** Whether a crash loses unsynced writes. */
  readonly losesWrites: boolean;
  /** Clockwise. */
  readonly ring: readonly NodeId[];
  /** Of members 1…N, in this order. */
  readonly attributes: readonly number[];
  /** Of members 1…N: local milliseconds per true one. */
  readonly clockRates: readonly number[];
  /** Who led before the world began; 0: nobody. */
  readonly leader: NodeId;
  /** Not started at the beginning. */
  readonly down: readonly NodeId[];
  /** A perfect failure detector: so long after a crash every other member is told `suspect`, if it still is one. 0: there is none. */
  readonly detectMs: number;
  readonly schedule: readonly Scheduled[];
  /** Leaders write to a resource so often; 0: there is none. */
  readonly writeEveryMs: number;
  /** Events of one instant happen in the order in which they were asked for, and not in a drawn one. */
  readonly isOrdered: boolean;
  /** Whether the resource compares tokens. */
  readonly isFenced: boolean;
}
