// One monitor of a world of failovers: it looks at the servers, votes, and while it leads hosts the real machine (src/failover/machine.ts) as src/failover/conductor.ts does, with simulated time.
import { nextBetween, nextChance } from "../../base/rng.ts";
import type { View, Views } from "../../failover/choice.ts";
import { detect, type DetectorState, isDown, UNSEEN } from "../../failover/detector.ts";
import { AWAY, stepFailover, wakeAtMs } from "../../failover/machine.ts";
import type { FailoverRecord } from "../../failover/record.ts";
import { mayShoot } from "../../failover/shots.ts";
import { mayTakeBack } from "../../failover/strays.ts";
import type { FailoverEffect, FailoverInput, FailoverState } from "../../failover/state.ts";
import type { SeatHolder } from "../kernel/seat.ts";
import { FailoverProcess, type SeatName } from "./process.ts";

/** How late an order to a server may arrive: later than it takes to promote that server. */
const LATE_MAX_MS = 6000;

interface LeaderTerm {
  readonly token: number;
  n: number;
  over: number | undefined;
  lastSent: FailoverRecord | undefined;
}

export class SimMonitor extends FailoverProcess {
  state: FailoverState = AWAY;
  /** The servers that it cannot see. */
  readonly blind: Set<string> = new Set();
  #detector: DetectorState = UNSEEN;
  #record: FailoverRecord | undefined;
  #version = -1;
  #term: LeaderTerm | undefined;
  #wakes = 0;

  override begin(): void {
    this.isAlive = true;
    this.state = AWAY;
    this.#detector = UNSEEN;
    this.#record = undefined;
    this.#version = -1;
    this.#term = undefined;
    this.world.claim("leader", this);
    this.world.again(
      this,
      () => this.nap(),
      () => this.#look(),
    );
  }

  get isLeader(): boolean {
    return this.#term !== undefined;
  }

  override shown(): void {}

  override granted(seat: SeatName, { token }: SeatHolder<FailoverProcess, unknown>): void {
    if (seat === "leader") {
      this.#term = { token, n: 0, over: undefined, lastSent: undefined };
      return this.input({ type: "lead" });
    }
    const { state } = this;
    this.world.count("fences by the seat");
    this.input({ type: "seat-taken", errand: state.at === "acting" ? state.errand : -1 });
  }

  override ended(seat: SeatName): void {
    if (seat === "primary") return this.#claimAgain();
    this.input({ type: "leave" });
    this.#term = undefined;
    this.world.release("leader", this);
    this.world.later(this.nap(), this, () => this.world.claim("leader", this));
  }

  /** Called after the machine has stepped: its host ends the term in the same way. */
  #giveUp(): void {
    const term = this.#term;
    this.world.later(0, this, () => {
      if (this.#term === term && term !== undefined) this.ended("leader");
    });
  }

  /** The term was granted while this process was paused, and has expired. */
  #claimAgain(): void {
    const step = this.state.at === "acting" ? this.state.record.step.at : "steady";
    if (step === "fencing" || step === "handing-over") this.world.claim("primary", this);
  }

  // ---- looking and voting

  #look(): void {
    const { world } = this;
    if (this.isAble && world.shelf.stored !== undefined && world.shelf.stored.version > this.#version) {
      this.#version = world.shelf.stored.version;
      this.#record = world.shelf.stored.value;
    }
    const views = this.#views();
    const view = this.#record?.primary === undefined ? undefined : views[this.#record.primary];
    this.#detector = detect(this.#detector, this.#record, view, world.nowMs);
    this.#vote(views);
    if (this.state.at !== "acting" || !this.isAble) return;
    const { holder } = world.seats.primary;
    const votes = world.votes.standing(world.nowMs);
    const reports = world.votes.reportsFor(this.name, world.nowMs);
    const askedAtMs = Object.fromEntries(Object.keys(views).map((server) => [server, world.nowMs]));
    this.input({
      type: "seen",
      sight: { views, askedAtMs, votes, holder: holder?.value, order: world.order, reports },
    });
  }

  #views(): Views {
    const { world } = this;
    const look = (name: string): View =>
      this.blind.has(name) || nextChance(world.rng, world.lossChance) ? { is: "unknown" } : world.service(name).view();
    return Object.fromEntries(world.services.map(({ name }) => [name, look(name)]));
  }

  #vote(views: Views): void {
    const { world, name: monitor } = this;
    const { primary, epoch } = this.#detector;
    if (!this.isAble) return;
    const sees = Object.keys(views).filter((server) => views[server]?.is === "up");
    world.votes.report(monitor, sees, world.nowMs + world.spec.ttlMs);
    if (primary === undefined || !isDown(this.#detector, world.spec.downAfterMs, world.nowMs))
      return world.votes.withdraw(monitor);
    world.votes.cast({ monitor, primary, epoch }, world.nowMs + world.spec.ttlMs);
  }

  // ---- leading

  input(input: FailoverInput): void {
    const { world } = this;
    if (input.type !== "leave" && this.#term !== undefined && !world.isLeading("leader", this))
      return this.ended("leader");
    const now = { nowMs: world.nowMs, wallMs: world.nowMs };
    const { state, effects } = stepFailover(world.spec.plan, this.state, input, now);
    this.state = state;
    for (const effect of effects) this.#carryOut(effect);
    this.#arrange();
  }

  #arrange(): void {
    const wake = ++this.#wakes;
    const atMs = wakeAtMs(this.state);
    if (atMs === Infinity) return;
    this.world.later(Math.max(0, atMs - this.world.nowMs), this, () => {
      if (wake === this.#wakes) this.input({ type: "tick" });
    });
  }

  #carryOut(effect: FailoverEffect): void {
    const { world } = this;
    const term = this.#term;
    if (effect.type === "tell") return this.#hear(effect.news);
    if (effect.type === "give-seat") return world.release("primary", this);
    if (term === undefined) return;
    switch (effect.type) {
      case "read":
        return this.#read(term);
      case "write":
        return this.#write(term, effect.record);
      case "take-seat":
        return world.claim("primary", this);
      case "fence":
        return this.#fence(effect.server, effect.errand);
      case "survey":
        return this.#survey(effect.errand);
      case "promote":
        return this.#promote(effect.server);
      case "hand-over":
        return;
      case "resign":
        this.#countGivenUp();
        return this.#giveUp();
      case "follow":
        if (world.spec.plan.hasGuards) return this.#takeBack(term, effect.server, effect.primary);
        return world.later(world.travel(), this, () => (world.service(effect.server).follows = effect.primary));
    }
  }

  #countGivenUp(): void {
    const { state, world } = this;
    if (state.at !== "writing" || !state.isYielding) return world.count("terms given up for another way to the device");
    world.count("terms given up for a monitor that sees more");
    world.judge.yielded(state.record, world.nowMs);
  }

  #hear(news: Extract<FailoverEffect, { type: "tell" }>["news"]): void {
    const { world } = this;
    if (news.is === "waiting") world.count("choices that waited");
    if (news.is === "two-writable")
      world.judge.toldOfStrays(
        news.servers.slice(1).map((server) => world.service(server)),
        world.nowMs,
      );
    world.note({ is: "news", monitor: this.name, news });
  }

  #read(term: LeaderTerm): void {
    this.ask(
      () => this.world.shelf.stored,
      (stored) => {
        if (this.#term !== term) return;
        term.over = stored?.version;
        if (stored !== undefined && stored.value.step.at !== "steady")
          this.world.count("steps resumed by another leader");
        this.input({ type: "read", record: stored?.value });
      },
      () => this.#term === term && this.input({ type: "unanswered" }),
    );
  }

  /** A record that is sent again keeps its number. */
  #write(term: LeaderTerm, record: FailoverRecord): void {
    const { world } = this;
    if (term.lastSent !== record) term.n++;
    term.lastSent = record;
    const write = { token: term.token, n: term.n, over: term.over, value: record };
    this.ask(
      () => world.writeRecord(this, write),
      (answer) => {
        if (this.#term !== term) return;
        if (answer.is !== "written") return this.ended("leader");
        term.over = answer.version;
        this.input({ type: "written" });
      },
      () => this.#term === term && this.input({ type: "unanswered" }),
    );
  }

  /** As in src/failover/conductor.ts: the server is asked first, then the record is read, and the term is asked by the clock last. The order may arrive late. */
  #takeBack(term: LeaderTerm, server: string, primary: string): void {
    const { world } = this;
    const service = world.service(server);
    world.later(world.travel(), this, () => {
      if (this.#term !== term || !service.isWritable || service.mutes > 0 || this.blind.has(server)) return;
      const { connection } = service;
      this.ask(
        () => world.shelf.stored,
        (stored) => {
          if (this.#term !== term || !mayTakeBack(world.spec.plan, stored?.value, server, primary)) return;
          if (!world.isLeading("leader", this)) return;
          const lateMs = nextChance(world.rng, 0.3) ? nextBetween(world.rng, 0, LATE_MAX_MS) : 0;
          world.later(world.travel() + lateMs, undefined, () => world.takeBack(service, primary, connection));
        },
        () => {},
      );
    });
  }

  #survey(errand: number): void {
    const { world } = this;
    world.later(world.travel(), this, () => {
      const views = this.#views();
      for (const service of world.services)
        if (views[service.name]?.is === "up") service.surveyed = service.incarnation;
      world.later(world.travel(), this, () => this.input({ type: "surveyed", errand, views }));
    });
  }

  /** The device works, works without saying so, or does not work; it never lies. */
  #fence(server: string, errand: number): void {
    const { world } = this;
    const epoch = this.state.at === "acting" ? this.state.record.epoch : -1;
    const drawn = nextBetween(world.rng, 0, 1);
    const fate = world.isCalm ? 0 : drawn;
    const isShot = fate < 0.8;
    world.later(nextBetween(world.rng, 10, 400), undefined, () => {
      // These are checked right before the shot, as src/failover/conductor.ts asks: the record still says so, and this leader still leads by the clock.
      const isWanted = mayShoot(world.shelf.stored?.value, server, epoch);
      if (isShot && isWanted && world.isLeading("leader", this)) world.powerOff(server);
    });
    world.later(420, this, () => {
      const outcome = fate < 0.6 && !world.service(server).isPowered ? "verified" : fate < 0.9 ? "unknown" : "failed";
      world.count(outcome === "verified" ? "fences by a device" : "devices that failed or said nothing");
      this.input({ type: "fenced", errand, outcome, said: outcome });
    });
  }

  /** The order goes over the connection on which the server was surveyed, while this leader leads by the clock. */
  #promote(server: string): void {
    const { world } = this;
    const service = world.service(server);
    const { surveyed } = service;
    if (!world.isLeading("leader", this)) return;
    world.later(world.travel(), undefined, () => {
      if (service.isAlive && service.incarnation === surveyed && !this.blind.has(server)) world.promote(service, 0);
    });
  }
}
