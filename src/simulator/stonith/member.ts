// One candidate of a world of STONITH: it hosts the real machine (src/stonith/machine.ts) as src/stonith/guarded-term.ts does, with simulated time, its guarded work, and the notes that it leaves.
import { nextBetween, nextChance } from "../../base/rng.ts";
import { AWAY, stepStonith, wakeAtMs } from "../../stonith/machine.ts";
import type { Stint, StonithRecord } from "../../stonith/record.ts";
import type {
  Notes,
  StonithEffect,
  StonithInput,
  StonithNews,
  StonithPlan,
  StonithState,
} from "../../stonith/state.ts";
import type { MemoAnswer } from "../kernel/memo.ts";
import type { SeatHolder } from "../kernel/seat.ts";
import { SeatProcess } from "../kernel/seat-process.ts";
import { Shooting } from "./shooting.ts";
import type { SimWork } from "./machine-room.ts";
import type { StonithWorld } from "./world.ts";

/** The changes that are written into the memo of a ban. */
type BanStep = "ban" | "lift" | "end-sessions";

export interface MemberTerm {
  readonly token: number;
  readonly stint: Stint;
  /** The intents that this term has joined, or may have. */
  readonly joins: Set<string>;
  n: number;
  over: number | undefined;
  lastSent: StonithRecord | undefined;
  readonly bans: Map<string, { n: number; over: number | undefined; does: BanStep; isAnswered: boolean }>;
}

export class SimMember extends SeatProcess<StonithWorld> {
  readonly shooting: Shooting = new Shooting(this);
  state: StonithState = AWAY;
  term: MemberTerm | undefined;
  work: SimWork | undefined;
  #life = "";
  #wakes = 0;
  #lives = 0;
  /** Notes that it has to leave, and has not been able to. */
  #settled: Stint[] = [];
  #debts: { readonly stint: Stint; readonly intent: string }[] = [];

  get life(): string {
    return this.#life;
  }

  get plan(): StonithPlan {
    const { spec } = this.world;
    const timeoutMs = spec.watchdogs[this.name];
    const watchdog = timeoutMs === undefined ? undefined : { timeoutMs, ttlMs: spec.ttlMs };
    return { ...spec.plan, node: this.name, life: this.#life, watchdog, isOnlyForOrders: false };
  }

  override begin(): void {
    this.isAlive = true;
    this.#life = `${this.name}/${this.world.node(this.name).boots}/${++this.#lives}`;
    this.state = AWAY;
    this.term = undefined;
    this.work = undefined;
    this.#settled = [];
    this.#debts = [];
    this.shooting.reset();
    this.world.later(this.nap(), this, () => this.world.claim(this));
    this.#noteHome();
    this.#poll();
  }

  override restart(): void {
    if (this.world.node(this.name).isOn) this.begin();
  }

  // ---- terms

  granted({ token }: SeatHolder<SimMember>): void {
    const stint: Stint = { node: this.name, token: String(token), life: this.#life };
    this.term = { token, stint, joins: new Set(), n: 0, over: undefined, lastSent: undefined, bans: new Map() };
    this.input({ type: "lead", token: String(token) });
  }

  /** The signal of the term aborts, or the term is lost. */
  ended(): void {
    const { term, world, work } = this;
    if (term === undefined) return;
    this.term = undefined;
    this.#step({ type: "leave" });
    for (const intent of term.joins) this.#debts.push({ stint: term.stint, intent });
    this.shooting.stop();
    if (work === undefined || !work.isAlive) return this.#standAgain();
    const { spec, rng } = world;
    const isStubborn = nextChance(rng, spec.stubbornChance);
    const lastsMs = isStubborn ? nextBetween(rng, 0, 8 * spec.ttlMs) : nextBetween(rng, 0, spec.drainMs);
    if (isStubborn) world.count("works that went on after their term");
    world.later(lastsMs, this, () => this.#workEnded(work));
  }

  /** Nothing is released, and the candidate does not stand again, before the work has settled. */
  #standAgain(): void {
    this.world.release(this);
    this.world.later(this.nap(), this, () => this.world.claim(this));
  }

  #workEnded(work: SimWork): void {
    if (!work.isAlive || this.work !== work) return;
    this.world.endWork(work);
    this.work = undefined;
    if (this.term !== undefined) return this.input({ type: "settled" });
    this.#settled.push(work.stint);
    this.#standAgain();
  }

  #begin(term: MemberTerm): void {
    const { world } = this;
    const work = world.beginWork(this, term.stint);
    this.work = work;
    world.later(
      nextBetween(world.rng, 0, world.spec.workMaxMs),
      this,
      () => this.term === term && this.#workEnded(work),
    );
  }

  // ---- the machine

  input(input: StonithInput): void {
    const { world, term } = this;
    if (term !== undefined && !world.isLeading(this)) return this.ended();
    this.#step(input);
  }

  #step(input: StonithInput): void {
    const { world } = this;
    const now = { nowMs: world.nowMs, wallMs: world.nowMs, random: nextBetween(world.rng, 0, 1) };
    const { state, effects } = stepStonith(this.plan, this.state, input, now);
    this.state = state;
    for (const effect of effects) this.#carryOut(effect);
    this.#arrange();
  }

  #arrange(): void {
    const wake = ++this.#wakes;
    const atMs = wakeAtMs(this.state);
    if (atMs === Infinity) return;
    this.world.later(Math.max(0, atMs - this.world.nowMs), this, () => {
      if (wake === this.#wakes && this.term !== undefined) this.input({ type: "tick" });
    });
  }

  #carryOut(effect: StonithEffect): void {
    const { term } = this;
    if (effect.type === "tell") return this.#hear(effect.news);
    if (term === undefined) return;
    switch (effect.type) {
      case "read":
        return this.#read(term);
      case "write":
        return this.#write(term, effect.record);
      case "ban":
      case "lift":
      case "end-sessions":
        return this.#ban(term, effect.node, effect.type);
      case "look-home":
        return this.world.later(this.nap(), this, () =>
          this.#ifIn(term, { type: "home", gone: this.#provedGone(effect.stints) }),
        );
      case "look":
        return this.world.later(this.nap(), this, () => {
          const on = effect.nodes.filter((node) => this.world.askDevice(node) === "on");
          this.#ifIn(term, { type: "looked", on });
        });
      case "shoot":
        return this.shooting.begin(term, effect);
      case "stop-shot":
        return this.shooting.stop();
      case "begin":
        return this.#begin(term);
      case "resign":
        return this.#resign(term, effect.why);
    }
  }

  #ifIn(term: MemberTerm, input: StonithInput): void {
    if (this.term === term) this.input(input);
  }

  #hear(news: StonithNews): void {
    const { world } = this;
    if (news.is === "begun") return;
    if (news.is === "history" && news.entry.is === "released") world.count("clean releases");
    if (news.is === "refused") world.count("shots refused by a limit");
    world.note({ is: "news", node: this.name, news });
  }

  #resign(term: MemberTerm, why: string): void {
    const { world } = this;
    world.note({ is: "resigned", node: this.name, why });
    if (why.includes("another node")) world.count("terms given up for another node");
    this.term = undefined;
    for (const intent of term.joins) this.#debts.push({ stint: term.stint, intent });
    this.#step({ type: "leave" });
    this.shooting.stop();
    this.#standAgain();
  }

  // ---- the store

  #read(term: MemberTerm): void {
    const { world } = this;
    this.ask(
      () => ({ memo: world.store.record, sight: world.sight }),
      ({ memo, sight }) => {
        if (this.term !== term) return;
        term.over = memo?.version;
        this.input({ type: "read", record: memo?.value, sight });
      },
      () => this.#ifIn(term, { type: "unanswered" }),
    );
  }

  /** A record that is sent again keeps its number. */
  #write(term: MemberTerm, record: StonithRecord): void {
    const { world } = this;
    if (term.lastSent !== record) term.n++;
    term.lastSent = record;
    for (const { id, joined } of record.intents)
      if (joined.some(({ life, token }) => life === term.stint.life && token === term.stint.token)) term.joins.add(id);
    const write = { token: term.token, n: term.n, over: term.over, value: record };
    this.#guarded(
      term,
      () => world.writeRecord(this, write),
      (version) => (term.over = version),
    );
  }

  #ban(term: MemberTerm, node: string, does: BanStep): void {
    const { world } = this;
    const last = term.bans.get(node);
    const isSame = last !== undefined && last.does === does && !last.isAnswered;
    const sent = isSame ? last : { n: (last?.n ?? 0) + 1, over: world.store.banVersion(node), does, isAnswered: false };
    term.bans.set(node, sent);
    const write = { token: term.token, n: sent.n, over: sent.over, value: does !== "lift" };
    this.#guarded(
      term,
      () => (does === "end-sessions" ? world.endSessions(this, node, write) : world.writeBan(this, node, write)),
      () => (sent.isAnswered = true),
    );
  }

  #guarded(term: MemberTerm, atStore: () => MemoAnswer, done: (version: number) => void): void {
    this.ask(
      atStore,
      (answer) => {
        if (this.term !== term) return;
        if (answer.is !== "written") return this.ended();
        done(answer.version);
        this.input({ type: "written" });
      },
      () => this.#ifIn(term, { type: "unanswered" }),
    );
  }

  // ---- its sights and its notes

  #poll(): void {
    this.world.again(
      this,
      () => this.nap(),
      () => {
        this.#noteDebts();
        const { term, world } = this;
        if (term === undefined || this.state.at !== "leading" || !this.isAble) return;
        this.ask(
          () => world.sight,
          (sight) => this.#ifIn(term, { type: "seen", sight }),
          () => {},
        );
      },
    );
  }

  /** The part of its own past on this machine that has certainly ended. */
  #provedGone(stints: readonly Stint[]): readonly Stint[] {
    return stints.filter((stint) => this.world.isNothingLeft(stint, this.#life));
  }

  /** At its start, notes everything that earlier lives on this machine have not noted. */
  #noteHome(): void {
    const { world } = this;
    this.ask(
      () => world.store.record?.value,
      (record) => {
        const settled = this.#provedGone((record?.acting ?? []).filter(({ node }) => node === this.name));
        this.#settled.push(...settled);
        for (const { id: intent, joined } of record?.intents ?? [])
          for (const stint of this.#provedGone(joined.filter(({ node }) => node === this.name)))
            this.#debts.push({ stint, intent });
      },
      () => {},
    );
  }

  #noteDebts(): void {
    const { world } = this;
    const free = this.#debts.filter(
      ({ stint, intent }) =>
        !world.aims.some((aim) => aim.intent === intent && aim.by.life === stint.life && aim.by.token === stint.token),
    );
    const settled = [...this.#settled];
    if ((settled.length === 0 && free.length === 0) || !this.isAble) return;
    const notes: Notes = { settled, gone: free.map(({ stint, intent }) => ({ ...stint, intent })) };
    this.ask(
      () => world.store.note(this.name, notes),
      (isNoted) => {
        if (!isNoted) return;
        this.#settled = this.#settled.filter((stint) => !settled.includes(stint));
        this.#debts = this.#debts.filter((debt) => !free.includes(debt));
        world.count("notes of work that ended", settled.length);
        world.count("notes of agents that are gone", free.length);
      },
      () => {},
    );
  }
}
