// The service of a guard. It is started behind a gate in a cell of its own, the keeper is told of it before it begins, it is ended by SIGKILL, and it is over only when no process of the cell lives.
import type { Clock } from "../base/clock.ts";
import { ConclaveError, isConclaveError } from "../base/errors.ts";
import { nap } from "../election/nap.ts";
import type { Term } from "../election/term.ts";
import type { ShowsLife, Store } from "../stores/contract.ts";
import { isMember } from "../supervisor/cell.ts";
import { Child } from "../supervisor/child.ts";
import type { KeeperLink } from "../supervisor/keeper-link.ts";
import { type Instants, isPast, killGraceMs, later } from "../supervisor/schedule.ts";
import type { GuardOutcome } from "./guard-machine.ts";
import { childMark, marksWith } from "./leftovers.ts";
import type { Replication, ServerLink, ServerSpec } from "./replication.ts";
import { strangerAt } from "./strangers.ts";

export type ServiceEvent = {
  readonly type: "service";
  readonly state: "started" | "ended" | "leftovers";
  readonly pids: readonly number[];
};

export interface ServiceOptions {
  readonly name: string;
  readonly server: ServerSpec;
  readonly command: readonly [string, ...string[]];
  readonly replication: Replication;
  readonly store: Store & Partial<ShowsLife>;
  readonly withoutCgroup?: boolean | undefined;
  readonly clock: Clock;
  readonly keeper: KeeperLink;
  readonly drainMs: number;
  readonly stopping: AbortSignal;
  /** When every process must be gone, by the seat that is held. */
  readonly instants: () => Instants;
  readonly term: () => Term | undefined;
  readonly started: (life: number) => void;
  readonly emptied: (life: number) => void;
  /** The service will never start here. */
  readonly failed: (error: ConclaveError) => void;
  readonly tell: (event: ServiceEvent) => void;
  readonly trouble: (what: string, error?: unknown) => void;
}

const PAUSE_FIRST_MS = 100;
const PAUSE_LAST_MS = 5000;
const SHORT_LIFE_MS = 2000;
/** How long a replica may take to end by itself. */
const GENTLE_MS = 30_000;
const LOOK_EVERY_MS = 50;
/** How often a guard looks whether a stranger still has its address. */
const STRANGER_EVERY_MS = 1000;

export class Service {
  readonly #options: ServiceOptions;
  child: Child | undefined;
  /** The connection to the very process that was started here. */
  link: ServerLink | undefined;
  /** The descriptor that waiters watch, where the store has one. The guard, its keeper and the service hold it open: otherwise rivals would take the guard for dead before its service is. */
  life: number | undefined;
  #count = 0;
  #startedAtMs = 0;
  #pauseMs = PAUSE_FIRST_MS;

  constructor(options: ServiceOptions) {
    this.#options = options;
  }

  /** The hand-over that is under way. Its outcome is reported before the end of the service that results from it. */
  #retiring: Promise<GuardOutcome> | undefined;

  async start(follows: string | undefined, life: number, mends: boolean): Promise<void> {
    const signal = this.#options.stopping;
    this.#count = life;
    if (life > 1) await nap(this.#pauseMs, signal);
    await this.#untilAlone();
    if (signal.aborted) return;
    try {
      const primary = follows === undefined ? undefined : this.#options.replication.servers[follows];
      const { server, command, replication } = this.#options;
      const beginning = { server, command, primary, mends, signal };
      const { command: prepared, trouble } = await replication.prepare(beginning);
      if (trouble !== undefined) this.#options.trouble(trouble);
      if (signal.aborted) return;
      await this.#launch(prepared, life);
    } catch (error) {
      if (isConclaveError(error)) return this.#options.failed(error);
      this.#options.trouble("the service could not be started", error);
      this.#pauseMs = Math.min(PAUSE_LAST_MS, 2 * this.#pauseMs);
      this.#options.emptied(life);
    }
  }

  /** A service that was started beside a stranger could not have its address, and would end at once. With PostgreSQL, the files that `prepare` changes may be in use. */
  async #untilAlone(): Promise<void> {
    const { replication, server, stopping, trouble } = this.#options;
    for (let said = ""; !stopping.aborted; await nap(STRANGER_EVERY_MS, stopping)) {
      const stranger = await strangerAt(replication, server);
      if (stranger === undefined) return;
      if (stranger !== said) trouble(`${stranger}. Nothing is started here before it has ended`);
      said = stranger;
    }
  }

  async #launch(command: readonly string[], life: number): Promise<void> {
    const mark = childMark(this.#options.name, this.#options.server.name);
    this.life = await this.#options.store.lifeDescriptor?.();
    this.#options.keeper.share(this.life);
    const child = await Child.start(command, { ...process.env, ...marksWith(mark) }, mark, this.life);
    const { needsCgroup } = this.#options.replication;
    if (child.cell.cgroup === undefined && (needsCgroup !== undefined || this.#options.withoutCgroup !== true)) {
      await child.gone(
        () => true,
        () => false,
      );
      throw new ConclaveError(
        "CONFIG_INVALID",
        `this host gives the service no cgroup of its own (cgroup v2, as root or delegated), without which nobody can be sure that all of it is dead. Delegate one${needsCgroup === undefined ? ", or say --without-cgroup" : `: ${needsCgroup}`}.`,
      );
    }
    this.child = child;
    await this.#options.keeper.guard(child.cell, this.#options.instants());
    this.#startedAtMs = this.#options.clock.now().mono;
    child.begin();
    this.#options.tell({ type: "service", state: "started", pids: [child.pid] });
    void child.exited.then(async () => {
      await this.#retiring;
      await this.end(life);
    });
    void this.#awaitService(child, life);
  }

  /** Waits until the service answers and is the very process that was started here. */
  async #awaitService(child: Child, life: number): Promise<void> {
    const { replication, server } = this.#options;
    while (this.child === child && !child.hasExited && !this.#options.stopping.aborted) {
      const link = await replication.connect(server).catch(() => undefined);
      const view = await link?.view();
      if (link !== undefined && view?.is === "up" && this.child === child && (await this.#isOurs(link, child))) {
        this.link = link;
        return this.#options.started(life);
      }
      link?.close();
      await nap(LOOK_EVERY_MS, this.#options.stopping);
    }
  }

  /** SAFETY: the process that is promoted must be the one that is killed. Another server at this address is a wrong configuration, or a second service. */
  async #isOurs(link: ServerLink, child: Child): Promise<boolean> {
    const pid = await link.pid().catch(() => undefined);
    const isOurs = pid !== undefined && isMember(child.cell, pid);
    if (!isOurs)
      this.#options.trouble(
        `process ${pid ?? "?"} answers at ${this.#options.server.host}:${this.#options.server.port}, and was not started by this guard`,
      );
    return isOurs;
  }

  /** Resolves when the cell is seen to be empty: because this method killed it, because the keeper did, or because the service has ended by itself. */
  async end(life: number): Promise<void> {
    const child = this.child;
    if (child === undefined || life !== this.#count) return;
    this.link?.close();
    this.link = undefined;
    await child.gone(
      () => true,
      () => this.#options.term()?.isHeld() === true,
    );
    if (this.child !== child) return;
    this.child = undefined;
    await this.#options.keeper.leave();
    const lasted = this.#options.clock.now().mono - this.#startedAtMs;
    this.#pauseMs = lasted < SHORT_LIFE_MS ? Math.min(PAUSE_LAST_MS, 2 * this.#pauseMs) : PAUSE_FIRST_MS;
    this.#options.tell({ type: "service", state: "ended", pids: [child.pid] });
    this.#options.emptied(life);
  }

  /** SAFETY: a number that is left in a file of an earlier service may be that of any process by now. Only a process of this service is told anything. */
  async seek(primary: ServerSpec, isWanted: () => boolean): Promise<void> {
    const child = this.child;
    if (child === undefined) return;
    const isOurs = (pid: number): boolean => this.child === child && isWanted() && isMember(child.cell, pid);
    await this.#options.replication.seek?.(primary, isOurs);
  }

  /** Hands over in the way of this kind of server. Never rejects. */
  async retire(to: ServerSpec | undefined, withinMs: number): Promise<GuardOutcome> {
    if (to === undefined || this.link === undefined) return "not-done";
    this.#retiring = this.link.retire(to, withinMs);
    try {
      return await this.#retiring;
    } finally {
      this.#retiring = undefined;
    }
  }

  /** Nobody can write to the service, so it may end by itself. It is killed only if that takes too long. */
  async endGently(life: number): Promise<void> {
    const child = this.child;
    if (child === undefined || life !== this.#count) return;
    if (!child.hasExited) child.terminate(this.#options.replication.stopSignal);
    await Promise.race([child.exited, nap(GENTLE_MS, this.#options.stopping)]);
    await this.end(life);
  }

  async stop(): Promise<void> {
    const child = this.child;
    if (child === undefined) return;
    const drained = later(this.#options.clock.now(), this.#options.drainMs);
    const graceMs = killGraceMs(this.#options.drainMs);
    if (!child.hasExited) child.terminate(this.#options.replication.stopSignal);
    const isDue = (): boolean =>
      isPast(this.#options.clock.now(), drained) || (this.#options.term()?.remainingMs() ?? Infinity) <= graceMs;
    await child.gone(isDue, () => this.#options.term()?.isHeld() === true);
    if (this.child !== child) return;
    this.child = undefined;
    await this.#options.keeper.leave();
  }
}
