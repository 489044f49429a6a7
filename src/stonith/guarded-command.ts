// The work of a guarded election as a command: `conclave stonith run`. A sibling of `conclave run` (src/supervisor), with the same gate, cell and keeper.
//
// SAFETY: `run` settles only when nothing of the command lives, because the next leader is told so, and then begins without a shot. While some process of it might live, `run` does not settle, and
// this node is shot. The keeper ends the command before the deadline if this process is stopped, and at once if it is dead; that is no fence (a
// paused machine pauses the keeper), and is not counted as one.
import type { Clock } from "../base/clock.ts";
import { nodeClock } from "../election/clock.ts";
import type { Term } from "../election/term.ts";
import { formatToken } from "../fencing/token.ts";
import { Child, type Exit } from "../supervisor/child.ts";
import { type KeeperEvent, KeeperLink } from "../supervisor/keeper-link.ts";
import { makeMark, marked } from "../supervisor/orphans.ts";
import { instantsOf, isPast, killGraceMs, later } from "../supervisor/schedule.ts";

/** Options of `GuardedCommand`. */
export interface GuardedCommandOptions {
  readonly election: string;
  readonly node: string;
  readonly command: readonly [string, ...string[]];
  /** The longest time from SIGTERM to SIGKILL. */
  readonly drainMs: number;
  readonly tell?: ((event: GuardedCommandEvent) => void) | undefined;
}

/** What happens to a guarded election and to the command that runs in it. */
export type GuardedCommandEvent =
  | KeeperEvent
  | { readonly type: "child"; readonly state: "started" | "stopping" | "exited"; readonly pid: number };

const PATIENCE_MS = 5000;
const EXTEND_EVERY_MS = 100;

/** Runs a command while this node leads a guarded election: what `conclave stonith run` is made of. */
export class GuardedCommand {
  readonly #options: GuardedCommandOptions;
  readonly #clock: Clock = nodeClock();
  #keeper: KeeperLink | undefined;

  constructor(options: GuardedCommandOptions) {
    this.#options = options;
  }

  /** Runs the command once, in this term. Resolves to how it ended by itself; undefined if it was ended with the term, or has not begun. */
  async run(term: Term): Promise<Exit | undefined> {
    const { election, command, tell = () => {} } = this.#options;
    this.#keeper ??= this.#startKeeper();
    const mark = makeMark(election, term.token);
    const child = await Child.start(command, { ...this.#environment(term), ...marked(mark) }, mark.text, undefined);
    try {
      await Promise.race([this.#keeper.guard(child.cell, this.#instants(term)), term.ended]);
      // This asks the clock, after the keeper has said that it knows the child.
      if (term.isLeading()) {
        child.begin();
        tell({ type: "child", state: "started", pid: child.pid });
      }
      await this.#whileHeld(child, term);
    } finally {
      await this.#end(child, term);
    }
    const wasEndedByKeeper = await this.#keeper.leave();
    if (!child.hasBegun) return undefined;
    tell({ type: "child", state: "exited", pid: child.pid });
    const isFinished = !child.wasEnded && !(wasEndedByKeeper ?? !term.isLeading());
    return isFinished ? await child.exited : undefined;
  }

  async close(): Promise<void> {
    await this.#keeper?.end();
  }

  /** Resolves when the child or the term has ended. Renewals move the instant at which the keeper kills. */
  async #whileHeld(child: Child, term: Term): Promise<void> {
    const extending = setInterval(() => this.#keeper?.extend(this.#instants(term), false), EXTEND_EVERY_MS);
    await Promise.race([child.exited, term.ended]);
    clearInterval(extending);
  }

  async #end(child: Child, term: Term): Promise<void> {
    const { drainMs, tell = () => {} } = this.#options;
    const drained = later(this.#clock.now(), drainMs);
    const isDue = (): boolean =>
      !child.hasBegun || isPast(this.#clock.now(), drained) || term.remainingMs() <= killGraceMs(drainMs);
    if (!child.hasExited || child.lives().is === "occupied") {
      if (!isDue()) child.terminate();
      tell({ type: "child", state: "stopping", pid: child.pid });
    }
    // Every process that might belong to the command is waited for; none is killed on suspicion.
    await child.gone(isDue, () => true);
  }

  #instants(term: Term): ReturnType<typeof instantsOf> {
    return instantsOf(this.#clock.now(), term.remainingMs(), this.#options.drainMs);
  }

  #startKeeper(): KeeperLink {
    const { election, tell = () => {} } = this.#options;
    const keeper = new KeeperLink({ election, life: undefined, patienceMs: PATIENCE_MS, tell });
    keeper.start();
    return keeper;
  }

  #environment(term: Term): Readonly<Record<string, string | undefined>> {
    return {
      ...process.env,
      CONCLAVE_ELECTION: term.election,
      CONCLAVE_NODE: this.#options.node,
      CONCLAVE_ID: term.candidate,
      CONCLAVE_TOKEN: String(term.token.value),
      CONCLAVE_FENCE: formatToken(term.token),
    };
  }
}
