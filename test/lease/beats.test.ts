// The beats of a machine before a store that refuses clones: what each keep leaves and names, from the main loop and from a renewal thread, and that a lone machine is never taken for a copy.
import { describe, expect, it } from "vitest";
import type { Kept, Session } from "conclave/stores/contract";
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
import type { Request } from "../../src/lease/state.ts";
import { type Copy, fresh, Lab } from "./copies.ts";

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
