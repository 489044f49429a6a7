// The content of a disk never goes back: its term only grows, and in one term its vote is given once. Raft, figure 2. A crash may come between any two writes, so each of them must be right by itself.
import { NOBODY } from "../../../../protocols/node.ts";
import type { RaftWrite } from "../../../../protocols/raft/state.ts";
import { perMember } from "../../invariants/memory.ts";
import type { RaftInvariant, RaftMember } from "./types.ts";

interface Memory {
  /** Member → the content of its disk after its last event. */
  readonly images: (RaftWrite | undefined)[];
}

export const durableVote: RaftInvariant<Memory> = {
  name: "durable-vote",
  remember: (nodes) => ({ images: perMember(nodes, () => undefined) }),
  after: look,
  started: look,
};

function look({ images }: Memory, _view: unknown, { id, disk }: RaftMember): string | undefined {
  const [before, image] = [images[id], disk.image];
  if (image === before) return undefined;
  images[id] = image;
  if (before === undefined || image === undefined || image.term > before.term) return undefined;
  if (image.term < before.term) return `the disk of ${id} held term ${before.term} and now holds ${image.term}`;
  const isChanged = before.vote !== NOBODY && image.vote !== before.vote;
  return isChanged
    ? `the disk of ${id} held a vote for ${before.vote} in term ${image.term} and now one for ${image.vote}`
    : undefined;
}
