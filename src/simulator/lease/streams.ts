// One seed gives many streams: each part of a world draws from its own, so that the draws of one part do not shift those of another. So a world stays recognisable while the hunt
// takes faults out of it.
import { createRng, type Rng } from "../../base/rng.ts";

const STREAMS = {
  swarm: 1,
  faults: 2,
  network: 3,
  store: 4,
  ties: 5,
  met: 14,
  resource: 6,
  demo: 7,
  threads: 8,
  extras: 9,
  weak: 10,
  replacements: 11,
  clones: 12,
  requests: 15,
  memos: 16,
  bans: 17,
  tenures: 18,
  roads: 19,
  invitations: 20,
} as const;

export function streamOf(seed: number, part: keyof typeof STREAMS): Rng {
  return createRng(seed, STREAMS[part]);
}

/** Each life of each process draws from its own stream. */
export function streamOfLife(seed: number, slot: number, life: number): Rng {
  return createRng(seed, 1000 + slot * 1000 + life);
}

/** The beats of each life: random enough to differ, and the same in every run of a seed. */
export function streamOfBeats({ slot, life }: { readonly slot: number; readonly life: number }): Rng {
  return createRng(slot * 1000 + life, 13);
}
