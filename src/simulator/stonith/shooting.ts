// The way in which a candidate of a world of STONITH shoots: the last look, the agent, and the question whether the node is off. It does so as src/stonith/runner.ts does, with devices that work, lie,
// hang and fail.
import { nextBetween, nextChance, nextOf } from "../../base/rng.ts";
import { mayShoot } from "../../stonith/machine.ts";
import { isSameStint } from "../../stonith/record.ts";
import type { Ended, StonithEffect } from "../../stonith/state.ts";
import type { Aim } from "./judge.ts";
import { SimAgent } from "./machine-room.ts";
import type { MemberTerm, SimMember } from "./member.ts";

interface SimulatedShot {
  readonly term: MemberTerm;
  readonly aim: Aim;
  readonly errand: number;
  agent: SimAgent | undefined;
  isOver: boolean;
}

/** An agent that is killed does not always go at once. */
const SLOW_DEATH_CHANCE = 0.1;

export class Shooting {
  readonly #member: SimMember;
  #shot: SimulatedShot | undefined;

  constructor(member: SimMember) {
    this.#member = member;
  }

  reset(): void {
    this.#shot = undefined;
  }

  begin(term: MemberTerm, { node, intent, errand }: Extract<StonithEffect, { type: "shoot" }>): void {
    const { world } = this.#member;
    world.count("shots");
    const aim: Aim = { by: term.stint, node, intent };
    const shot: SimulatedShot = { term, aim, errand, agent: undefined, isOver: false };
    this.#shot = shot;
    this.#member.ask(
      () => ({ record: world.store.record?.value, bans: world.store.bans }),
      ({ record, bans }) => {
        if (shot.isOver) return;
        const isHeld = this.#member.term === term && world.isHeld(this.#member);
        if (mayShoot({ isHeld, record, bans }, term.stint, intent, node)) return this.#decided(shot);
        this.#end(shot, { outcome: "failed", said: "it may not", isGone: this.#isQuiet(shot) });
      },
      () => this.#end(shot, { outcome: "unknown", said: "the store is silent", isGone: this.#isQuiet(shot) }),
    );
  }

  /** Between the last look and the start of the agent nothing can be asked, and the machine may be paused in between. */
  #decided(shot: SimulatedShot): void {
    const { world, name } = this.#member;
    const { pending } = world.node(name);
    pending.add(shot.aim);
    world.beforeAgent(this.#member);
    world.later(nextBetween(world.rng, 0, 5), this.#member, () => {
      pending.delete(shot.aim);
      this.#start(shot);
    });
  }

  #start(shot: SimulatedShot): void {
    const { world, name } = this.#member;
    const agent = new SimAgent(shot.aim);
    shot.agent = agent;
    world.node(name).agents.add(agent);
    const { spec, rng } = world;
    const fate = world.isCalm ? "works" : nextOf(rng, spec.fates);
    world.note({ is: "agent", node: name, target: shot.aim.node, fate });
    agent.whenGone.push(() => {
      world.node(name).agents.delete(agent);
      world.later(0, this.#member, () => this.#agentGone(shot));
    });
    const afterMs = nextBetween(rng, 0, nextChance(rng, 0.4) ? 5 : spec.agentMaxMs);
    world.later(afterMs, agent, () => {
      if (fate === "works" || fate === "works-and-hangs") world.hit(shot.aim);
      if (fate === "lies") world.count("devices that lied");
      if (fate === "fails") world.count("devices that failed");
      if (fate === "hangs") world.count("devices that hung");
      if (fate === "works-and-hangs") world.count("devices that worked and said nothing");
      if (fate !== "hangs" && fate !== "works-and-hangs") world.later(1, agent, () => agent.kill());
    });
    world.strike(this.#member);
    world.later(spec.agentMaxMs + 50, this.#member, () => this.#kill(shot));
  }

  /** The shot is not wanted any more, or its term is over. */
  stop(): void {
    const shot = this.#shot;
    if (shot === undefined || shot.isOver) return;
    if (shot.agent === undefined && !this.#member.world.node(this.#member.name).pending.has(shot.aim))
      return this.#end(shot, { outcome: "unknown", said: "stopped", isGone: this.#isQuiet(shot) });
    this.#kill(shot);
  }

  #kill(shot: SimulatedShot): void {
    const { world } = this.#member;
    const { agent } = shot;
    if (agent === undefined || !agent.isAlive) return;
    if (world.isCalm || !nextChance(world.rng, SLOW_DEATH_CHANCE)) return agent.kill();
    this.#end(shot, { outcome: "unknown", said: "its agent cannot be ended", isGone: false });
    world.later(nextBetween(world.rng, 0, 2000), undefined, () => agent.kill());
  }

  /** SAFETY: the word of the agent does not count. The device is asked. */
  #agentGone(shot: SimulatedShot): void {
    const { world } = this.#member;
    if (shot.isOver) {
      if (this.#member.term === shot.term && this.#isQuiet(shot))
        this.#member.input({ type: "gone", intent: shot.aim.intent });
      return;
    }
    world.later(nextBetween(world.rng, 0, 50), this.#member, () => {
      const power = world.askDevice(shot.aim.node);
      const outcome = power === "off" ? "off" : power === "on" ? "failed" : "unknown";
      if (outcome === "off") world.count("nodes verified off");
      this.#end(shot, { outcome, said: `the device says ${power}`, isGone: this.#isQuiet(shot) });
    });
  }

  #isQuiet({ aim }: SimulatedShot): boolean {
    return !this.#member.world
      .node(this.#member.name)
      .aims.some(({ intent, by }) => intent === aim.intent && isSameStint(by, aim.by));
  }

  #end(shot: SimulatedShot, ended: Ended): void {
    if (shot.isOver) return;
    shot.isOver = true;
    if (this.#shot === shot) this.#shot = undefined;
    if (this.#member.term === shot.term) this.#member.input({ type: "shot", errand: shot.errand, ...ended });
  }
}
