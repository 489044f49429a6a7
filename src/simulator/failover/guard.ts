// One guard of a world of failovers: it hosts the real machine (src/failover/guard-machine.ts) beside its service, as src/failover/guard.ts does, with simulated time. Its keeper is a part of the world:
// it kills the service before the seat's deadline if the guard has not, and at once if the guard has died.
import { nextBetween, nextChance } from "../../base/rng.ts";
import {
  type GuardEffect,
  type GuardInput,
  guardOf,
  type GuardOutcome,
  type GuardState,
  stepGuard,
} from "../../failover/guard-machine.ts";
import type { FailoverRecord } from "../../failover/record.ts";
import type { ModelMemo } from "../kernel/memo.ts";
import { FailoverProcess } from "./process.ts";
import type { SimService } from "./service.ts";
import type { FailoverWorld } from "./world.ts";

const HAND_OVER_MS = 400;

export class SimGuard extends FailoverProcess {
  readonly service: SimService;
  state: GuardState;
  /** The latest record that the guard has seen: the machine is never shown an older one after it. */
  #seen: ModelMemo<FailoverRecord> | undefined;

  /** A hand-over is under way, and was not given up. */
  #isRetiring = false;

  constructor(world: FailoverWorld, service: SimService) {
    super(world, `g${service.name.slice(1)}`);
    this.service = service;
    this.state = guardOf(service.name);
  }

  override begin(): void {
    if (!this.service.isPowered) return;
    this.isAlive = true;
    // As in src/failover/guard.ts, a service that an earlier guard has left is ended before anything is started.
    if (this.service.isAlive) this.world.end(this.service);
    this.#seen = undefined;
    this.state = guardOf(this.service.name);
    // The record is read before the service is started, so that the service follows the right primary; if the record cannot be read, it follows none.
    this.ask(
      () => this.world.shelf.stored,
      () => this.#look(() => this.input({ type: "begin" })),
      () => this.input({ type: "begin" }),
    );
    this.world.again(
      this,
      () => 4 * this.nap(),
      () => this.#look(() => this.#tellAgain()),
    );
  }

  override shown(): void {
    if (this.isAble) this.world.later(this.world.travel(), this, () => this.#look());
  }

  /** As src/failover/guard.ts does. Without orders of monitors that come late, no replica follows another server than it was told to. */
  #tellAgain(): void {
    const { world, service, state } = this;
    const { follows } = state;
    if (world.spec.strays.length === 0 || state.at !== "replica" || follows === undefined) return;
    if (service.role === "replica" && service.follows !== follows)
      this.#atService(
        () => this.state.at === "replica" && this.state.follows === follows && (service.follows = follows),
      );
  }

  #look(then?: () => void): void {
    if (!this.isAble) return then?.();
    const { stored } = this.world.shelf;
    if (stored !== undefined && stored.version > (this.#seen?.version ?? -1)) {
      this.#seen = stored;
      this.input({ type: "record", record: stored.value });
    }
    then?.();
  }

  override granted(): void {
    this.input({ type: "seat-granted" });
  }

  override ended(): void {
    this.input({ type: "seat-ended" });
  }

  input(input: GuardInput): void {
    const now = { isLeading: this.world.isLeading("primary", this) };
    const before = this.state.at;
    const { state, effects } = stepGuard(this.state, input, now);
    this.state = state;
    if (before !== state.at)
      this.world.note({ is: "guard", guard: this.name, from: before, to: state.at, by: input.type });
    for (const effect of effects) this.#carryOut(effect);
  }

  #carryOut(effect: GuardEffect): void {
    const { world, service } = this;
    switch (effect.type) {
      case "start":
        return world.later(nextBetween(world.rng, 5, 200), this, () => {
          if (service.isAlive) world.judge.find("one-service", `${this.name} starts a second service`, world.nowMs);
          const primary = effect.follows === undefined ? undefined : world.service(effect.follows);
          if (effect.mends && primary?.isWritable === true) {
            service.mend(primary);
            world.count("replicas mended");
          }
          service.start(effect.follows);
          this.input({ type: "started", life: effect.life });
        });
      case "kill":
      case "stop":
        return world.later(nextBetween(world.rng, 0, 20), this, () => this.#empty(effect.life));
      case "stand":
        return world.claim("primary", this);
      case "resign":
        return this.#resign();
      case "reread":
        return this.ask(
          () => world.shelf.stored,
          (stored) => {
            if ((stored?.version ?? -1) > (this.#seen?.version ?? -1)) this.#seen = stored;
            this.input({ type: "reread", record: this.#seen?.value });
          },
          () => this.input({ type: "unread" }),
        );
      case "promote":
        return this.#promote();
      case "announce":
        return this.ask(
          () => world.say(this, { server: service.name, epoch: effect.epoch }),
          () => {},
          () => this.state.at === "primary" && this.#carryOut(effect),
        );
      case "follow":
        return this.#atService(() => {
          if (service.isStray) service.obey(effect.primary);
          else service.follows = effect.primary;
        });
      case "retire":
        return this.#retire(effect.to);
      case "unretire":
        this.#isRetiring = false;
        return;
    }
  }

  /** It does not matter whether the guard or its keeper has killed the service, only that nothing lives. */
  #empty(life: number): void {
    const { service, world } = this;
    if (service.isAlive && life === this.state.life) world.end(service);
    this.input({ type: "emptied", life });
  }

  #resign(): void {
    if (this.world.seats.primary.holder?.process === this && !this.service.isWritable) {
      if (this.service.role === "replica" && this.state.at !== "starting") this.world.count("seats given back unused");
    }
    this.world.release("primary", this);
    this.world.later(1, this, () => this.input({ type: "seat-ended" }));
  }

  /** Acts on the connection to this very service: a service that was started later is not meant. */
  #atService(act: () => void): void {
    const { incarnation } = this.service;
    this.world.later(this.world.travel(), undefined, () => {
      if (this.service.isAlive && this.service.incarnation === incarnation) act();
    });
  }

  #promote(): void {
    const { world, service } = this;
    const { generation = 0, sync } = this.state.record ?? {};
    const standbys = sync?.sets.find(({ primary }) => primary === service.name)?.promotable ?? [];
    this.#atService(() => {
      service.standbys = standbys;
      world.promote(service, generation);
    });
    const isSilent = nextChance(world.rng, world.spec.unknownChance);
    if (isSilent) world.count("promotions without an answer");
    world.later(world.spec.latencyMaxMs + 60, this, () => {
      const isDone = service.isAlive && service.role === "primary";
      this.input({ type: "promoted", outcome: isSilent ? "unknown" : isDone ? "done" : "not-done" });
    });
  }

  #retire(to: string): void {
    const { world, service } = this;
    const { incarnation } = service;
    const target = world.service(to);
    service.isRefusing = true;
    this.#isRetiring = true;
    const untilMs = world.nowMs + HAND_OVER_MS;
    const answer = (outcome: GuardOutcome): void => {
      const said = nextChance(world.rng, world.spec.unknownChance / 3) ? "unknown" : outcome;
      this.input({ type: "retired", outcome: said });
    };
    const look = (): void => {
      if (service.incarnation !== incarnation || this.state.at !== "retiring") return;
      if (target.isAlive && target.log.length === service.log.length && target.history === service.history) {
        service.role = "replica";
        service.isRefusing = false;
        answer("done");
        // PostgreSQL hands over by ending.
        if (world.spec.hasTimelines && service.incarnation === incarnation) world.killService(service);
        return;
      }
      if (world.nowMs < untilMs && this.#isRetiring) return world.later(20, this, look);
      service.isRefusing = false;
      return answer("not-done");
    };
    look();
  }

  /** As in src/failover/guard.ts, which looks from time to time. */
  parted(primary: string): void {
    const { life } = this.state;
    this.world.later(4 * this.nap(), this, () => this.input({ type: "parted", life, primary }));
  }

  /** The service has ended by itself. */
  serviceEnded(): void {
    const { life } = this.state;
    this.world.later(this.world.travel(), this, () => this.input({ type: "emptied", life }));
  }
}
