// Two copies of one machine, as a cloned virtual machine has them: one goes on, and the other is refused.
import { describe, expect, it } from "vitest";
import { createRng } from "conclave/protocols";
import { nextChance, nextOf, nextUint32 } from "../../src/base/rng.ts";
import { type Copy, Lab, NAME } from "./copies.ts";

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
