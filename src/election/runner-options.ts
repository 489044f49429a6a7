// What a runner is made of.
import type { Clock } from "../base/clock.ts";
import type { Settings } from "../lease/settings.ts";
import type { Store } from "../stores/contract.ts";
import type { BeatNotes } from "./kept-store.ts";
import type { Narrator } from "./narrator.ts";

export interface RunnerOptions {
  readonly store: Store;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly nonce: string;
  readonly seed: number;
  readonly narrator: Pick<Narrator, "hear" | "answered" | "forget">;
  /** With a renewal thread: what it opens. */
  readonly url?: string | undefined;
  /** With a renewal thread and a keeper. */
  readonly beats?: BeatNotes | undefined;
}
