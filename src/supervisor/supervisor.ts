// Runs a command only while this process leads, on exactly one of many hosts: `conclave run`. Its parts are an election (src/election), a child behind a gate
// (child.ts), and a keeper that ends the child when this process cannot (keeper.ts).
//
// Why the child of a term is gone before the next term's begins: the work of the term (`#lead`) settles only when nothing of the child's cell lives, and
// the term is released only after that (law 8). If this process cannot see to it, the keeper kills the cell before the deadline, and rivals
// wait for the deadline. If this process dies, the keeper empties the cell before it lets go of what rivals watch.
// Assumptions: those of the election; a process obeys SIGKILL (if not, the child overstays: nothing is released, and the ttl runs out). cell.ts says
// which processes escape a cell.
import type { Clock, Reading } from "../base/clock.ts";
import { ConclaveError } from "../base/errors.ts";
import { requireOptions } from "../base/option-keys.ts";
import { callUser } from "../election/callbacks.ts";
import { createCandidate } from "../election/candidate.ts";
import { nodeClock } from "../election/clock.ts";
import type { Candidate, CandidateOptions, Election, Leader } from "../election/face.ts";
import { nap } from "../election/nap.ts";
import type { UnfencedTerm } from "../election/term.ts";
import { type Fenced, formatToken } from "../fencing/token.ts";
import type { ConclaveEvent } from "../lease/events.ts";
import type { OnceEntry } from "../schedule/once.ts";
import { cannotKeepMemos, keepsMemos, type Reopenable, type ShowsLife, type Store } from "../stores/contract.ts";
import { Child, type Exit } from "./child.ts";
import { witness } from "./estate.ts";
import { KeeperLink, type KeeperEvent } from "./keeper-link.ts";
import { isDone, type Pass, type Passed, passOnce, passSlots, type Ran, type RunCommand } from "./passes.ts";
import { findOrphans, killOrphans, makeMark, type TermMark, marked } from "./orphans.ts";
import { type Instants, instantsOf, isPast, killGraceMs, later, warningMs } from "./schedule.ts";

/** Options of `Supervisor`. */
export interface SupervisorOptions {
  readonly election: string;
  readonly command: readonly [string, ...string[]];
  readonly store: Store & Partial<Reopenable & ShowsLife>;
  /** Accepts a store without tokens. */
  readonly unfenced?: boolean | undefined;
  readonly id?: string | undefined;
  readonly ttlMs: number;
  /** The longest time from SIGTERM to SIGKILL. @default a fifth of ttlMs */
  readonly drainMs?: number | undefined;
  /** After so long the leader hands over to another. @default never */
  readonly maxTenureMs?: number | undefined;
  /** The same as the option of a candidate. */
  readonly priority?: number | undefined;
  /** When the command has ended by itself, the supervisor campaigns again, rather than return. */
  readonly restart?: boolean | undefined;
  /** When the command may begin. @default whenever this process is elected */
  readonly pass?: Pass | undefined;
  readonly tell: (event: SupervisorEvent) => void;
}

/** What happens to the command and its keeper. */
export type SupervisorEvent =
  | ConclaveEvent
  | KeeperEvent
  | { readonly type: "child"; readonly state: "started"; readonly pid: number }
  | { readonly type: "child"; readonly state: "stopping"; readonly pid: number; readonly why: string }
  /** Only `pids` are left: they may belong to the command, and cannot be looked at. The term is given back when they end, at the latest after a ttl. */
  | { readonly type: "child"; readonly state: "unsure"; readonly pid: number; readonly pids: readonly number[] }
  | { readonly type: "child"; readonly state: "exited"; readonly pid: number; readonly exit: Exit }
  /** Processes of an earlier term whose supervisor and keeper were killed. */
  | { readonly type: "orphans"; readonly pids: readonly number[] };

/** `stopped`: it was asked to stop while no child ran. `had`: the key was done before, here or elsewhere. */
export type Ending =
  | { readonly kind: "exited"; readonly exit: Exit }
  | { readonly kind: "stopped" }
  | { readonly kind: "had"; readonly entry: OnceEntry };

const PATIENCE_LEAST_MS = 2000;
const PATIENCE_MOST_MS = 10_000;
const RESTART_FIRST_MS = 200;
const RESTART_LAST_MS = 30_000;

/** Runs a command only while this process leads. `conclave run` is made of this. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #drainMs: number;
  readonly #tell: (event: SupervisorEvent) => void;
  readonly #clock: Clock = nodeClock();
  readonly #candidate: Candidate<UnfencedTerm>;
  readonly #election: Election<UnfencedTerm>;
  #keeper: KeeperLink | undefined;
  #term: UnfencedTerm | undefined;
  #child: Child | undefined;
  #isTold = false;
  #life: number | undefined;
  /** How the command ended, if it ended by itself or because this process was asked to stop. */
  #exit: Exit | undefined;
  #had: OnceEntry | undefined;
  /** How the command of `once` ended, if that could not be noted in its term. */
  #unnoted: Exit | undefined;

  /** Throws CONFIG_INVALID or STORE_UNSUPPORTED. Nothing is started yet. */
  constructor(options: SupervisorOptions) {
    requireOptions("Supervisor", options, {
      election: "string",
      store: "store",
      ttlMs: "number",
      command: "object",
      tell: "function",
    });
    this.#options = options;
    if (options.pass !== undefined && !keepsMemos(options.store)) throw cannotKeepMemos(options.store);
    this.#drainMs = options.drainMs ?? Math.floor(options.ttlMs / 5);
    // A listener that throws must not leave a child running.
    this.#tell = (event) => callUser("the listener of a supervisor", options.tell, () => options.tell(event));
    const seen = witness(options.store, () => this.#leaveEstate());
    this.#estate = (url) => seen.estate(url);
    const { id, ttlMs, maxTenureMs, priority, unfenced } = options;
    this.#candidate = createCandidate({
      store: seen.store,
      ttlMs,
      drainMs: warningMs(this.#drainMs),
      maxTenureMs,
      priority,
      id,
      ...(unfenced === true ? { unfenced } : {}),
    } as CandidateOptions<Store>);
    this.#candidate.subscribe((event) => {
      if (event.type === "renewed") this.#extend();
      if (!isOverstay(event) || this.isOverstaying()) this.#tell(event);
    });
    this.#election = this.#candidate.election(options.election);
  }

  readonly #estate: ReturnType<typeof witness>["estate"];

  /** Runs until the command ends, or until `signal` aborts and the command has been ended. Rejects with errors that waiting cannot cure. */
  async run(signal: AbortSignal): Promise<Ending> {
    const { pass } = this.#options;
    // A process that comes after the key is done does not campaign. If the store does not answer, it finds out when it leads.
    const done = pass?.kind === "once" ? await isDone(pass, this.#election).catch(() => undefined) : undefined;
    if (done !== undefined) {
      await this.#candidate.close();
      return { kind: "had", entry: done };
    }
    this.#life = await this.#options.store.lifeDescriptor?.();
    this.#keeper = new KeeperLink({
      election: this.#options.election,
      life: this.#life,
      patienceMs: Math.min(PATIENCE_MOST_MS, Math.max(PATIENCE_LEAST_MS, this.#options.ttlMs / 3)),
      tell: this.#tell,
    });
    try {
      this.#keeper.start();
      return await this.#runCommand(signal);
    } finally {
      await this.#candidate.close();
      await this.#keeper.end();
    }
  }

  isLeading(): boolean {
    return this.#term?.isLeading() === true;
  }

  /** Whether something of a child still runs although its term is lost. */
  isOverstaying(): boolean {
    return this.#child !== undefined && this.#term?.isHeld() === false && this.#child.lives().is === "occupied";
  }

  leader(): Promise<Leader | undefined> {
    return this.#election.leader();
  }

  /** Hands a signal on to the child, if there is one. The gate is not the command yet, and would die of the signal. */
  forward(signal: NodeJS.Signals): void {
    if (this.#child?.hasBegun === true) this.#child.forward(signal);
  }

  async #runCommand(signal: AbortSignal): Promise<Ending> {
    for (let pauseMs = RESTART_FIRST_MS; ; pauseMs = Math.min(RESTART_LAST_MS, 2 * pauseMs)) {
      this.#exit = undefined;
      const stand = new AbortController();
      const stop = (): void => stand.abort(signal.reason);
      signal.addEventListener("abort", stop);
      if (signal.aborted) stop();
      await this.#election.lead((term) => this.#lead(term, signal, stand), { signal: stand.signal });
      signal.removeEventListener("abort", stop);
      // There is no exit: a keeper ended the command although the term goes on, because it had not heard of the renewal. So the command begins again.
      if (this.#had !== undefined) return { kind: "had", entry: this.#had };
      if (signal.aborted || (this.#exit !== undefined && this.#options.restart !== true)) return endingOf(this.#exit);
      await nap(pauseMs, signal);
    }
  }

  /** The work of one term. It settles only when nothing of the child lives. If the command ended by itself, `stand` is over, even if the term is lost. */
  async #lead(term: UnfencedTerm, signal: AbortSignal, stand: AbortController): Promise<void> {
    this.#term = term;
    const mark = makeMark(term.election, tokenOf(term));
    await this.#clearOrphans(mark, term);
    await this.#shareLife();
    if (!term.isLeading()) return;
    const passed = await this.#pass(term, (environment) => this.#runChild(term, mark, environment, signal));
    if (passed.is === "ran") this.#exit = passed.exit;
    if (passed.is === "had") this.#had = passed.entry;
    if (passed.is === "unnoted") {
      this.#unnoted = passed.exit;
      if (signal.aborted) this.#exit = passed.exit;
    } else if (passed.is !== "again") stand.abort();
  }

  async #pass(term: UnfencedTerm, run: RunCommand): Promise<Passed> {
    const { pass } = this.#options;
    if (pass?.kind === "once") return passOnce(pass, this.#election, term, run, this.#unnoted);
    if (pass?.kind === "slots") return passSlots(pass, this.#election, term, run);
    const ran = await run({});
    return ran?.isFinished === true ? { is: "ran", exit: ran.exit } : { is: "again" };
  }

  /** Runs the command once, to its end. Undefined: the term ended before the command could begin. */
  async #runChild(
    term: UnfencedTerm,
    mark: TermMark,
    environment: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Ran | undefined> {
    this.#isTold = false;
    const given = { ...this.#environment(term, mark), ...environment };
    const child = await Child.start(this.#options.command, given, mark.text, this.#life);
    this.#child = child;
    let wasEndedByKeeper: Promise<boolean | undefined> | undefined;
    try {
      await Promise.race([this.#keeper?.guard(child.cell, this.#instants(term)), term.ended]);
      // This asks the clock, after the keeper has said that it knows the child: it is the last check before the command can do anything.
      if (term.isLeading()) this.#begin(child);
      await Promise.race([child.exited, term.ended]);
    } finally {
      await this.#clear(child, term);
      wasEndedByKeeper = this.#keeper?.leave();
      this.#child = undefined;
    }
    if (!child.hasBegun) return undefined;
    const exit = await child.exited;
    // A child that was ended because its term was lost is not reported when this process is asked to stop later, while it waits.
    if (signal.aborted) this.#exit = exit;
    this.#tell({ type: "child", state: "exited", pid: child.pid, exit });
    // If no keeper answers while the term is still led, no keeper had a reason to end the command.
    return { exit, isFinished: !child.wasEnded && !((await wasEndedByKeeper) ?? !term.isLeading()) };
  }

  /** A store that could not be opened when this process was started had no descriptor to show then. Supervisor, keeper and child all hold the one that waiters watch, or none does. */
  async #shareLife(): Promise<void> {
    this.#life = await this.#options.store.lifeDescriptor?.();
    this.#keeper?.share(this.#life);
  }

  #begin(child: Child): void {
    child.begin();
    this.#tell({ type: "child", state: "started", pid: child.pid });
  }

  /** Sends SIGTERM while the term is still held, and SIGKILL before it is not. Processes that the command has left behind when it ended get the same. */
  async #clear(child: Child, term: UnfencedTerm): Promise<void> {
    const graceMs = killGraceMs(this.#drainMs);
    const drained = later(this.#clock.now(), this.#drainMs);
    const isDue = (): boolean => isPast(this.#clock.now(), drained) || term.remainingMs() <= graceMs;
    if (!child.hasExited || child.lives().is === "occupied") {
      const why = await Promise.race([term.ended, Promise.resolve("the command has ended")]);
      if (!isDue()) child.terminate();
      this.#tell({ type: "child", state: "stopping", pid: child.pid, why });
      this.#isTold = true;
      this.#extend();
    }
    await child.gone(isDue, this.#patienceWith(child, term));
  }

  /** How long to wait for processes that may or may not belong to the command: none is killed on suspicion, and nothing is given back on trust. It takes as long as if this process had died. */
  #patienceWith(child: Child, term: UnfencedTerm): (suspects: readonly number[]) => boolean {
    let until: Reading | undefined;
    return (pids) => {
      if (until === undefined) this.#tell({ type: "child", state: "unsure", pid: child.pid, pids });
      until ??= later(this.#clock.now(), this.#options.ttlMs);
      return term.isHeld() && !isPast(this.#clock.now(), until);
    };
  }

  async #clearOrphans(mark: TermMark, term: UnfencedTerm): Promise<void> {
    for (let round = 0; ; round++) {
      const pids = findOrphans(mark);
      if (pids.length === 0 || !term.isLeading()) return;
      if (round === 0) this.#tell({ type: "orphans", pids });
      killOrphans(pids);
      await nap(Math.min(50, 1 + round), term.signal);
    }
  }

  #environment(term: UnfencedTerm, mark: TermMark): Readonly<Record<string, string | undefined>> {
    const token = tokenOf(term);
    return {
      ...process.env,
      CONCLAVE_ELECTION: term.election,
      CONCLAVE_ID: term.candidate,
      CONCLAVE_TOKEN: token === undefined ? undefined : String(token.value),
      CONCLAVE_FENCE: token === undefined ? undefined : formatToken(token),
      ...marked(mark),
    };
  }

  #instants(term: UnfencedTerm): Instants {
    const now: Reading = this.#clock.now();
    return instantsOf(now, term.remainingMs(), this.#drainMs);
  }

  #extend(): void {
    if (this.#term !== undefined && this.#child !== undefined)
      this.#keeper?.extend(this.#instants(this.#term), this.#isTold);
  }

  #leaveEstate(): void {
    const { url } = this.#options.store;
    if (url !== undefined) this.#keeper?.leaveEstate(this.#estate(url));
  }
}

function tokenOf(term: UnfencedTerm): Fenced["token"] | undefined {
  return (term as Partial<Fenced>).token;
}

function isOverstay(event: ConclaveEvent): boolean {
  return event.type === "overstayed" || (event.type === "error" && event.error.code === "TERM_OVERSTAYED");
}

function endingOf(exit: Exit | undefined): Ending {
  return exit === undefined ? { kind: "stopped" } : { kind: "exited", exit };
}

/** `conclave run` needs process groups and signals. */
export function refuseHere(platform: string = process.platform): ConclaveError | undefined {
  return platform === "linux" || platform === "darwin"
    ? undefined
    : new ConclaveError(
        "STORE_UNSUPPORTED",
        `conclave run cannot work on ${platform}: it has no process groups and signals to end a child with. Use the library (elect, lead), or run it in WSL or a container.`,
      );
}
