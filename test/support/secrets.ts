// Everything that a refused login may show to anybody: the errors that calls reject with, the outcomes of a store, events, lines of a log, warnings of the process, what a client prints by itself. All of
// it is inspected as deeply as a debugger would, so that a secret which hangs somewhere on a cause is found.
import { inspect } from "node:util";
import { vi } from "vitest";
import { createCandidate } from "conclave";
import type { Store } from "conclave/stores/contract";
import { call } from "../stores/moves.ts";

const DEEP = { depth: 12, showHidden: true, maxStringLength: null, maxArrayLength: null } as const;

export function shownDeeply(value: unknown): string {
  return `${inspect(value, DEEP)}\n${JSON.stringify(value) ?? ""}\n`;
}

/** Runs `work`, and returns everything that it shows. What it rejects with is shown too. */
export async function overheard(work: (show: (value: unknown) => void) => Promise<unknown>): Promise<string> {
  const shown: string[] = [];
  const show = (value: unknown): void => void shown.push(shownDeeply(value));
  const spies = (["log", "info", "warn", "error", "debug"] as const).map((method) =>
    vi.spyOn(console, method).mockImplementation((...said: unknown[]) => said.forEach(show)),
  );
  process.on("warning", show);
  try {
    show(await work(show));
  } catch (error) {
    show(error);
  } finally {
    await new Promise((resolve) => setTimeout(resolve, 20)); // warnings are told later
    process.off("warning", show);
    for (const spy of spies) spy.mockRestore();
  }
  return shown.join("");
}

/** What an election in a store shows that refuses it: to a campaign, in its events and its log, without listeners, and to each call of the store. */
export async function allThatIsShown(store: Store): Promise<string> {
  return await overheard(async (show) => {
    show(await store.look([{ name: "x" }], patient()));
    show(await store.keep({ nonce: "n", candidate: "c", ttlMs: 2000 }, [], patient()));
    const log = { debug: show, info: show, warn: show, error: show };
    for (const heard of [{ logger: log, onEvent: show }, {}]) {
      const candidate = createCandidate({ store, ttlMs: 2000, drainMs: 100, unfenced: true, ...heard } as never);
      const election = candidate.election("x");
      await election.campaign({ signal: AbortSignal.timeout(4000) }).catch(show);
      await candidate.withLock("x", async () => {}, { waitMs: 0 }).catch(show);
      election.start();
      await new Promise((resolve) => setTimeout(resolve, 300));
      await candidate.close().catch(show);
    }
    await store.close();
  });
}

function patient(): ReturnType<typeof call> {
  return call(AbortSignal.timeout(8000));
}
