// Two copies of one machine, as a cloned virtual machine has them, before one modelled store that refuses clones. Time and the network are in the test's hand.
import { describe, expect, it } from "vitest";
import { createRng } from "conclave/protocols";
import { nextChance, nextOf, nextUint32 } from "../../src/base/rng.ts";
import { stampKeep } from "../../src/lease/beats.ts";
import {
  chargeOf,
  createDeputy,
  deputize,
  type Deputy,
  type DeputyEffect,
  heed,
  landed,
  orderOf,
  takeCharge,
  takeOrder,
} from "../../src/lease/deputy.ts";
import type { Bid, Kept, Session } from "conclave/stores/contract";
import { isHeld, nextWake, step } from "../../src/lease/machine.ts";
import type { Answer, Effect, Input, Machine, Request } from "../../src/lease/state.ts";
import { RaceShelf } from "../../src/simulator/models/race-shelf.ts";
import { Rig } from "./rig.ts";

const NAME = "x";
const CLONES = { refusesClones: true, judge: "taker" } as const;

interface Sent {
  readonly from: Copy;
  readonly errand: number;
  readonly request: Request;
}

let drawn = 0;
const fresh = (): string => `${(++drawn).toString(16).padStart(8, "0")}-0000-4000-8000-000000000000`;

/** One copy, and what it has sent. All copies share one clock here. */
class Copy {
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

class Lab {
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

describe("a machine that was copied while it led", () => {
  it("goes on in one copy; the other loses its session at its next keep, and waits as any rival", () => {
    const lab = new Lab();
    const first = lab.copy("me");
    lab.pass(500, first);
    const second = first.clone("copy");
    const token = first.token;
    expect([first.holds, second.holds, second.token]).toEqual([true, true, token]);
    // One of them is a little ahead, as one always is.
    lab.pass(1500, first, second);
    expect([first.holds, second.holds]).toEqual([true, false]);
    lab.pass(30_000, first, second);
    expect([first.holds, first.token, second.holds]).toEqual([true, token, false]);
  });

  it("does not take the seat of the other copy for its own", () => {
    const lab = new Lab();
    const first = lab.copy("me");
    lab.pass(500, first);
    const second = first.clone("copy");
    lab.pass(10_000, first, second);
    expect(first.holds).toBe(true);
    // Their bids were drawn from one nonce; the second copy has another branch of it since.
    expect([first.bid?.startsWith("me-"), second.machine.branch === first.machine.branch]).toEqual([true, false]);
  });

  it("does not end the session of the other copy when its own deadline has passed in vain", () => {
    const lab = new Lab();
    const first = lab.copy("me");
    lab.pass(500, first);
    const second = first.clone("copy");
    // The second copy has no network: its requests are lost, and its term runs out.
    for (const end = lab.now + 6000; lab.now < end; lab.now += 10) {
      first.tick();
      lab.settle(first);
      second.tick();
      for (const { errand } of lab.wire.splice(0))
        second.input({ type: "answer", errand, answer: { kind: "unknown", cause: "cut" } });
    }
    expect([first.holds, second.holds]).toEqual([true, false]);
    // Now it reaches the store, and tells it that its session is over.
    lab.pass(10_000, first, second);
    expect([first.holds, second.holds]).toEqual([true, false]);
  });

  it("opens another session than the other copy, also where both open one at once", () => {
    const lab = new Lab();
    const first = lab.copy("me");
    const second = first.clone("copy");
    lab.pass(5000, first, second);
    const [one, two] = [first.machine.session, second.machine.session];
    if (one.kind !== "open" || two.kind !== "open") throw new Error("both have a session");
    expect(one.session.id).not.toBe(two.session.id);
    expect([first, second].filter(({ holds }) => holds)).toHaveLength(1);
  });

  it("never bids again what it gave back for the other copy", () => {
    const lab = new Lab();
    const rival = lab.copy("rival");
    lab.pass(500, rival);
    const first = lab.copy("me");
    lab.pass(500, rival, first);
    const second = first.clone("copy");
    // The rival leaves, the second copy is granted the seat, and then the first one renews the session that they share.
    rival.input({ type: "settle", name: NAME });
    rival.input({ type: "withdraw", name: NAME });
    lab.pass(0, rival);
    lab.pass(400, second);
    const given = second.bid;
    expect([second.holds, given?.startsWith("me-")]).toEqual([true, true]);
    const before = first.machine.bidsMade;
    expect(given?.endsWith(`.${before + 1}`)).toBe(true);
    first.input({ type: "renew" });
    first.input({ type: "tick" });
    lab.pass(2000, first);
    expect(first.holds).toBe(true);
    expect(lab.claimed.filter(({ from }) => from === first).map(({ bid }) => bid)).not.toContain(given);
  });

  it("is decided by the first keep that arrives, whatever is lost and late, for 60 seeds", () => {
    for (let seed = 1; seed <= 60; seed++) expect(overlapsAfterParting(seed), `seed ${seed}`).toEqual([]);
  });
});

/**
 * Runs two copies and a rival through a lossy, reordering network, and says when two hold although both copies have had an answer to a keep that was sent after
 * they parted.
 */
function overlapsAfterParting(seed: number): readonly string[] {
  const rng = createRng(seed);
  const lab = new Lab();
  const first = lab.copy("me");
  lab.pass(400, first);
  const rival = lab.copy("rival");
  lab.pass(200 + (nextUint32(rng) % 1500), first, rival);
  const second = first.clone("copy");
  const copies = [first, second, rival];
  const told = new Set<Copy>([rival]);
  const partedAt = first.machine.errandsSent;
  const overlaps: string[] = [];
  const loss = nextOf(rng, [0, 0.1, 0.4]);
  for (const end = lab.now + 9000; lab.now < end; lab.now += 30) {
    for (const copy of copies) copy.tick();
    for (let index = lab.wire.length - 1; index >= 0; index--) {
      if (nextChance(rng, 0.5)) continue;
      const [sent] = lab.wire.splice(index, 1);
      if (sent === undefined) continue;
      const isLostBefore = nextChance(rng, loss);
      const answer = isLostBefore ? undefined : lab.answer(sent);
      const isHeard = answer !== undefined && !nextChance(rng, loss);
      if (isHeard && sent.request.method === "keep" && sent.errand > partedAt) told.add(sent.from);
      sent.from.input({
        type: "answer",
        errand: sent.errand,
        answer: isHeard ? answer : { kind: "unknown", cause: "lost" },
      });
    }
    const holders = copies.filter((copy) => copy.holds && told.has(copy));
    if (holders.length > 1) overlaps.push(`${lab.now}: ${holders.map(({ label }) => label).join(" and ")}`);
  }
  return overlaps;
}

describe("a lone machine", () => {
  it("is renewed whichever of its unanswered keeps was applied", () => {
    for (const applied of [1, 2, 9, 29]) {
      const lab = new Lab();
      const copy = lab.copy("me");
      lab.pass(500, copy);
      for (let tries = 1; tries <= 30; tries++) {
        copy.input({ type: "renew" });
        copy.input({ type: "tick" });
        const [sent] = lab.wire.splice(0);
        if (sent === undefined) throw new Error("no keep was sent");
        if (tries === applied) lab.answer(sent);
        copy.input({ type: "answer", errand: sent.errand, answer: { kind: "unknown", cause: "lost" } });
        expect(beatsOf(sent.request).length).toBeLessThanOrEqual(32);
      }
      lab.pass(1000, copy);
      expect([copy.holds, copy.machine.session.opened]).toEqual([true, 1]);
    }
  });

  it("names a bounded number of beats, and leaves none twice", () => {
    const lab = new Lab();
    const copy = lab.copy("me");
    lab.pass(500, copy);
    const left = new Set<string | undefined>();
    for (let tries = 1; tries <= 80; tries++) {
      copy.input({ type: "renew" });
      copy.input({ type: "tick" });
      for (const { errand, request } of lab.wire.splice(0)) {
        expect(beatsOf(request).length).toBeLessThanOrEqual(32);
        left.add(beatsOf(request).at(-1));
        copy.input({ type: "answer", errand, answer: { kind: "unknown", cause: "lost" } });
      }
    }
    expect(left.size).toBe(80);
  });

  it("is not refused after a failover that has forgotten its last keep", () => {
    const lab = new Lab();
    const copy = lab.copy("me");
    lab.pass(500, copy);
    const backup = lab.shelf.copy();
    copy.input({ type: "renew" });
    lab.pass(0, copy);
    lab.shelf = backup;
    lab.pass(3000, copy);
    expect([copy.holds, copy.machine.session.opened]).toEqual([true, 1]);
  });
});

/** A copy whose keeps are carried out by a deputy, which has sent one of its own. */
function withRepeat(): {
  readonly lab: Lab;
  readonly copy: Copy;
  readonly deputy: Deputy;
  readonly sent: readonly DeputyEffect[];
} {
  const lab = new Lab();
  const copy = lab.copy("me");
  lab.pass(500, copy);
  const deputy = createDeputy(copy.machine.settings, 1);
  const charge = chargeOf(copy.machine);
  if (charge === undefined) throw new Error("there is a session");
  takeCharge(deputy, charge);
  lab.now += 1500;
  const sent: DeputyEffect[] = [];
  const now = { mono: lab.now, boot: lab.now };
  deputize(deputy, now, now, fresh(), sent);
  return { lab, copy, deputy, sent };
}

/** The machine orders a keep, not having heard of anything that its deputy did. */
function order({
  lab,
  copy,
  deputy,
}: {
  lab: Lab;
  copy: Copy;
  deputy: Deputy;
}): Extract<DeputyEffect, { type: "call" }> {
  copy.input({ type: "renew" });
  copy.input({ type: "tick" });
  const sent = lab.wire.splice(0).find(({ request }) => request.method === "keep");
  const ordered = sent && orderOf(copy.machine, sent.errand, sent.request);
  if (ordered === undefined) throw new Error("no keep was ordered");
  const effects: DeputyEffect[] = [];
  const now = { mono: lab.now, boot: lab.now };
  takeOrder(deputy, ordered, now, now, effects);
  return callIn(effects);
}

function callIn(effects: readonly DeputyEffect[]): Extract<DeputyEffect, { type: "call" }> {
  const call = effects.find((effect) => effect.type === "call");
  if (call === undefined) throw new Error("nothing was sent");
  return call;
}

function beatsOf(request: Request): readonly string[] {
  return request.method === "keep" ? ((request.session as Session).beats ?? []) : [];
}

describe("a renewal thread", () => {
  it("tells the main loop of a beat before it sends it", () => {
    const { copy, sent } = withRepeat();
    expect(sent.map(({ type }) => type)).toEqual(["tell", "call"]);
    for (const effect of sent) if (effect.type === "tell") copy.input(effect.word.input);
    const { session } = copy.machine;
    expect(session.kind === "open" && session.session.beats?.at(-1)).toBe(beatsOf(callIn(sent).request).at(-1));
  });

  it("adds its own beat to what an order names that has left before", () => {
    const { lab, copy, deputy, sent } = withRepeat();
    const repeat = callIn(sent);
    const ordered = order({ lab, copy, deputy });
    expect(beatsOf(ordered.request)).toContain(beatsOf(repeat.request).at(-1));
    // So the two are applied one after the other.
    for (const { request } of [repeat, ordered])
      expect(lab.answer({ from: copy, errand: 0, request }).kind).toBe("kept");
  });

  it("names the beats of keeps that the main loop has sent before the thread listened", () => {
    const lab = new Lab();
    const copy = lab.copy("me");
    lab.pass(500, copy);
    const deputy = createDeputy(copy.machine.settings, 1);
    const charge = chargeOf(copy.machine);
    if (charge === undefined) throw new Error("there is a session");
    takeCharge(deputy, charge);
    copy.input({ type: "renew" });
    copy.input({ type: "tick" });
    const [direct] = lab.wire.splice(0);
    if (direct === undefined) throw new Error("no keep was sent");
    lab.answer(direct);
    heed(deputy, copy.machine.session.opened, beatsOf(direct.request).at(-1) ?? "");
    lab.now += 1500;
    const now = { mono: lab.now, boot: lab.now };
    const sent: DeputyEffect[] = [];
    deputize(deputy, now, now, fresh(), sent);
    expect(lab.answer({ from: copy, errand: 0, request: callIn(sent).request }).kind).toBe("kept");
  });

  it("takes no notice of a refusal by which its repeat was overtaken, nor does the machine", () => {
    const { lab, copy, deputy, sent } = withRepeat();
    const repeat = callIn(sent);
    const ordered = order({ lab, copy, deputy });
    const words: DeputyEffect[] = sent.filter(({ type }) => type === "tell");
    const now = { mono: lab.now, boot: lab.now };
    for (const { request, flight } of [ordered, repeat])
      landed(deputy, flight, lab.answer({ from: copy, errand: 0, request }) as Kept, now, words);
    for (const effect of words) if (effect.type === "tell") copy.input(effect.word.input);
    expect(
      words.some(
        (effect) =>
          effect.type === "tell" && "kept" in effect.word.input && effect.word.input.kept.kind === "session-lost",
      ),
    ).toBe(true);
    expect([deputy.charge === undefined, copy.machine.session.kind]).toEqual([false, "open"]);
  });
});
