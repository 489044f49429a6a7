// The toy's leader confirms reads by rounds: each of its messages carries a round, and the answer names it again. The rule itself is in invariants/log/confirmed-reads.ts.
import {
  confirmedReads,
  type ConfirmedReadsMemory,
  noteAnswered,
  noteSent,
} from "../../invariants/log/confirmed-reads.ts";
import type { ToyInvariant } from "./types.ts";

export const toyConfirmedReads: ToyInvariant<ConfirmedReadsMemory> = {
  ...confirmedReads,
  sent(memory, { events }, from, to, message) {
    if (message.type === "APPEND" || message.type === "SNAPSHOT") noteSent(memory, events, from, to, roundOf(message));
    return undefined;
  },
  received: {
    APPENDED(memory, _view, { id }, from, message) {
      noteAnswered(memory, id, from, roundOf(message));
      return undefined;
    },
  },
};

function roundOf({ term, round }: { readonly term: number; readonly round: number }): string {
  return `${term}/${round}`;
}
