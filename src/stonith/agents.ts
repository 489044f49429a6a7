// Agents: the processes that devices start. Each is started behind a gate, the keeper is told of it, the shooter is asked once more whether the agent may act, and only then does the gate open
// (src/supervisor: child.ts, keeper.ts). One agent runs at a time.
//
// What is promised: no agent acts after its kill instant, which lies before the shooter's deadline,
//   shooter runs        it kills the agent, with everything that the agent has started
//   shooter stopped     the keeper kills it, at the instant that it was told last
//   shooter dead        the keeper kills it at once
// and `run` resolves only when nothing of the agent lives, or says that something cannot be killed (`isGone` is false until it is).
//
// What is not promised: that an order which a BMC or a cloud API has already taken is not carried out. Nor is anything promised if shooter and keeper are killed together (only the mark in the agent's
// environment is left of them then), or if their whole machine stands still: then all three wake together, and the agent may act for a moment. So a
// ban stands until every shooter has said that its agents are gone.
import { createHash, randomBytes } from "node:crypto";
import type { Readable } from "node:stream";
import type { Clock, Reading, Timer } from "../base/clock.ts";
import { MARKS } from "../keeper/mark.ts";
import { Child } from "../supervisor/child.ts";
import { type KeeperEvent, KeeperLink } from "../supervisor/keeper-link.ts";
import { isPast, later } from "../supervisor/schedule.ts";
import type { AgentCommand, AgentEnd } from "./device.ts";
import { isShellName, withoutSecrets } from "./secrets.ts";

/** Whether an agent may begin, and until when it may act. */
export interface AgentLimits {
  /** Asked when everything is ready, right before the agent becomes a program. Returns why it may not begin; undefined if it may. */
  readonly mayBegin: () => Promise<string | undefined>;
  /** No process of the agent may act after this. Asked again and again, because renewals move it. */
  readonly killAt: () => Reading;
  /** Aborts when the agent is not wanted any more. */
  readonly signal?: AbortSignal | undefined;
}

/** Starts the processes of devices. */
export interface Agents {
  run(command: AgentCommand, limits: AgentLimits): Promise<AgentEnd>;
  /** True if nothing that was started here lives. */
  readonly isGone: boolean;
  /** Resolves when nothing that was started here lives, however long that takes. */
  whenGone(): Promise<void>;
  close(): Promise<void>;
}

export interface AgentsOptions {
  /** Shown to people who read `ps`. */
  readonly name: string;
  readonly clock: Clock;
  /** Variables that agents do not get: they hold secrets for one agent, which gets its secret in another way. */
  readonly hidden?: readonly string[] | undefined;
  readonly tell?: ((event: KeeperEvent) => void) | undefined;
}

/** How much of what an agent prints is kept. */
const PRINTED_MAX = 64 * 1024;
const LOOK_EVERY_MS = 100;
/** How long after SIGKILL a process counts as impossible to kill. */
const LINGERS_MS = 3000;
const KEEPER_PATIENCE_MS = 5000;
/** Variables that are meant for this process: a debugger, the store of its candidates. */
const OURS = ["NODE_OPTIONS", "NODE_V8_COVERAGE", "CONCLAVE_STORE"];

export class KeptAgents implements Agents {
  readonly #options: AgentsOptions;
  readonly #lingering = new Set<Promise<void>>();
  #keeper: KeeperLink | undefined;
  /** Counts the agents that run, and those that wait for their turn. */
  #count = 0;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: AgentsOptions) {
    this.#options = options;
  }

  get isGone(): boolean {
    return this.#count === 0 && this.#lingering.size === 0;
  }

  async whenGone(): Promise<void> {
    await this.#turn;
    while (this.#lingering.size > 0) await Promise.all(this.#lingering);
  }

  run(command: AgentCommand, limits: AgentLimits): Promise<AgentEnd> {
    this.#count++;
    const turn = this.#turn.then(() => this.#runAlone(command, limits)).finally(() => this.#count--);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** To be called after the last `run`. */
  async close(): Promise<void> {
    await this.#turn;
    const keeper = this.#keeper;
    this.#keeper = undefined;
    await keeper?.end();
  }

  async #runAlone({ argv, input, env, secrets = [] }: AgentCommand, limits: AgentLimits): Promise<AgentEnd> {
    const isDue = (): boolean => limits.signal?.aborted === true || isPast(this.#options.clock.now(), limits.killAt());
    if (isDue()) return { is: "not-started", why: "there is no time left for it" };
    const mark = this.#mark();
    let child: Child;
    try {
      this.#keeper ??= this.#startKeeper();
      child = await Child.start(argv, this.#environment(env, mark), mark, undefined, "pipe");
    } catch (error) {
      return { is: "not-started", why: `it could not be started (${messageOf(error)})` };
    }
    const printed = collect(child);
    const refusal = await this.#admit(child, limits, isDue);
    if (refusal === undefined) {
      child.begin();
      child.streams.stdin?.end(input ?? "");
    }
    const killed = await this.#end(child, limits, isDue);
    if (refusal !== undefined) return { is: "not-started", why: refusal };
    if (killed !== undefined) return killed;
    await this.#isBefore(printed.isClosed, isDue);
    const [stdout, stderr] = [withoutSecrets(printed.stdout, secrets), withoutSecrets(printed.stderr, secrets)];
    return exitOf(await child.exited, stdout, stderr);
  }

  /** Undefined when the gate may open. SAFETY: the keeper is told of the agent first, and the shooter is asked last. */
  async #admit(child: Child, limits: AgentLimits, isDue: () => boolean): Promise<string | undefined> {
    const at = limits.killAt();
    const guarded = this.#keeper?.guard(child.cell, { termAt: at, killAt: at, deadline: at });
    if (!(await this.#isBefore(guarded, isDue))) return "no keeper was ready in time that would have killed it";
    const why = await limits.mayBegin();
    return why ?? (isDue() ? "there is no time left for it" : undefined);
  }

  /** Resolves when nothing of the agent lives, to how it was ended; undefined if it ended by itself. */
  async #end(child: Child, limits: AgentLimits, isDue: () => boolean): Promise<AgentEnd | undefined> {
    const keeper = this.#keeper;
    let isUnsure = false;
    const isOver = (): boolean => {
      const at = limits.killAt();
      keeper?.extend({ termAt: at, killAt: at, deadline: at }, false);
      // Processes that the agent leaves behind are not waited for: nobody needs their result.
      return !child.hasBegun || child.hasExited || isDue();
    };
    const gone = child.gone(isOver, () => !isDue() || ((isUnsure = true), false));
    const isLate = (): boolean => isPast(this.#options.clock.now(), later(limits.killAt(), LINGERS_MS));
    const isInTime = await this.#isBefore(gone, isLate);
    if (!isInTime || isUnsure) {
      this.#linger(gone, isUnsure);
      return { is: "killed", why: "it was killed, and something of it could not be seen to be gone" };
    }
    const wasEndedByKeeper = await keeper?.leave();
    if (!child.wasEnded && wasEndedByKeeper === false) return undefined;
    return {
      is: "killed",
      why: limits.signal?.aborted === true ? "it was stopped" : "it gave no answer in time and was killed",
    };
  }

  /** The keeper goes on with an agent that cannot be killed; the next agent gets another keeper. Suspects (src/keeper/kin.ts) are never seen to be gone. */
  #linger(gone: Promise<void>, isUnsure: boolean): void {
    const keeper = this.#keeper;
    this.#keeper = undefined;
    const over = gone.then(async () => {
      if (isUnsure) return await new Promise<void>(() => {});
      this.#lingering.delete(over);
      await keeper?.leave();
      await keeper?.end();
    });
    this.#lingering.add(over);
  }

  /** Whether the promise resolves before `isTrue()` is true. */
  #isBefore(promise: Promise<unknown> | undefined, isTrue: () => boolean): Promise<boolean> {
    const { clock } = this.#options;
    return new Promise((resolve) => {
      const look = (): Timer | undefined => {
        if (!isTrue()) return clock.timer(LOOK_EVERY_MS, () => (timer = look()));
        resolve(false);
        return undefined;
      };
      let timer = look();
      void promise?.then(() => {
        timer?.cancel();
        resolve(true);
      });
    });
  }

  #startKeeper(): KeeperLink {
    const { name, tell = () => {} } = this.#options;
    const keeper = new KeeperLink({
      election: `stonith ${name}`,
      life: undefined,
      patienceMs: KEEPER_PATIENCE_MS,
      tell,
    });
    keeper.start();
    return keeper;
  }

  #mark(): string {
    const hash = createHash("sha256").update(`stonith\n${this.#options.name}`).digest("hex").slice(0, 16);
    return `${hash}:-:${randomBytes(8).toString("hex")}`;
  }

  #environment(own: AgentCommand["env"], mark: string): Readonly<Record<string, string | undefined>> {
    const env: Record<string, string | undefined> = { ...process.env };
    for (const name of [...OURS, ...(this.#options.hidden ?? [])]) delete env[name];
    // The gate is a shell, and would hand these on in the arguments of another program (child.ts), where everybody could read them.
    for (const name of Object.keys(env)) if (!isShellName(name)) delete env[name];
    // A program reads the answers, so they are to be in English.
    return { ...env, LC_ALL: "C", [MARKS]: [process.env[MARKS], mark].filter(Boolean).join(" "), ...own };
  }
}

interface Printed {
  readonly stdout: string;
  readonly stderr: string;
  /** Resolves when no more output can come: a process may be gone before everything that it printed was read. */
  readonly isClosed: Promise<unknown>;
}

function collect({ streams: { stdin, stdout, stderr } }: Child): Printed {
  stdin?.on("error", () => {}); // the agent ended without reading; its end says so
  const printed = { stdout: "", stderr: "" };
  const hear = (name: keyof typeof printed, stream: Readable | null): Promise<unknown> => {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      printed[name] = (printed[name] + text).slice(0, PRINTED_MAX);
    });
    return new Promise((resolve) => (stream === null ? resolve(undefined) : stream.once("close", resolve)));
  };
  return Object.assign(printed, { isClosed: Promise.all([hear("stdout", stdout), hear("stderr", stderr)]) });
}

function exitOf(exit: Awaited<Child["exited"]>, stdout: string, stderr: string): AgentEnd {
  if ("signal" in exit) return { is: "killed", why: `it was ended by ${exit.signal}` };
  return { is: "exited", code: exit.code, stdout, stderr };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
