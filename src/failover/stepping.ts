// The results from which every step of the leader's machine (machine.ts, fencing.ts) is made: nothing, a write, or news. Pure.
import type { FailoverRecord } from "./record.ts";
import type { Acting, FailoverNews, FailoverState, FailoverStepped } from "./state.ts";

export function ignored(state: FailoverState): FailoverStepped {
  return { state, effects: [] };
}

/** `vain`: how many shots of this term at the machine that is being fenced have not led to a verified power-off. */
export function write(record: FailoverRecord, errand: number, vain = 0): FailoverStepped {
  const state = { at: "writing", record, errand: errand + 1, vain, isYielding: false } as const;
  return { state, effects: [{ type: "write", record }] };
}

/** Writes the record and then gives the term up. */
export function writeAndYield(record: FailoverRecord, errand: number): FailoverStepped {
  const state = { at: "writing", record, errand: errand + 1, vain: 0, isYielding: true } as const;
  return { state, effects: [{ type: "write", record }] };
}

export function tell({ state, effects }: FailoverStepped, news: FailoverNews): FailoverStepped {
  return { state, effects: [{ type: "tell", news }, ...effects] };
}

export function tellOnce(acting: Acting, news: FailoverNews): FailoverStepped {
  const told = JSON.stringify(news);
  return told === acting.told ? ignored(acting) : tell({ state: { ...acting, told }, effects: [] }, news);
}
