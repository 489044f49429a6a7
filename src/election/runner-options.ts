// The options of a runner.
import type { Clock } from "../base/clock.ts";
import type { Settings } from "../lease/settings.ts";
import type { Store } from "../stores/contract.ts";
import type { BoundStore } from "./bound-store.ts";
import type { BeatNotes } from "./kept-store.ts";
import type { Narrator } from "./narrator.ts";

export interface RunnerOptions {
  readonly store: Store;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly nonce: string;
  readonly seed: number;
  readonly narrator: Pick<Narrator, "hear" | "answered" | "forget">;
  /** With a renewal thread: the URL that the thread opens. */
  readonly url?: string | undefined;
  /** With a renewal thread, where a session belongs to one connection: `store` goes through the thread. */
  readonly bound?: BoundStore | undefined;
  /** With a renewal thread and a keeper: the keeper is told of the beats. */
  readonly beats?: BeatNotes | undefined;
}
