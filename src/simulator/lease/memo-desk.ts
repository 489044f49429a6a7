// The memos of the modelled store, and their counts. A write is one step, and a read shows the present memo, never an old copy.
import type { MemoWritten } from "../../lease/exchange.ts";
import type { Answer, Request } from "../../lease/state.ts";
import type { Shelf } from "../models/shelf.ts";
import type { Counts } from "./counts.ts";
import type { LeaseSurroundings } from "./surroundings.ts";

export type MemoRequest = Extract<Request, { method: "writeMemo" | "readMemos" }>;

/** A write that was really applied is observed, once. */
export function memoAnswer(
  shelf: Shelf,
  request: MemoRequest,
  nowMs: number,
  isCalm: boolean,
  world: Pick<LeaseSurroundings, "counts" | "kernel" | "observe">,
): Answer {
  if (request.method === "readMemos") return { kind: "memos", memos: shelf.readMemos(request.name, request.key) };
  const { hold, key } = request.write;
  // When all is calm every candidate must be able to lead: requests that were sent before no longer ban a node.
  const write = isCalm ? { ...request.write, ban: undefined } : request.write;
  const before = shelf.readMemos(hold.name, key)[0]?.version;
  const written = shelf.writeMemo(write, nowMs);
  const after = shelf.readMemos(hold.name, key)[0]?.version;
  count(world.counts, written, before !== after);
  if (before !== after) world.observe({ type: "noted", atMs: world.kernel.nowMs, write });
  return written;
}

function count(counts: Counts, { kind }: MemoWritten, isNew: boolean): void {
  if (isNew) counts.memosWritten++;
  else if (kind === "written") counts.memosSentAgain++;
  else if (kind === "conflict") counts.memosReordered++;
  else if (kind === "seat-lost" || kind === "session-lost") counts.memosTooLate++;
}
