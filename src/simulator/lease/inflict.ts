// The effect of each fault on the processes, the store and the network of an election world, and the function that undoes it.
import type { Counts } from "./counts.ts";
import type { Fault, LeaseFaultKind } from "./faults.ts";
import type { Kernel } from "../kernel/kernel.ts";
import { addressOf, STORE_ADDRESS } from "./messages.ts";
import type { Nemesis, Victims } from "./nemesis.ts";
import type { Network } from "../kernel/network.ts";
import type { Ears, Observation } from "./observation.ts";
import type { LeaseProcess } from "./process.ts";
import type { StoreHost } from "./store-host.ts";
import type { LeaseTrace } from "./trace.ts";

type Undo = (() => void) | undefined;

export interface FaultedWorld {
  readonly kernel: Kernel;
  readonly network: Network;
  readonly store: StoreHost;
  readonly trace: LeaseTrace;
  readonly counts: Counts;
  readonly elections: readonly string[];
  /** Slot → the life that is lived there now. */
  readonly processes: readonly LeaseProcess[];
  /** Puts a new life into a slot. */
  restart(slot: number): void;
  /** Puts a copy of a life into the slot that is kept for it. */
  clone(original: LeaseProcess): LeaseProcess | undefined;
  observe(observation: Observation): void;
}

/** The victim of a fault, and its world. */
interface Blow {
  readonly stage: FaultedWorld;
  readonly victim: LeaseProcess;
  readonly election: string;
  readonly amountMs: number;
}

export class Inflictions implements Victims {
  readonly #stage: FaultedWorld;

  constructor(stage: FaultedWorld) {
    this.#stage = stage;
  }

  inflict(fault: Fault): Undo {
    const { trace, kernel, elections } = this.#stage;
    const election = elections[fault.election] ?? "";
    const victim = this.#aim(fault, election);
    if (victim === undefined) return undefined;
    if (trace.isRecorded)
      trace.record(kernel.nowMs, { type: "fault", index: fault.index, kind: fault.kind, who: victim.label });
    return BLOWS[fault.kind]({ stage: this.#stage, victim, election, amountMs: fault.amountMs });
  }

  #aim({ aimsAtLeader, slot }: Fault, election: string): LeaseProcess | undefined {
    const { processes } = this.#stage;
    const leader = aimsAtLeader ? processes.find((process) => process.leads(election)) : undefined;
    return leader ?? processes[slot];
  }
}

/** Tells the nemesis of an election: faults that wait for one strike now. */
export class Ambush {
  readonly hears: Ears = {
    elected: ({ election }) => this.#nemesis.notice(this.#elections.indexOf(election)),
  };
  readonly #nemesis: Nemesis;
  readonly #elections: readonly string[];

  constructor(nemesis: Nemesis, elections: readonly string[]) {
    this.#nemesis = nemesis;
    this.#elections = elections;
  }
}

const BLOWS: Readonly<Record<LeaseFaultKind, (blow: Blow) => Undo>> = {
  "cut-up": ({ stage, victim }) => cut(stage, [[addressOf(victim.who.slot), STORE_ADDRESS]]),
  "cut-down": ({ stage, victim }) => cut(stage, [[STORE_ADDRESS, addressOf(victim.who.slot)]]),
  cut: ({ stage, victim: { who } }) =>
    cut(stage, [
      [addressOf(who.slot), STORE_ADDRESS],
      [STORE_ADDRESS, addressOf(who.slot)],
    ]),
  "store-cut": ({ stage }) =>
    cut(
      stage,
      stage.processes.map(({ who }) => [addressOf(who.slot), STORE_ADDRESS]),
    ),
  stall: ({ stage: { network }, victim: { who } }) => {
    network.hold(addressOf(who.slot), STORE_ADDRESS);
    return () => network.flow(addressOf(who.slot), STORE_ADDRESS);
  },
  pause,
  block,
  "lose-thread": ({ victim }) => once(() => victim.loseThread()),
  clone,
  close,
  suspend,
  freeze,
  crash,
  "store-pause": ({ stage: { store } }) => {
    store.pause();
    return () => store.resume();
  },
  "store-freeze": ({ stage: { store, kernel } }) => {
    store.clock.freeze(kernel.nowMs);
    store.pause();
    return () => {
      store.clock.thaw(kernel.nowMs);
      store.resume();
    };
  },
  jump: ({ stage, amountMs }) => once(() => stage.store.jump(amountMs)),
  forget: ({ stage }) => once(() => stage.store.forget()),
  replace: ({ stage }) => once(() => stage.store.replace()),
  "delete-record": ({ stage, election }) => once(() => stage.store.deleteRecord(election)),
  "end-session": ({ stage, election }) => once(() => stage.store.endHolder(election)),
  ask,
  invite,
  resign: ({ victim, election }) => once(() => victim.tell({ type: "resign", name: election })),
  finish: ({ victim, election }) => once(() => victim.finish(election)),
  withdraw: ({ victim, election }) => {
    victim.tell({ type: "withdraw", name: election });
    return () => victim.tell({ type: "stand", name: election, value: victim.label });
  },
};

/** There is nothing to undo. */
function once(act: () => void): undefined {
  act();
}

function cut({ network }: FaultedWorld, directions: readonly (readonly [from: number, to: number])[]): Undo {
  for (const [from, to] of directions) network.cut(from, to);
  return () => {
    for (const [from, to] of directions) network.mend(from, to);
  };
}

// A dead process cannot be stopped, and a host that stands still starts no new life.

function pause({ stage, victim }: Blow): Undo {
  if (!victim.isAlive || victim.isClosing) return undefined;
  victim.pause();
  return () => {
    stage.counts.pausesAcrossDeadline += victim.resume();
  };
}

function block({ stage, victim }: Blow): Undo {
  if (!victim.isAlive || victim.isClosing) return undefined;
  const isLeader = victim.holdsAny();
  victim.block();
  return () => {
    const over = victim.unblock();
    stage.counts.blocksAcrossDeadline += over;
    if (isLeader && over === 0) stage.counts.blocksSurvived++;
  };
}

function suspend({ stage, victim }: Blow): Undo {
  if (!victim.isAlive || victim.isClosing) return undefined;
  victim.clock.suspend(stage.kernel.nowMs);
  victim.pause();
  return () => {
    victim.clock.resume(stage.kernel.nowMs);
    stage.counts.suspendsAcrossDeadline += victim.resume();
  };
}

function freeze({ stage, victim }: Blow): Undo {
  if (!victim.isAlive || victim.isClosing) return undefined;
  if (victim.holdsAny()) stage.counts.freezesWhileHeld++;
  stage.observe({ type: "frozen", atMs: stage.kernel.nowMs, who: victim.who });
  victim.clock.freeze(stage.kernel.nowMs);
  victim.pause();
  return () => {
    victim.clock.thaw(stage.kernel.nowMs);
    victim.resume();
  };
}

function crash({ stage, victim }: Blow): Undo {
  if (!victim.isAlive || victim.isPaused) return undefined;
  victim.die();
  return () => replace(stage, victim);
}

function close({ stage, victim }: Blow): Undo {
  if (!victim.isAlive || victim.isPaused || victim.isClosing) return undefined;
  if (victim.holdsAny()) stage.counts.closesWhileHeld++;
  victim.tell({ type: "close" });
  return () => replace(stage, victim);
}

/** The term is chosen now, and the store hears of the request later: by then another term may lead. */
function ask({ stage: { store }, election, amountMs }: Blow): Undo {
  const request = store.requests.ask(election);
  return amountMs < 0 ? request : once(() => request?.());
}

/** The term is chosen now here, too. The candidate that it names may lead already, or be dead. */
function invite({ stage: { store }, election, amountMs }: Blow): Undo {
  const invitation = store.requests.invite(election);
  return amountMs < 0 ? invitation : once(() => invitation?.());
}

/** The copy ends like a machine that is switched off. */
function clone({ stage, victim }: Blow): Undo {
  if (!victim.isAlive || victim.isPaused || victim.isClosing) return undefined;
  if (victim.holdsAny()) stage.counts.clonesWhileHeld++;
  const copy = stage.clone(victim);
  return copy && (() => (copy.isAlive ? copy.die() : undefined));
}

/** Starts a new life, unless there is one already. */
function replace(stage: FaultedWorld, victim: LeaseProcess): void {
  if (stage.processes[victim.who.slot] !== victim) return;
  if (victim.isAlive) victim.die();
  stage.restart(victim.who.slot);
}
