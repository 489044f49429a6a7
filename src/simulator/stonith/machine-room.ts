// The machines of a world of STONITH, and the processes on them beside the candidate: agents that power other machines off, and the guarded work.
import type { Stint } from "../../stonith/record.ts";
import { Process } from "../kernel/process.ts";
import type { Aim } from "./judge.ts";
import type { SimMember } from "./member.ts";

/** A fence agent is a process of its own. A pause of its machine pauses it too, and it goes on afterwards; the death of the candidate does not end it. */
export class SimAgent extends Process {
  readonly aim: Aim;
  /** Called when the agent has ended, by itself or not. */
  readonly whenGone: (() => void)[] = [];

  constructor(aim: Aim) {
    super(2);
    this.aim = aim;
  }

  override kill(): void {
    if (!this.isAlive) return;
    super.kill();
    for (const then of this.whenGone.splice(0)) then();
  }
}

/** The guarded work of one term. It is alive until it has ended, also while its machine is paused: it may go on. */
export interface SimWork {
  readonly stint: Stint;
  readonly node: SimNode;
  /** The incarnation of the candidate that began it. The work may go on when that candidate has died. */
  readonly incarnation: number;
  isAlive: boolean;
}

/** One machine. */
export class SimNode {
  readonly name: string;
  readonly member: SimMember;
  isOn = true;
  /** A shot has powered the machine off, and nobody has started it since. */
  isShotDown = false;
  boots = 0;
  pauses = 0;
  readonly agents: Set<SimAgent> = new Set();
  /** Shots that are decided and not started yet: the last look is over, and the agent is about to be started. */
  readonly pending: Set<Aim> = new Set();
  /** The time when its hardware watchdog was last fed; undefined: it is not armed. */
  fedAtMs: number | undefined;
  resetAfterMs: number = Infinity;

  constructor(name: string, member: SimMember) {
    this.name = name;
    this.member = member;
  }

  get aims(): readonly Aim[] {
    return [...this.pending, ...[...this.agents].filter(({ isAlive }) => isAlive).map(({ aim }) => aim)];
  }
}
