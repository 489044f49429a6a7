// Log Matching: where two logs have an entry of the same index and term, it is the same entry, and so are all before it. It is judged by each entry and the term of the one before it; the rest follows by
// induction. Raft, section 5.3.
import type { Invariant } from "../invariant.ts";
import { forgetOldest, perMember } from "../memory.ts";

interface Memory {
  /** `index/term` → the entry, and the term of the one before it; "?": a snapshot has replaced that one. */
  readonly seen: Map<string, { readonly entry: string; previous: string }>;
  /** Member → the index up to which its log was looked at, the term there, and the life. */
  readonly looked: number[];
  readonly terms: number[];
  readonly lives: number[];
}

const ENTRIES_MAX = 4096;

export const logMatching: Invariant<Memory> = {
  name: "log-matching",
  remember: (nodes) => ({
    seen: new Map(),
    looked: perMember(nodes, () => 0),
    terms: perMember(nodes, () => 0),
    lives: perMember(nodes, () => 0),
  }),
  after({ seen, looked, terms, lives }, _view, { id, life, log }) {
    if (log === undefined) return undefined;
    const { last, snapshot } = log.bounds();
    // Where another term stands now, the log was cut: all of it is looked at again.
    const isGrown = lives[id] === life && log.entryAt(looked[id] ?? 0)?.term === terms[id];
    const from = isGrown ? (looked[id] ?? 0) : 0;
    looked[id] = last;
    terms[id] = log.entryAt(last)?.term ?? 0;
    lives[id] = life;
    for (let index = Math.max(from, snapshot) + 1; index <= last; index++) {
      const entry = log.entryAt(index);
      if (entry === undefined) return `${id} says that its log ends at ${last}, and has no entry ${index}`;
      const text = JSON.stringify(entry);
      const previous = index === 1 ? "0" : String(log.entryAt(index - 1)?.term ?? "?");
      const other = seen.get(`${index}/${entry.term}`);
      if (other === undefined) {
        seen.set(`${index}/${entry.term}`, { entry: text, previous });
        forgetOldest(seen, ENTRIES_MAX);
      } else if (other.entry !== text) return `${id} has ${text}, and another log has ${other.entry}`;
      else if (other.previous === "?") other.previous = previous;
      else if (previous !== "?" && previous !== other.previous)
        return `${id} has term ${previous} before entry ${index}, and another log has ${other.previous}`;
    }
    return undefined;
  },
};
