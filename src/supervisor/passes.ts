// When a command may begin within a term: once per key of a fleet (`--once`), or once per slot of a schedule (`--cron`, `--every`). The promise is that of src/schedule: the mark is
// written in a held term, before the command or after it, and after the mark it is asked again whether the term is led.
import { isConclaveError } from "../base/errors.ts";
import { nodeClock } from "../election/clock.ts";
import type { Election } from "../election/face.ts";
import type { UnfencedTerm } from "../election/term.ts";
import { noteOnce, type OnceEntry, readOnce } from "../schedule/once.ts";
import { ElectionSchedule, type ScheduleOptions } from "../schedule/schedule.ts";
import type { When } from "../schedule/when.ts";
import type { Exit } from "./child.ts";

/** The command runs once for a key of the fleet. */
export interface OncePass {
  readonly kind: "once";
  readonly key: string;
  /**
   * `before`: the mark is written before the command begins, so that it never begins twice. `success`: after it has exited with 0; a command that
   * failed or died is begun again by the next leader.
   */
  readonly mark: "before" | "success";
}

/** The command runs once for each slot. */
export interface SlotPass {
  readonly kind: "slots";
  readonly when: When;
  readonly options: ScheduleOptions;
}

/** When the command may begin. */
export type Pass = OncePass | SlotPass;

/** One run of the command, to its end. `isFinished`: it ended by itself. Undefined: it did not begin. */
export interface Ran {
  readonly exit: Exit;
  readonly isFinished: boolean;
}

/** Runs the command in the present term, with these variables in its environment. */
export type RunCommand = (environment: Readonly<Record<string, string>>) => Promise<Ran | undefined>;

/** What came of a term. `again`: it ended before the command did. */
export type Passed =
  | { readonly is: "ran"; readonly exit: Exit }
  | { readonly is: "had"; readonly entry: OnceEntry }
  /** The command has ended, but the term ended before that could be noted. */
  | { readonly is: "unnoted"; readonly exit: Exit }
  | { readonly is: "again" };

const PAUSE_MS = 200;

/** Whether the key is done already; the process campaigns for nothing to ask this. A key that was only begun is waited for, because its runner may still run. */
export async function isDone({ key }: OncePass, election: Election<UnfencedTerm>): Promise<OnceEntry | undefined> {
  const entry = await readOnce(election, key);
  return entry?.state === "done" ? entry : undefined;
}

/** `unnoted`: the command has ended in an earlier term of this process, which could not note it. */
export async function passOnce(
  { key, mark }: OncePass,
  election: Election<UnfencedTerm>,
  term: UnfencedTerm,
  run: RunCommand,
  unnoted: Exit | undefined,
): Promise<Passed> {
  let exit = unnoted;
  const note = (state: OnceEntry["state"]): Promise<void> =>
    patiently(term, () => noteOnce(election, term, key, state, wallMs()));
  try {
    const entry = await patiently(term, () => readOnce(election, key));
    if (exit === undefined) {
      if (entry !== undefined && (mark === "before" || entry.state === "done")) return { is: "had", entry };
      if (mark === "before") await note("begun");
      // SAFETY: writing the mark took time, in which the term may have ended. Then the key is lost, and its runner has lost its term.
      if (!term.isLeading()) return { is: "again" };
      const ran = await run({ CONCLAVE_ONCE: key });
      if (ran?.isFinished !== true) return { is: "again" };
      ({ exit } = ran);
    }
    if (mark === "before" || isSuccess(exit)) await note("done");
    return { is: "ran", exit };
  } catch (error) {
    if (!isLost(error)) throw error;
    return exit === undefined ? { is: "again" } : { is: "unnoted", exit };
  }
}

function isSuccess(exit: Exit): boolean {
  return "code" in exit && exit.code === 0;
}

/** Runs until the term ends. A slot whose command fails counts as run. */
export async function passSlots(
  { when, options }: SlotPass,
  election: Election<UnfencedTerm>,
  term: UnfencedTerm,
  run: RunCommand,
): Promise<Passed> {
  const schedule = new ElectionSchedule(
    election,
    when,
    async ({ slot, isCatchUp, signal }) => {
      const ran = await run({ CONCLAVE_SLOT: slot.toISOString(), CONCLAVE_CATCH_UP: isCatchUp ? "1" : "0" });
      signal.throwIfAborted();
      if (ran?.isFinished !== true) throw new Error("the command was ended before it had ended by itself");
      if ("signal" in ran.exit) throw new Error(`the command was ended by ${ran.exit.signal}`);
      if (ran.exit.code !== 0) throw new Error(`the command exited with ${ran.exit.code}`);
    },
    options,
  );
  try {
    await schedule.serve(term);
  } finally {
    await schedule.close();
  }
  return { is: "again" };
}

/** Repeats what may succeed later while the term is led. A write that the store did not answer is sent again by the term itself. */
async function patiently<R>(term: UnfencedTerm, ask: () => Promise<R>): Promise<R> {
  for (;;)
    try {
      return await ask();
    } catch (error) {
      if (!isConclaveError(error) || !error.retryable || !term.isLeading()) throw error;
      await new Promise<void>((resolve) => void nodeClock().timer(PAUSE_MS, resolve));
    }
}

function isLost(error: unknown): boolean {
  return isConclaveError(error) && (error.code === "TERM_LOST" || error.retryable);
}

function wallMs(): number {
  return nodeClock().wall?.() ?? 0;
}
