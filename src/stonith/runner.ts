// The runner: powers a node off through its devices, and says whether it IS off. Devices answer; the runner decides what follows from their answers,
// by the clock that it is given.
//
//   levels         the ways to power a node off, in the order of the configuration. The next one is tried when all tries of the one before have failed
//   one try        every device of the level is told `off`, one after the other; then all of them are asked, until in ONE round every one says `off`, or the time for it is over
//   off            only if they all said so in one round. No exit code and no answer to an order counts; a device that was not asked again has said nothing
//   failed         there was no such round, and in the last round some device says that the node is on
//   unknown        there was no such round, and no device says that the node is on: none answered, or the shooter had to stop
//
// SAFETY: all devices of a level have to say it in one round: a machine with two power supplies runs on one of them, and an outlet may be switched on
// again while the other is switched off.
// SAFETY: `mayShoot` is asked right before each start of an agent, and agents are killed before the shooter's deadline (agents.ts). A device that hangs without an agent is given up by the clock.
import type { Clock, Reading } from "../base/clock.ts";
import { nap } from "../election/nap.ts";
import { isPast, later } from "../supervisor/schedule.ts";
import type { Agents } from "./agents.ts";
import type { Device, DeviceCall, Ordered, Power } from "./device.ts";

/** How patient the runner is. */
export interface Patience {
  /** How often a level is tried. */
  readonly tries: number;
  /** The pause between two tries. */
  readonly retryMs: number;
  /** How long one question or one order may take. */
  readonly timeoutMs: number;
  /** How long the machine may take to go off after the orders of a try. */
  readonly verifyWithinMs: number;
  readonly askEveryMs: number;
}

/** What happens, for those who watch. No secret is in it. */
export type ShotNews = { readonly node: string; readonly level: number; readonly device: string } & (
  | { readonly is: "ordered"; readonly answer: Ordered }
  | { readonly is: "asked"; readonly answer: Power }
);

/** Which node is to be off, until when, and what is asked before each start of an agent. */
export interface ShotRequest {
  readonly node: string;
  /** Asked right before each start of an agent: why it may not be started; undefined if it may. */
  readonly mayShoot: () => Promise<string | undefined>;
  /** The deadline of the shooter's term; renewals move it. */
  readonly deadline: () => Reading;
  /** Aborts when the shot is not wanted any more: then its agents are killed. */
  readonly signal: AbortSignal;
}

/** What came of a shot. */
export interface ShotReport {
  /** `off`: verified. The other values permit nothing. */
  readonly outcome: "off" | "failed" | "unknown";
  /** One sentence, for the record and for people. */
  readonly said: string;
  /** No process that was started for the shot lives. This is separate from the outcome: an agent may be gone although nobody knows what it did. */
  readonly isGone: boolean;
}

/** How one node is powered off. */
export interface NodeDevices {
  readonly levels: readonly (readonly Device[])[];
  /** How long to wait before the first order of a shot at the node. */
  readonly delayMs: number;
}

export interface DeviceRunnerOptions {
  readonly clock: Clock;
  /** Runs the agents of shots. */
  readonly agents: Agents;
  /** Runs the agents of looks, which are no part of a shot: a look that hangs does not delay a shot. @default those of shots */
  readonly lookers?: Agents | undefined;
  readonly nodes: Readonly<Record<string, NodeDevices>>;
  readonly patience: Patience;
  readonly tell?: ((news: ShotNews) => void) | undefined;
}

/** Agents are killed so long before the shooter's deadline, at least. */
const GRACE_MS = 500;
/** A device gets so much longer than its agent, which is killed first. */
const SLACK_MS = 4000;

interface Asking extends ShotRequest {
  readonly agents?: Agents | undefined;
}

interface Round {
  readonly answers: readonly Power[];
  /** Why the shot ends here. */
  readonly stopped: string | undefined;
}

/** Powers nodes off by the configured devices, level by level, and believes only what a device says when it is asked afterwards. */
export class DeviceRunner {
  readonly #options: DeviceRunnerOptions;
  #looking: Promise<unknown> = Promise.resolve();

  constructor(options: DeviceRunnerOptions) {
    this.#options = options;
  }

  /** The nodes that some device powers off. */
  get nodes(): readonly string[] {
    return Object.keys(this.#options.nodes).filter((node) => this.#levels(node).length > 0);
  }

  /** Resolves when no process of any shot lives, however long that takes. */
  whenGone(): Promise<void> {
    return this.#options.agents.whenGone();
  }

  async close(): Promise<void> {
    await Promise.all([this.#options.agents.close(), this.#options.lookers?.close()]);
  }

  /** Never rejects. */
  async shoot(request: ShotRequest): Promise<ShotReport> {
    let last: ShotReport["outcome"] = "unknown";
    let said = `no device is configured that powers ${request.node} off`;
    await this.#nap(this.#options.nodes[request.node]?.delayMs ?? 0, request.signal);
    for (const [index, level] of this.#levels(request.node).entries()) {
      const { outcome, why, stopped } = await this.#tryLevel(request, level, index + 1);
      last = outcome;
      said = stopped === undefined ? `level ${index + 1}: ${why}` : `the shot was stopped: ${stopped}`;
      if (outcome === "off" || stopped !== undefined) break;
    }
    return { outcome: last, said, isGone: this.#options.agents.isGone };
  }

  /** What the devices of the first level say: `on` if one says so, `off` if all do. Gives no order. One look at a time, so that none waits for an agent while its time runs. */
  look(node: string, signal: AbortSignal): Promise<Power> {
    const look = this.#looking.then(() => this.#look(node, signal));
    this.#looking = look;
    return look;
  }

  async #look(node: string, signal: AbortSignal): Promise<Power> {
    const until = later(this.#options.clock.now(), 2 * this.#options.patience.timeoutMs + SLACK_MS);
    const request: ShotRequest = { node, signal, deadline: () => until, mayShoot: async () => undefined };
    const [level = []] = this.#levels(node);
    if (level.length === 0) return { is: "unknown", why: "it has no device" };
    const { lookers = this.#options.agents } = this.#options;
    const { answers, stopped } = await this.#askAll({ ...request, agents: lookers }, level, 1);
    const found = answers.find(({ is }) => is === "on") ?? answers.find(({ is }) => is === "unknown");
    return found ?? (isAllOff(answers, level) ? { is: "off" } : { is: "unknown", why: stopped ?? "it was stopped" });
  }

  #levels(node: string): readonly (readonly Device[])[] {
    // A level without devices would be verified by nobody.
    const levels = Object.hasOwn(this.#options.nodes, node) ? (this.#options.nodes[node]?.levels ?? []) : [];
    return levels.filter((level) => level.length > 0);
  }

  async #tryLevel(
    request: ShotRequest,
    level: readonly Device[],
    number: number,
  ): Promise<{ outcome: ShotReport["outcome"]; why: string; stopped: string | undefined }> {
    const { tries, retryMs } = this.#options.patience;
    let answers: readonly Power[] = [];
    let stopped: string | undefined;
    for (let attempt = 1; attempt <= tries; attempt++) {
      if (attempt > 1) await this.#nap(retryMs, request.signal);
      const orders = await this.#orderAll(request, level, number);
      stopped = this.#whyStopped(request) ?? orders.stopped;
      if (stopped !== undefined) break;
      ({ answers, stopped } = await this.#verify(request, level, number, orders.mayHaveEffect));
      if (isAllOff(answers, level))
        return {
          outcome: "off",
          why: `${namesOf(level)} ${level.length === 1 ? "says" : "say"} that it is off`,
          stopped,
        };
      if (stopped !== undefined) break;
    }
    const outcome = answers.some(({ is }) => is === "on") ? "failed" : "unknown";
    return { outcome, why: told(level, answers), stopped };
  }

  /** Gives the orders of one try. After an order that is forbidden no other is given. */
  async #orderAll(
    request: ShotRequest,
    level: readonly Device[],
    number: number,
  ): Promise<{ readonly stopped: string | undefined; readonly mayHaveEffect: boolean }> {
    let mayHaveEffect = false;
    for (const device of level) {
      const call = this.#call(request);
      const fallback = (why: string): Ordered => ({ is: "unknown", why });
      const answer = await this.#within(device.setPower(request.node, "off", call.given), fallback);
      this.#options.tell?.({ node: request.node, level: number, device: device.name, is: "ordered", answer });
      mayHaveEffect ||= answer.is !== "refused";
      const stopped = call.forbidden() ?? this.#whyStopped(request);
      if (stopped !== undefined) return { stopped, mayHaveEffect };
    }
    return { stopped: undefined, mayHaveEffect };
  }

  /** Asks all devices, again and again. If every order was refused, one round is enough, because there is nothing to wait for. */
  async #verify(request: ShotRequest, level: readonly Device[], number: number, isPatient: boolean): Promise<Round> {
    const { clock, patience } = this.#options;
    const until = later(clock.now(), isPatient ? patience.verifyWithinMs : 0);
    for (;;) {
      const round = await this.#askAll(request, level, number);
      if (isAllOff(round.answers, level) || round.stopped !== undefined || isPast(clock.now(), until)) return round;
      await this.#nap(patience.askEveryMs, request.signal);
    }
  }

  async #askAll(request: Asking, level: readonly Device[], number: number): Promise<Round> {
    const answers: Power[] = [];
    for (const device of level) {
      const call = this.#call(request);
      const fallback = (why: string): Power => ({ is: "unknown", why });
      const answer = await this.#within(device.status(request.node, call.given), fallback);
      this.#options.tell?.({ node: request.node, level: number, device: device.name, is: "asked", answer });
      const stopped = call.forbidden() ?? this.#whyStopped(request);
      if (stopped !== undefined) return { answers: [...answers, answer], stopped };
      answers.push(answer);
    }
    return { answers, stopped: undefined };
  }

  #whyStopped({ signal, deadline }: ShotRequest): string | undefined {
    if (signal.aborted) return "it is not wanted any more";
    return isPast(this.#options.clock.now(), soonest(deadline())) ? "the term of the shooter is ending" : undefined;
  }

  #call(request: Asking): { readonly given: DeviceCall; readonly forbidden: () => string | undefined } {
    const { clock, patience } = this.#options;
    const { agents = this.#options.agents } = request;
    const latest = later(clock.now(), patience.timeoutMs);
    let forbidden: string | undefined;
    const killAt = (): Reading => earlier(latest, soonest(request.deadline()));
    const mayBegin = async (): Promise<string | undefined> => (forbidden = await request.mayShoot().catch(messageOf));
    const given: DeviceCall = { run: (command) => agents.run(command, { killAt, mayBegin, signal: request.signal }) };
    return { given, forbidden: () => forbidden };
  }

  /** A device that throws has said nothing. */
  #within<T>(asked: Promise<T>, otherwise: (why: string) => T): Promise<T> {
    const { clock, patience } = this.#options;
    return new Promise((resolve) => {
      const timer = clock.timer(patience.timeoutMs + SLACK_MS, () => resolve(otherwise("it gave no answer in time")));
      const settle = (answer: T): void => {
        timer.cancel();
        resolve(answer);
      };
      asked.then(settle, (error: unknown) => settle(otherwise(messageOf(error))));
    });
  }

  #nap(ms: number, signal: AbortSignal): Promise<void> {
    return ms <= 0 ? Promise.resolve() : nap(ms, signal, this.#options.clock);
  }
}

/** SAFETY: every device has to say so, and none may be missing. */
function isAllOff(answers: readonly Power[], level: readonly Device[]): boolean {
  return answers.length === level.length && answers.every(({ is }) => is === "off");
}

function soonest(deadline: Reading): Reading {
  return later(deadline, -GRACE_MS);
}

function earlier(one: Reading, other: Reading): Reading {
  return { mono: Math.min(one.mono, other.mono), boot: Math.min(one.boot, other.boot) };
}

function namesOf(level: readonly Device[]): string {
  return level.map(({ name }) => name).join(" and ");
}

function told(level: readonly Device[], answers: readonly Power[]): string {
  const parts = level.map(({ name }, index) => {
    const answer = answers[index];
    if (answer === undefined) return `${name} was not asked`;
    return answer.is === "unknown" ? `${name}: ${answer.why}` : `${name} says that it is ${answer.is}`;
  });
  return parts.join("; ");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
