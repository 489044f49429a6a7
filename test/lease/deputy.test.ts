// The deputy beside a machine on the table: what it sends in the machine's place, when it stops, and what the machine makes of what it hears. Both read
// the time that the test holds in hand.
import { describe, expect, it } from "vitest";
import type { Reading } from "../../src/base/clock.ts";
import {
  carry,
  chargeOf,
  createDeputy,
  type DeputyEffect,
  deputize,
  landed,
  nextDuty,
  type KeepOrder,
  orderOf,
  rest,
  takeCharge,
  takeOrder,
  type Word,
} from "../../src/lease/deputy.ts";
import type { Bid, Kept } from "conclave/stores/contract";
import type { Request } from "../../src/lease/state.ts";
import { Rig, sessionOf } from "./rig.ts";

type Keep = Extract<Request, { method: "keep" }>;

/** A leader of "x" with a deputy. Nothing of what the deputy says reaches the machine before `hear`. */
class Blocked extends Rig {
  readonly deputy = createDeputy(this.machine.settings, 1);
  readonly words: Word[] = [];
  readonly sent: { readonly flight: number; readonly request: Keep; readonly sentAt: Reading }[] = [];
  turnedAt: Reading = this.now;

  constructor(stallAfterMs = 20_000, guarantee: ConstructorParameters<typeof Rig>[0] = {}) {
    super({ scope: "host", ...guarantee }, { renewal: "thread", stallAfterMs });
  }

  /** From nothing to leading; the deputy is told as the host would tell it. */
  override lead(name = "x"): Bid {
    const isFirst = this.machine.session.kind !== "open";
    const bid = super.lead(name);
    const charge = chargeOf(this.machine);
    if (charge !== undefined && isFirst) takeCharge(this.deputy, charge);
    for (const effect of this.effects.splice(0))
      if (effect.type === "carry") carry(this.deputy, effect.opened, effect.keep, effect.hold);
    return bid;
  }

  /** Time passes for the deputy alone; what it sends is answered at once by `answer`, or not at all. */
  away(ms: number, answer?: Partial<Extract<Kept, { kind: "kept" }>>): void {
    const end = this.now.mono + ms;
    for (let guard = 0; guard < 1000; guard++) {
      const duty = nextDuty(this.deputy, this.now);
      if (duty > end) break;
      this.jump(Math.max(0, duty - this.now.mono));
      this.act((effects) => deputize(this.deputy, this.turnedAt, this.now, undefined, effects));
      if (answer !== undefined) this.land(answer);
    }
    this.jump(end - this.now.mono);
  }

  land(answer: Partial<Extract<Kept, { kind: "kept" }>> | Kept = {}): void {
    const flown = this.sent.find(({ flight }) => this.deputy.flights.has(flight));
    if (flown === undefined) return;
    const session = sessionOf(flown.request.session);
    const kept: Kept =
      "kind" in answer && answer.kind !== "kept"
        ? (answer as Kept)
        : { kind: "kept", session, lost: [], unsure: [], strays: [], ...(answer as object) };
    this.act((effects) => landed(this.deputy, flown.flight, kept, this.now, effects));
  }

  act(move: (effects: DeputyEffect[]) => void): void {
    const effects: DeputyEffect[] = [];
    move(effects);
    for (const effect of effects)
      if (effect.type === "tell") this.words.push(effect.word);
      else this.sent.push({ flight: effect.flight, request: effect.request as Keep, sentAt: this.now });
  }

  /** As the host does before it asks: each at the reading of its receipt. */
  hear(): void {
    const { now } = this;
    for (const { input, at } of this.words.splice(0)) {
      this.now = at;
      this.input(input);
    }
    this.now = now;
  }

  order(): KeepOrder {
    this.pass(0);
    const { errand, request } = this.next("keep");
    const order = orderOf(this.machine, errand, request);
    if (order === undefined) throw new Error("not a keep of the present session");
    return order;
  }
}

describe("a deputy", () => {
  it("renews while the machine is blocked, from the first instant of a term on", () => {
    const table = new Blocked();
    const bid = table.lead();
    const before = table.deadline;
    table.away(9000, {});
    table.hear();
    expect(table.sent.length).toBeGreaterThanOrEqual(2);
    expect(table.deadline - before).toBeCloseTo(table.sent.at(-1)!.sentAt.mono - 1000, 3);
    expect(table.isHeld(bid)).toBe(true);
    expect(table.events.filter(({ type }) => type === "state")).toEqual([]);
  });

  it("extends by the keep before it, where the store relays touches, and by nothing when the session has moved", () => {
    const table = new Blocked(20_000, { keepProves: "previous-send", proofApartMs: 1000 });
    const bid = table.lead();
    table.away(9000, {});
    table.hear();
    const [before] = table.sent.slice(-2);
    const ttlMs = table.deadline - before!.sentAt.mono;
    expect(ttlMs).toBeGreaterThan(9000);
    expect(ttlMs).toBeLessThan(10_000);
    const count = table.sent.length;
    const deadline = table.deadline;
    // The first one by another road proves nothing, and the next one follows as soon as the two can make a pair.
    table.away(nextDuty(table.deputy, table.now) - table.now.mono, { road: "another" });
    table.hear();
    expect(table.deadline).toBe(deadline);
    const first = table.sent.at(-1)!.sentAt.mono;
    table.away(1000, { road: "another" });
    table.hear();
    expect(table.sent.length).toBe(count + 2);
    expect(table.sent.at(-1)!.sentAt.mono - first).toBe(1000);
    expect(table.deadline).toBeCloseTo(first + ttlMs, 3);
    expect(table.isHeld(bid)).toBe(true);
  });

  it("sends along every hold that was won, and what it sends is dated at its send", () => {
    const table = new Blocked();
    const bids = [table.lead("x"), table.lead("y")];
    table.away(9000, {});
    for (const { request } of table.sent) expect(request.holds.map(({ bid }) => bid)).toEqual(bids);
    const repeats = table.words.map(({ input }) => (input.type === "repeated" ? input.sentAt : undefined));
    expect(repeats).toEqual(table.sent.map(({ sentAt }) => sentAt));
  });

  it("leaves the machine half a request's time to be late", () => {
    const table = new Blocked();
    table.lead();
    const { renewEveryMs, requestTimeoutMs } = table.machine.settings.pace;
    table.away(renewEveryMs + requestTimeoutMs / 2 - 1);
    expect(table.sent).toEqual([]);
    table.away(2);
    expect(table.sent).toHaveLength(1);
  });

  it("carries out the machine's keeps under their own numbers", () => {
    const table = new Blocked();
    const bid = table.lead();
    table.jump(3000);
    const order = table.order();
    table.act((effects) => takeOrder(table.deputy, order, table.turnedAt, table.now, effects));
    table.jump(5);
    table.land();
    expect(table.words).toMatchObject([{ input: { type: "answer", errand: order.errand }, at: table.now }]);
    table.hear();
    expect(table.deadline).toBeGreaterThan(order.sentAt.mono + 9000);
    expect(table.isHeld(bid)).toBe(true);
  });

  it("tries again when an answer does not come, as the machine would", () => {
    const table = new Blocked();
    table.lead();
    table.away(5000);
    expect(table.sent).toHaveLength(1);
    table.land({ kind: "unknown", cause: "test" });
    table.away(1500);
    expect(table.sent).toHaveLength(2);
    table.hear();
    expect(table.happened("error")).toMatchObject([{ error: { code: "STORE_TIMEOUT" } }]);
  });

  it.each(["mono", "boot"] as const)(
    "sends nothing once the loop has not turned for stallAfterMs on the %s hand",
    (hand) => {
      const table = new Blocked(12_000);
      const bid = table.lead();
      if (hand === "boot") table.turnedAt = { ...table.turnedAt, boot: table.turnedAt.boot - 6000 };
      table.away(60_000, {});
      const last = table.sent.at(-1)!.sentAt.mono - 1000;
      expect(last).toBeLessThan(hand === "mono" ? 12_000 : 6000);
      expect(last).toBeGreaterThan(hand === "mono" ? 7000 : 3000);
      table.hear();
      expect(table.isHeld(bid)).toBe(false);
      table.input({ type: "tick" });
      expect(table.happened("lost")).toMatchObject([{ reason: "stalled" }]);
    },
  );

  it("does not send the machine's own keeps either, for code that asks for ever and never yields", () => {
    const table = new Blocked(12_000);
    const bid = table.lead();
    table.away(11_000, {});
    table.hear();
    table.jump(3000);
    const sent = table.sent.length;
    const order = table.order();
    table.act((effects) => takeOrder(table.deputy, order, table.turnedAt, table.now, effects));
    expect(table.sent).toHaveLength(sent);
    table.hear();
    expect(table.happened("error")).toMatchObject([{ error: { code: "STORE_UNREACHABLE" } }]);
    table.away(8000, {});
    table.hear();
    table.input({ type: "tick" });
    expect(table.isHeld(bid)).toBe(false);
    expect(table.happened("lost")).toMatchObject([{ reason: "stalled" }]);
  });

  it("goes on where the loop turns again before the deadline", () => {
    const table = new Blocked(12_000);
    const bid = table.lead();
    table.away(16_000, {});
    const sent = table.sent.length;
    table.turnedAt = table.now;
    table.away(4000, {});
    expect(table.sent.length).toBeGreaterThan(sent);
    table.hear();
    table.input({ type: "tick" });
    expect(table.isHeld(bid)).toBe(true);
  });

  it("sends nothing after the deadline, and nothing when told to rest", () => {
    const table = new Blocked();
    table.lead();
    table.jump(10_000);
    table.act((effects) => deputize(table.deputy, table.now, table.now, undefined, effects));
    expect(table.sent).toEqual([]);
    const other = new Blocked();
    other.lead();
    rest(other.deputy);
    other.away(9000);
    expect(other.sent).toEqual([]);
  });
});

describe("what a deputy hears", () => {
  it("revives nothing when it was answered after the deadline", () => {
    const table = new Blocked();
    const bid = table.lead();
    table.away(5000);
    table.jump(6000);
    table.land();
    table.hear();
    expect(table.isHeld(bid)).toBe(false);
    expect(table.happened("lost")).toMatchObject([{ reason: "expired" }]);
  });

  it("counts from its send, however late it is read", () => {
    const table = new Blocked();
    const bid = table.lead();
    table.away(5000);
    const { sentAt } = table.sent[0]!;
    table.jump(2000);
    table.land();
    table.jump(sentAt.mono + 9800 - table.now.mono);
    table.hear();
    expect(table.isHeld(bid)).toBe(true);
    table.jump(150);
    expect(table.isHeld(bid)).toBe(false);
  });

  it("ends a term that the store no longer has, and extends the others", () => {
    const table = new Blocked();
    const [x, y] = [table.lead("x"), table.lead("y")];
    table.away(5000);
    table.land({ lost: table.sent[0]!.request.holds.filter(({ name }) => name === "y") });
    table.jump(5500);
    table.hear();
    expect(table.isHeld(x, "x")).toBe(true);
    expect(table.isHeld(y, "y")).toBe(false);
    expect(table.happened("lost")).toMatchObject([{ election: "y", reason: "superseded" }]);
  });

  it("ends every term when the session is gone", () => {
    const table = new Blocked();
    const bid = table.lead();
    table.away(5000);
    table.land({ kind: "session-lost" });
    table.hear();
    expect(table.isHeld(bid)).toBe(false);
    expect(table.happened("lost")).toMatchObject([{ reason: "session-lost" }]);
    expect(nextDuty(table.deputy, table.now)).toBe(Infinity);
  });

  it("neither extends nor ends another session than the one that it was sent for", () => {
    const table = new Blocked();
    table.lead();
    table.away(5000);
    const sentAt = table.now;
    table.jump(6000);
    table.input({ type: "tick" });
    table.input({ type: "settle", name: "x" });
    table.pass(1000);
    const bid = table.lead();
    const { deadline } = table;
    const late = { type: "repeated", opened: 1, keep: 1, sentAt: { ...sentAt, mono: table.now.mono } } as const;
    table.input({ ...late, kept: { kind: "session-lost" } });
    table.input({ type: "stalled", opened: 1 });
    const session = { id: "me.s1", candidate: "alice", ttlMs: 10_000 };
    table.input({ ...late, kept: { kind: "kept", session, lost: [], unsure: [], strays: [] } });
    expect(table.isHeld(bid)).toBe(true);
    expect(table.deadline).toBe(deadline);
  });

  it("leaves the machine's own keep in flight", () => {
    const table = new Blocked();
    table.lead();
    table.away(5000);
    table.pass(0);
    expect(table.has("keep")).toBe(true);
    table.land();
    table.hear();
    const before = table.pending.length;
    table.pass(1000);
    expect(table.pending.length).toBe(before); // one at a time
  });
});

describe("settings", () => {
  const refused = (input: object, guarantee: object = {}): unknown => {
    try {
      return new Rig({ scope: "host", ...guarantee }, input);
    } catch (error) {
      return (error as Error).message;
    }
  };

  it("refuse a thread where it cannot work, and a stall that makes no sense", () => {
    expect(refused({ renewal: "thread" }, { scope: "process" })).toMatch(/lives in one thread/);
    expect(refused({ renewal: "loop", stallAfterMs: 9000 })).toMatch(/of renewal: "thread" only/);
    expect(refused({ renewal: "thread", stallAfterMs: "1" })).toMatch(/is not a number/);
    expect(refused({ renewal: "thread", stallAfterMs: 1000 })).toMatch(
      /before the thread would renew: .* at least \d+/,
    );
    expect(refused({ renewal: "thread", stallAfterMs: 1_000_001 })).toMatch(/more than 100 ttls/);
  });

  it("wait for two ttls unless told otherwise", () => {
    expect(new Rig({ scope: "host" }, { renewal: "thread" }).machine.settings.stallAfterMs).toBe(20_000);
    expect(new Rig().machine.settings.stallAfterMs).toBe(Infinity);
  });
});
