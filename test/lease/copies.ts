// Copies of one machine, as a cloned virtual machine has them, before one modelled store that refuses clones. Time and the network are in the test's hand.
import type { Bid } from "conclave/stores/contract";
import { stampKeep } from "../../src/lease/beats.ts";
import { isHeld, nextWake, step } from "../../src/lease/machine.ts";
import type { Answer, Effect, Input, Machine, Request } from "../../src/lease/state.ts";
import { RaceShelf } from "../../src/simulator/models/race-shelf.ts";
import { Rig } from "./rig.ts";

export const NAME = "x";
const CLONES = { refusesClones: true, judge: "taker" } as const;

interface Sent {
  readonly from: Copy;
  readonly errand: number;
  readonly request: Request;
}

let drawn = 0;
export const fresh = (): string => `${(++drawn).toString(16).padStart(8, "0")}-0000-4000-8000-000000000000`;

/** One copy, and what it has sent. All copies share one clock here. */
export class Copy {
  readonly machine: Machine;
  readonly label: string;
  readonly lab: Lab;

  constructor(lab: Lab, machine: Machine, label: string) {
    this.lab = lab;
    this.machine = machine;
    this.label = label;
  }

  input(input: Input): void {
    const effects: Effect[] = [];
    const now = { mono: this.lab.now, boot: this.lab.now };
    step(this.machine, input, now, effects);
    for (const effect of effects)
      if (effect.type === "call")
        this.lab.wire.push({
          from: this,
          errand: effect.errand,
          request: stampKeep(this.machine, effect.errand, effect.request, fresh()),
        });
    for (const effect of effects)
      if (effect.type === "event" && effect.event.type === "lost") this.input({ type: "settle", name: NAME });
  }

  tick(): void {
    const now = { mono: this.lab.now, boot: this.lab.now };
    if (nextWake(this.machine, now) <= this.lab.now) this.input({ type: "tick" });
  }

  clone(label: string): Copy {
    return new Copy(this.lab, structuredClone(this.machine), label);
  }

  get bid(): Bid | undefined {
    const stage = this.machine.campaigns.get(NAME)?.stage;
    return stage === undefined || stage.kind === "standing" ? undefined : stage.term.hold.bid;
  }

  get holds(): boolean {
    const now = { mono: this.lab.now, boot: this.lab.now };
    return this.bid !== undefined && isHeld(this.machine, NAME, this.bid, now);
  }

  get token(): bigint | undefined {
    const stage = this.machine.campaigns.get(NAME)?.stage;
    return stage === undefined || stage.kind === "standing" ? undefined : stage.term.hold.token?.value;
  }
}

export class Lab {
  now = 1000;
  shelf = new RaceShelf({ domain: "lab", judge: "taker", layout: "session", refusesClones: true });
  readonly wire: Sent[] = [];
  readonly claimed: { readonly from: Copy; readonly bid: Bid }[] = [];

  copy(label: string): Copy {
    const { machine } = new Rig(CLONES, { ttlMs: 3000, drainMs: 100 }, label);
    const copy = new Copy(this, machine, label);
    copy.input({ type: "stand", name: NAME, value: "" });
    return copy;
  }

  answer({ from, request }: Sent): Answer {
    switch (request.method) {
      case "keep":
        return this.shelf.keep(request.session, request.holds, this.now);
      case "claim":
        for (const { bid } of request.claims) this.claimed.push({ from, bid });
        return { kind: "claimed", claimed: request.claims.map((claim) => this.shelf.claim(claim, this.now)) };
      case "release":
        this.shelf.release(request.will);
        return { kind: "released" };
      case "look":
        return { kind: "seen", seats: request.questions.map((question) => this.shelf.look(question)) };
      case "writeMemo":
        return this.shelf.writeMemo(request.write);
      case "readMemos":
        return { kind: "memos", memos: this.shelf.readMemos(request.name, request.key) };
      case "askToLeave":
      case "invite":
        return { kind: "told" };
    }
  }

  /** Carries out and answers all that is under way, until nothing is. */
  settle(...copies: readonly Copy[]): void {
    for (let sent = this.wire.shift(); sent !== undefined; sent = this.wire.shift()) {
      sent.from.input({ type: "answer", errand: sent.errand, answer: this.answer(sent) });
      for (const copy of copies) copy.tick();
    }
  }

  /** Time passes in small steps, and everything is answered at once. */
  pass(ms: number, ...copies: readonly Copy[]): void {
    const end = this.now + ms;
    for (; this.now <= end; this.now += 10) {
      for (const copy of copies) copy.tick();
      this.settle(...copies);
    }
  }
}
