// The guarantee that a store declares: it is complete, and consistent with itself.
import type { Bench, Case } from "./bench.ts";
import { check, checkEqual, checkKind } from "./check.ts";

export const guaranteeCases: readonly Case[] = [
  { name: "the guarantee has a sentence for every fault", run: hasSentences },
  { name: "the bounds of the guarantee are consistent", run: hasConsistentBounds },
  { name: "what an opening tells of the server can be computed with, and is told again", run: tellsOfServer },
];

const FAULTS = [
  "processPause",
  "partition",
  "storeLeaderChange",
  "storeRestart",
  "clockJump",
  "clockDrift",
  "recordDeleted",
] as const;

async function hasSentences({ guarantee }: Bench): Promise<void> {
  const line = "the guarantee says in sentences what a tired operator must know";
  for (const fault of FAULTS) checkSentence(guarantee.under[fault], `under.${fault}`, line);
  checkSentence(guarantee.cap, "cap", line);
  for (const [field, text] of Object.entries({
    store: guarantee.store,
    "ttl.why": guarantee.ttl.why,
    "token.source": guarantee.token.source,
  }))
    check(typeof text === "string" && text.trim() !== "", line, `a text for ${field}`, text);
  for (const early of guarantee.earlyEnds) check(early.trim() !== "", line, "each early end in words", early);
}

function checkSentence(text: unknown, field: string, line: string): void {
  check(typeof text === "string" && text.trim().length >= 10, line, `a sentence for ${field}`, text);
}

async function hasConsistentBounds({ guarantee }: Bench): Promise<void> {
  const { ttl, holdsPerSession, extraMarginMs, proofWithinMs } = guarantee;
  check(
    ttl.minMs > 0 && ttl.maxMs >= ttl.minMs && ttl.stepMs > 0,
    "0 < minMs ≤ maxMs and 0 < stepMs",
    "such bounds",
    ttl,
  );
  check(ttl.minMs % ttl.stepMs === 0, "minMs is a multiple of stepMs", "a multiple", ttl);
  check(holdsPerSession >= 1, "a session carries at least one hold", "at least 1", holdsPerSession);
  check(
    extraMarginMs >= 0 && extraMarginMs < ttl.maxMs,
    "extraMarginMs is a margin",
    "0 ≤ extraMarginMs < ttl.maxMs",
    extraMarginMs,
  );
  check(proofWithinMs > 0, "a keep can prove something", "proofWithinMs > 0", proofWithinMs);
  check(
    guarantee.shape === "race" || guarantee.judge !== "taker",
    "in a line the store judges",
    "another judge than the taker",
    guarantee.judge,
  );
}

/** A store that knows everything beforehand tells nothing with an opening. */
async function tellsOfServer(bench: Bench): Promise<void> {
  const spec = bench.spec();
  const line = "what a store learns from its server comes with the opening";
  const { met } = checkKind(await bench.keep(spec), "kept", line);
  const again = checkKind(await bench.keep(spec), "kept", line);
  checkEqual(again.met, met, "the same opening tells the same");
  if (met === undefined) return;
  const { server, extraMarginMs = 0, proofWithinMs = Infinity, proofApartMs = 0, earlyEnds = [] } = met;
  check(typeof server === "string" && server.trim() !== "", line, "the server's name and version", server);
  check(extraMarginMs >= 0 && extraMarginMs < bench.guarantee.ttl.maxMs, line, "a margin", extraMarginMs);
  check(proofWithinMs > 0 && proofApartMs >= 0 && proofApartMs < Infinity, line, "times", [
    proofWithinMs,
    proofApartMs,
  ]);
  for (const early of earlyEnds) check(early.trim() !== "", line, "each early end in words", early);
}
