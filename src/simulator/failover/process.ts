// The common part of monitors and guards of a world of failovers: they hear of the two seats and of the record.
import type { SeatHolder } from "../kernel/seat.ts";
import { SeatProcess } from "../kernel/seat-process.ts";
import type { FailoverWorld } from "./world.ts";

export type SeatName = "leader" | "primary";

/** The data that the holder of the primary's seat announces about itself. */
export interface SeatedPrimary {
  readonly server: string;
  readonly epoch: number;
}

export abstract class FailoverProcess extends SeatProcess<FailoverWorld> {
  abstract granted(seat: SeatName, holder: SeatHolder<FailoverProcess, SeatedPrimary>): void;
  /** The signal of a term aborts, or the term is lost. */
  abstract ended(seat: SeatName): void;
  /** The record has changed. */
  abstract shown(): void;
}
