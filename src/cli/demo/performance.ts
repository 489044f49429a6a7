// A performance of the demo: a private folder, a ledger, three candidates, as many rounds as are wanted, and the verdict. The folder keeps the log, so that
// people who doubt can read it; the rest is removed.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Cast } from "./cast.ts";
import { Ledger } from "./ledger.ts";
import { nowMs } from "./messages.ts";
import { playRound, type Round, type DemoStage } from "./round.ts";
import type { Screen } from "./screen.ts";
import { judge, type DemoVerdict } from "./verdict.ts";

export const NAMES = ["web-1", "web-2", "web-3"] as const;

export interface Play {
  readonly program: URL;
  readonly ttlMs: number;
  readonly rounds: number;
  readonly screen: Screen;
  readonly signal: AbortSignal;
  /** Is called after each round. */
  readonly onRound: (rounds: readonly Round[], verdict: DemoVerdict, log: string) => void;
  /** Is called before anything begins. */
  readonly onStore: (file: string) => void;
}

export interface Performance {
  readonly startMs: number;
  readonly rounds: readonly Round[];
  readonly verdict: DemoVerdict;
  readonly log: string;
}

export async function perform(play: Play): Promise<Performance> {
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-demo-"));
  const data = path.join(folder, "data");
  const files = {
    store: path.join(data, "conclave.db"),
    ledger: path.join(data, "ledger.db"),
    log: path.join(folder, "terms.log"),
  };
  mkdirSync(data);
  let kept = false;
  try {
    openLedger(files.ledger);
    writeFileSync(files.log, "");
    play.onStore(files.store);
    const startMs = nowMs();
    const rounds = await playAll(play, files, startMs);
    const verdict = judge(rounds, files);
    kept = true;
    return { startMs, rounds, verdict, log: files.log };
  } finally {
    rmSync(kept ? data : folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function openLedger(file: string): void {
  const ledger = new Ledger(file);
  ledger.create();
  ledger.close();
}

async function playAll(
  play: Play,
  files: { readonly store: string; readonly ledger: string; readonly log: string },
  startMs: number,
): Promise<readonly Round[]> {
  const { program, ttlMs, screen, signal } = play;
  const cast = new Cast({ program, names: NAMES, ttlMs, composeMs: Math.ceil(ttlMs / 4), ...files });
  const stage: DemoStage = {
    cast,
    ttlMs,
    signal,
    tell: (who, what, tone) =>
      screen.line(`${((nowMs() - startMs) / 1000).toFixed(3).padStart(8)} s  ${who}  ${what}`, tone),
  };
  const rounds: Round[] = [];
  try {
    screen.watch(() => cast.players);
    await firstElection(stage);
    while (rounds.length < play.rounds && !signal.aborted) {
      const round = await playRound(stage);
      if (round === undefined) break;
      rounds.push(round);
      const verdict = judge(rounds, files);
      play.onRound(rounds, verdict, files.log);
      if (!verdict.ok) break;
    }
  } finally {
    await cast.end();
    screen.end();
  }
  return rounds;
}

async function firstElection(stage: DemoStage): Promise<void> {
  const first = await stage.cast.hears(
    ({ player, said }) => (said.event === "elected" ? { player, said } : undefined),
    stage.signal,
  );
  if (first !== undefined)
    stage.tell(first.player.who, `elected with token ${first.said.token}; writes to the ledger`, "good");
}
