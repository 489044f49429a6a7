// What a guarded election needs of the part that powers machines off. `DeviceRunner` (runner.ts) is one.
import type { Power } from "./device.ts";
import type { ShotReport, ShotRequest } from "./runner.ts";

/** Powers a node off and verifies it: the devices, as the host of a guarded election sees them. */
export interface Shooter {
  /** The nodes that some device powers off. */
  readonly nodes: readonly string[];
  /** Powers the node off, and asks whether it is off. Asks `mayShoot` before each start of a process. No process of it acts after the deadline. Never rejects. */
  shoot(request: ShotRequest): Promise<ShotReport>;
  /** Asks for the power of the node; gives no order. */
  look(node: string, signal: AbortSignal): Promise<Power>;
  /** Resolves when no process that it has started lives. */
  whenGone(): Promise<void>;
  close(): Promise<void>;
}
