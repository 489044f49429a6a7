import { describe, expect, it } from "vitest";
import { defaultMaxOff } from "../../src/stonith/limits.ts";
import { mayShoot, wakeAtMs } from "../../src/stonith/machine.ts";
import { HISTORY_MAX, NO_RECORD } from "../../src/stonith/record.ts";
import type { StonithOrder } from "../../src/stonith/orders.ts";
import { acted, Desk, intent, leading, OFF, PLAN, stint } from "./desk.ts";

/** The desk has served its delay, and has opened an intent against `a`. */
function aimed(plan: Parameters<typeof leading>[1] = {}): Desk {
  const desk = leading({ acting: [acted("a", "4")] }, plan);
  desk.tick(300);
  return desk;
}

/** A shot at `a` is under way. */
function shooting(plan: Parameters<typeof leading>[1] = {}): Desk {
  const desk = aimed(plan);
  desk.written();
  expect(desk.written()).toEqual(["shoot a"]);
  return desk;
}

describe("a leader of a guarded election", () => {
  it("begins at once where nobody has acted, and only when the record names it", () => {
    const desk = new Desk();
    expect(desk.on({ type: "lead", token: "5" })).toEqual(["read"]);
    expect(desk.on({ type: "unanswered" })).toEqual(["read"]);
    const sight = { notes: { settled: [], gone: [] }, order: undefined, foreign: [] };
    expect(desk.on({ type: "read", record: undefined, sight })).toEqual(["write acting b5 | -"]);
    expect(desk.on({ type: "unanswered" })).toEqual(["write acting b5 | -"]);
    expect(desk.written()).toEqual(["begin"]);
  });

  it("takes itself out of the list when its work has ended, and then resigns", () => {
    const desk = leading({});
    desk.written();
    expect(desk.on({ type: "settled" })).toEqual(["write acting - | -"]);
    expect(desk.written()).toEqual(["resign"]);
    expect(desk.tick(1000)).toEqual([]);
  });

  it("waits, writes the intent, bans, shoots, and takes over when the node is verified to be off; the ban goes after that", () => {
    const desk = leading({ acting: [acted("a", "4")] });
    expect(desk.first).toEqual([]);
    expect(wakeAtMs(desk.state)).toBe(200);
    expect(desk.tick(199)).toEqual([]);
    expect(desk.tick(1)).toEqual(["write acting a4 | a<5"]);
    expect(desk.written()).toEqual(["ban a"]);
    expect(desk.on({ type: "unanswered" })).toEqual(["ban a"]);
    expect(desk.written()).toEqual(["shoot a"]);
    expect(desk.shot("off")).toEqual(["write acting - | a<!"]);
    expect(desk.written()).toEqual(["lift a"]);
    expect(desk.written()).toEqual(["write acting - | -"]);
    expect(desk.written()).toEqual(["write acting b5 | -"]);
    expect(desk.written()).toEqual(["begin"]);
    expect(desk.record.off.map(({ node }) => node)).toEqual(["a"]);
    expect(desk.record.history.map(({ is }) => is)).toEqual(["opened", "off", "lifted", "acting"]);
  });

  it("waits for a time that is drawn anew by each", () => {
    const [early, late] = [0, 0.99].map((random) => {
      const desk = new Desk();
      desk.random = random;
      desk.on({ type: "lead", token: "5" });
      const sight = { notes: { settled: [], gone: [] }, order: undefined, foreign: [] };
      desk.on({ type: "read", record: { ...NO_RECORD, acting: [acted("a", "4")] }, sight });
      return wakeAtMs(desk.state);
    });
    expect(early).toBe(100);
    expect(late).toBeCloseTo(298);
  });

  it.each(["failed", "unknown"] as const)(
    "does not take over after a shot that is %s, and tries again later and later",
    (outcome) => {
      const desk = shooting({ attemptsMax: 100 });
      for (const pauseMs of [1000, 2000, 3000, 3000]) {
        expect(desk.shot(outcome)).toEqual(["write acting a4 | a<"]);
        expect(desk.written()).toEqual([]);
        expect(desk.tick(pauseMs - 1)).toEqual([]);
        expect(desk.tick(1)).toEqual(["write acting a4 | a<5"]);
        expect(desk.written()).toEqual(["shoot a"]);
      }
      expect(desk.record.intents[0]).toMatchObject({ failures: 4, last: { outcome } });
      expect(desk.record.history.filter(({ is }) => is === "not-off")).toHaveLength(1);
    },
  );

  it("gives up after a few failures, so that another node may try, and does not begin", () => {
    const desk = shooting({ attemptsMax: 1 });
    desk.shot("failed");
    desk.written();
    expect(desk.tick(1000)).toEqual(["resign"]);
  });

  it("fences the first of three terms, if the second died before its intent", () => {
    const desk = leading({ acting: [acted("a", "3")] });
    expect(desk.tick(300)).toEqual(["write acting a3 | a<5"]);
  });

  it("goes on with an intent that another term has left: joins it, bans once more, and shoots", () => {
    const desk = leading({ acting: [acted("a", "3")], intents: [intent("a", [stint("c", "4")])] });
    expect(desk.first).toEqual(["ban a"]);
    expect(desk.written()).toEqual([]);
    expect(desk.tick(300)).toEqual(["write acting a3 | a<4+5"]);
    expect(desk.written()).toEqual(["shoot a"]);
  });

  it("ignores the answer to an earlier shot, and every answer of an earlier term", () => {
    const desk = shooting();
    expect(desk.on({ type: "shot", errand: 0, outcome: "off", said: "", isGone: true })).toEqual([]);
    const { errand } = desk.leading;
    desk.on({ type: "leave" });
    expect(desk.on({ type: "shot", errand, outcome: "off", said: "", isGone: true })).toEqual([]);
    desk.on({ type: "lead", token: "6" });
    expect(desk.on({ type: "shot", errand, outcome: "off", said: "", isGone: true })).toEqual([]);
    expect(desk.on({ type: "written" })).toEqual([]);
  });
});

describe("the ban", () => {
  it("stands while a term that joined has not said that its agents are gone, and the takeover does not wait for that", () => {
    const desk = leading({ acting: [acted("a", "3")], intents: [intent("a", [stint("c", "4")])] });
    desk.written();
    desk.tick(300);
    desk.written();
    expect(desk.shot("off")).toEqual(["write acting - | a<4!"]);
    expect(desk.written()).toEqual(["write acting b5 | a<4!"]);
    expect(desk.written()).toEqual(["begin"]);
    const gone = [{ ...stint("c", "4"), intent: "4.a" }];
    expect(desk.see({ notes: { settled: [], gone: [{ ...stint("c", "4"), intent: "another" }] } })).toEqual([]);
    expect(desk.see({ notes: { settled: [], gone: [{ ...stint("c", "4", "another"), intent: "4.a" }] } })).toEqual([]);
    expect(desk.see({ notes: { settled: [], gone } })).toEqual(["write acting b5 | a<!"]);
    expect(desk.written()).toEqual(["lift a"]);
    expect(desk.written()).toEqual(["write acting b5 | -"]);
  });

  it("stands while an agent of this term could not be ended", () => {
    const desk = shooting();
    expect(desk.shot("off", false)).toEqual(["write acting - | a<5!"]);
    expect(desk.written()).toEqual(["write acting b5 | a<5!"]);
    desk.written();
    expect(desk.on({ type: "gone", intent: "5.1" })).toEqual(["write acting b5 | a<!"]);
    expect(desk.written()).toEqual(["lift a"]);
  });

  it("stands while another shot of this term is under way, though agents of an earlier one are gone", () => {
    const desk = shooting({ attemptsMax: 100 });
    desk.shot("unknown", false);
    desk.written();
    expect(desk.tick(1000)).toEqual(["shoot a"]);
    expect(desk.on({ type: "gone", intent: "5.1" })).toEqual([]);
    expect(desk.shot("off", true)).toEqual(["write acting - | a<!"]);
  });

  it("goes when the node of a term that joined was itself verified to be off", () => {
    const desk = leading({ acting: [acted("c", "4")], intents: [intent("a", [stint("c", "4")], { off: OFF })] });
    desk.tick(300);
    desk.written();
    expect(desk.written()).toEqual(["shoot c"]);
    expect(desk.shot("off")).toEqual(["write acting - | a<! c<!"]);
    expect(desk.written()).toEqual(["lift a"]);
  });

  it("goes without a shot where the node need not be off any more, and no shot can come", () => {
    expect(leading({ intents: [intent("a", [])] }).first).toEqual(["lift a"]);
    expect(leading({ intents: [intent("a", [stint("c", "4")])] }).first).toEqual(["write acting b5 | a<4"]);
  });

  it("cannot stand against the node that leads: an intent against it goes", () => {
    const desk = leading({ intents: [intent("b", [stint("c", "4")])], off: [{ node: "b", since: "1.1" }] });
    expect(desk.first).toEqual(["write acting - | -"]);
    expect(desk.written()).toEqual(["write acting b5 | -"]);
    expect(desk.record.off).toEqual([]);
  });
});

describe("who has acted", () => {
  it("is not shot if its process has noted that the work has ended", () => {
    const desk = leading({ acting: [acted("a", "4")] });
    expect(desk.see({ notes: { settled: [stint("a", "3"), stint("a", "4", "another")], gone: [] } })).toEqual([]);
    expect(desk.see({ notes: { settled: [stint("a", "4")], gone: [] } })).toEqual(["write acting - | -"]);
    expect(desk.written()).toEqual(["write acting b5 | -"]);
  });

  it("ends a shot that is not needed any more", () => {
    const desk = shooting();
    expect(desk.see({ notes: { settled: [stint("a", "4")], gone: [] } })).toEqual(["write acting - | a<5"]);
    expect(desk.written()).toEqual(["stop-shot"]);
    expect(desk.shot("unknown")).toEqual(["write acting - | a<"]);
    expect(desk.written()).toEqual(["lift a"]);
    expect(desk.written()).toEqual(["write acting - | -"]);
    desk.written();
    const off = desk.record.off.map(({ node }) => node);
    expect(off, "it may have been hit: it counts as off until it is seen on").toEqual(["a"]);
  });

  it("is never shot on the own node: what is left of it has to be proved gone, or the term is given up", () => {
    const desk = leading({ acting: [acted("b", "4")] });
    expect(desk.first).toEqual(["look-home 4"]);
    expect(desk.on({ type: "home", gone: [] })).toEqual(["resign"]);
    const other = leading({ acting: [acted("b", "4")] });
    expect(other.on({ type: "home", gone: [stint("b", "4")] })).toEqual(["write acting - | -"]);
    expect(other.written()).toEqual(["write acting b5 | -"]);
  });

  it("with a hardware watchdog is off after its ttl and twice the timeout, from the ban of this term on", () => {
    const watchdog = { timeoutMs: 10_000, ttlMs: 5000 };
    const desk = leading({ acting: [acted("a", "4", watchdog)] }, { devices: [] });
    expect(desk.tick(300)).toEqual(["write acting a4 | a<"]);
    expect(desk.written()).toEqual(["ban a"]);
    expect(desk.written()).toEqual([]);
    expect(wakeAtMs(desk.state)).toBe(300 + 25_000);
    expect(desk.tick(24_999)).toEqual([]);
    expect(desk.tick(1)).toEqual(["write acting - | a<!"]);
    expect(desk.record.off).toEqual([]);
  });

  it("without a device and without a watchdog waits for a human", () => {
    const desk = leading({ acting: [acted("a", "4")] }, { devices: [] });
    expect(desk.tick(300)).toEqual([]);
    expect(desk.told("refused")).toContain("no device");
  });

  it("is not shot while foreign candidates are in the line, and nobody takes over", () => {
    const desk = leading({ acting: [acted("a", "4")] }, {}, { foreign: ["go-1"] });
    expect(desk.tick(300)).toEqual([]);
    expect(desk.told("waiting")).toContain("go-1");
    expect(leading({}, {}, { foreign: ["go-1"] }).first).toEqual([]);
    const shot = shooting();
    expect(shot.see({ foreign: ["go-1"] })).toEqual(["stop-shot"]);
  });
});

describe("what forbids a shot", () => {
  it("at most maxOff nodes are off, or to be off, at one time; one that is on again does not count", () => {
    const desk = leading({
      acting: [acted("a", "4")],
      intents: [intent("c", [stint("d", "3")], { off: OFF })],
      off: [{ node: "e", since: "1.1" }],
    });
    expect(desk.tick(300)).toEqual(["look e"]);
    expect(desk.on({ type: "looked", on: [] })).toEqual([]);
    expect(desk.told("refused")).toContain("a, c, e would be");
    expect(desk.tick(3000)).toEqual(["look e"]);
    expect(desk.on({ type: "looked", on: ["e", "d"] })).toEqual(["write acting a4 | c<3!"]);
    expect(desk.record.off.map(({ node }) => node)).toEqual(["e"]);
    expect(desk.written()).toEqual(["write acting a4 | c<3! a<5"]);
  });

  it("maxOff leaves a majority of the configured nodes, and is one at least", () => {
    expect([1, 2, 3, 4, 5, 7].map((count) => defaultMaxOff(Array.from({ length: count }, String)))).toEqual([
      1, 1, 1, 1, 2, 3,
    ]);
  });

  it("never so many that a store on these nodes loses its quorum", () => {
    const plan = { maxOff: 5, storeMembers: ["a", "b", "c"] };
    const desk = leading({ acting: [acted("a", "4")], off: [{ node: "c", since: "1.1" }] }, plan);
    desk.tick(300);
    desk.on({ type: "looked", on: [] });
    expect(desk.told("refused")).toContain("1 of its 3 servers left");
    const other = leading({ acting: [acted("d", "4")], off: [{ node: "c", since: "1.1" }] }, plan);
    expect(other.tick(300)).toEqual(["write acting d4 | d<5"]);
  });

  it("at most so many within a window, also by a clock that is ahead", () => {
    const recentMs = [9_990_000, 10_030_000, 9_941_000];
    const desk = leading({ acting: [acted("a", "4")], recentMs });
    expect(desk.tick(300)).toEqual([]);
    expect(desk.told("refused")).toContain("3 shots within 60 s");
    desk.wallMs += 2000;
    expect(desk.tick(3000)).toEqual(["write acting a4 | a<5"]);
  });

  it("a node that is not configured", () => {
    const desk = leading({ acting: [acted("stranger", "4")] }, { devices: [...PLAN.devices, "stranger"] });
    expect(desk.tick(300)).toEqual([]);
    expect(desk.told("refused")).toContain("not configured");
  });
});

describe("right before an agent is started", () => {
  const record = { ...NO_RECORD, intents: [intent("a", [stint("b", "5")])] };
  const me = stint("b", "5");
  const look = { isHeld: true, record, bans: ["a"] };

  it("the term is held, it has joined the open intent, and the ban stands", () => {
    expect(mayShoot(look, me, "4.a", "a")).toBe(true);
    expect(mayShoot({ ...look, isHeld: false }, me, "4.a", "a")).toBe(false);
    expect(mayShoot({ ...look, bans: [] }, me, "4.a", "a")).toBe(false);
    expect(mayShoot({ ...look, record: NO_RECORD }, me, "4.a", "a")).toBe(false);
    expect(mayShoot({ ...look, record: undefined }, me, "4.a", "a")).toBe(false);
    expect(mayShoot(look, stint("b", "6"), "4.a", "a")).toBe(false);
    expect(mayShoot(look, me, "4.b", "a")).toBe(false);
    expect(mayShoot(look, me, "4.a", "c")).toBe(false);
    expect(
      mayShoot({ ...look, bans: ["b"], record: { ...record, intents: [intent("b", [me])] } }, me, "4.b", "b"),
    ).toBe(false);
  });
});

const WALL_MS = 10_000_000;
const fence = (node: string, id = "o1"): StonithOrder => ({
  id,
  by: "kim",
  kind: "fence",
  node,
  why: "it smokes",
  wallMs: WALL_MS,
});
const confirm = (
  says: "off" | "quiet" | "on",
  about: Partial<Extract<StonithOrder, { kind: "confirm" }>> = {},
): StonithOrder => ({
  id: "o1",
  by: "kim",
  kind: "confirm",
  node: "a",
  says,
  intent: undefined,
  acting: [],
  joined: [],
  since: undefined,
  wallMs: WALL_MS,
  ...about,
});

describe("an operator", () => {
  it("asks for a shot, which the leader carries out while it works, once", () => {
    const desk = leading({});
    desk.written();
    expect(desk.see({ order: fence("a") })).toEqual(["write acting b5 | a<5"]);
    expect(desk.written()).toEqual(["ban a"]);
    expect(desk.written()).toEqual([]);
    expect(desk.tick(300)).toEqual(["shoot a"]);
    expect(desk.shot("off")).toEqual(["write acting b5 | a<!"]);
    expect(desk.written()).toEqual(["lift a"]);
    expect(desk.written()).toEqual(["write acting b5 | -"]);
    expect(desk.written()).toEqual([]);
    expect(desk.see({ order: fence("a") })).toEqual([]);
    expect(desk.record.orders).toEqual([{ id: "o1", said: "it is being fenced", isDone: true }]);
    expect(desk.see({ order: fence("b", "o2") })).toEqual(["write acting b5 | -"]);
    desk.written();
    expect(desk.see({ order: fence("a") }), "an order that is seen once more, after another").toEqual([]);
    expect(desk.record.recentMs).toEqual([]);
  });

  it("holds nobody's work up by an order that cannot be carried out", () => {
    const ordered = intent("a", [], { isOrdered: true });
    const desk = leading({ intents: [ordered] }, { devices: [] });
    expect(desk.first).toEqual(["write acting b5 | a<"]);
    expect(desk.written()).toEqual(["begin"]);
    expect(desk.tick(10)).toEqual(["ban a"]);
    const other = leading({ acting: [acted("c", "4", { timeoutMs: 10, ttlMs: 10 })] }, { devices: [] });
    other.see({ order: fence("c") });
    other.written();
    expect(other.record.orders[0]?.said).toContain("no device");
  });

  it("is refused what is forbidden, and what was asked for too long ago", () => {
    const desk = leading({});
    desk.written();
    expect(desk.see({ order: fence("b") })).toEqual(["write acting b5 | -"]);
    desk.written();
    expect(desk.record.orders[0]).toMatchObject({ isDone: false });
    expect(desk.record.orders[0]?.said).toContain("never powers itself off");
    desk.see({ order: { ...fence("a", "o2"), wallMs: WALL_MS - 600_001 } });
    desk.written();
    expect(desk.record.orders[1]?.said).toContain("too long");
    expect(desk.record.intents).toEqual([]);
  });

  it("confirms that a node is off, and the leader takes over; the ban waits for the agents", () => {
    const desk = shooting();
    expect(desk.see({ order: confirm("off", { intent: "5.1", acting: [stint("a", "4")] }) })).toEqual([
      "write acting - | a<5!",
    ]);
    expect(desk.written()).toEqual(["stop-shot"]);
    expect(desk.shot("unknown")).toEqual(["write acting - | a<!"]);
    expect(desk.written()).toEqual(["lift a"]);
    desk.written();
    desk.written();
    expect(desk.written()).toEqual(["begin"]);
  });

  it("confirms only what was shown: no later intent, and no later term", () => {
    const desk = shooting();
    desk.see({ order: confirm("off", { intent: "4.9", acting: [stint("a", "3")] }) });
    expect(desk.record.orders[0]?.isDone ?? false).toBe(false);
    desk.written();
    expect(desk.record.orders[0]).toMatchObject({ isDone: false });
    expect(desk.record.acting).toEqual([acted("a", "4")]);
    expect(desk.record.intents[0]?.off).toBeUndefined();
    desk.see({ order: confirm("off", { id: "o2", intent: "5.1", acting: [stint("a", "3")] }) });
    desk.written();
    expect(desk.record.acting).toEqual([acted("a", "4")]);
  });

  it("confirms that no shot can come of the terms that were shown, except of agents that this process knows to run", () => {
    const desk = leading({ acting: [acted("a", "3")], intents: [intent("a", [stint("c", "4")])] });
    desk.written();
    desk.tick(300);
    desk.written();
    expect(desk.see({ order: confirm("quiet", { intent: "4.a", joined: [stint("d", "2")] }) })).toEqual([
      "write acting a3 | a<4+5",
    ]);
    desk.written();
    const shown = [stint("c", "4"), stint("b", "5")];
    expect(desk.see({ order: confirm("quiet", { id: "o2", intent: "4.a", joined: shown }) })).toEqual([
      "write acting a3 | a<5",
    ]);
    desk.written();
    expect(desk.shot("off")).toEqual(["write acting - | a<!"]);
    expect(desk.written()).toEqual(["lift a"]);
  });

  it("withdraws an order to fence, and says that a node is on again", () => {
    const desk = leading(
      { intents: [intent("a", [stint("c", "4")], { isOrdered: true })], off: [{ node: "c", since: "1.1" }] },
      { devices: [] },
    );
    expect(desk.see({ order: confirm("quiet", { intent: "4.a", joined: [stint("c", "4")] }) })).toEqual([]);
    expect(desk.written()).toEqual(["write acting b5 | a<"]);
    expect(desk.written()).toEqual(["lift a"]);
    expect(desk.written()).toEqual(["write acting b5 | -"]);
    expect(desk.written()).toEqual(["begin"]);
    expect(desk.see({ order: confirm("on", { id: "o2", node: "c", since: "0.1" }) })).toEqual(["write acting b5 | -"]);
    desk.written();
    expect(desk.record.orders.at(-1)?.said).toContain("has been shot since you looked");
    desk.see({ order: confirm("on", { id: "o3", node: "c", since: "1.1" }) });
    desk.written();
    expect(desk.record.off.map(({ node }) => node)).toEqual(["a"]);
  });

  it("leads for orders alone: begins no work, and shoots nobody who has merely acted", () => {
    const desk = leading({ acting: [acted("a", "4")] }, { isOnlyForOrders: true }, { order: fence("c") });
    expect(desk.first).toEqual(["write acting a4 | c<5"]);
    expect(desk.written()).toEqual(["ban c"]);
    desk.written();
    expect(desk.tick(300)).toEqual(["shoot c"]);
    desk.shot("off");
    desk.written();
    desk.written();
    expect(desk.written()).toEqual([]);
    expect(desk.on({ type: "settled" })).toEqual(["resign"]);
  });
});

describe("the end of a term", () => {
  it("waits for the agents of a shot before it resigns", () => {
    const desk = leading({});
    desk.written();
    desk.see({ order: fence("a") });
    desk.written();
    desk.written();
    desk.tick(300);
    expect(desk.on({ type: "settled" })).toEqual(["stop-shot"]);
    expect(desk.shot("unknown")).toEqual(["write acting b5 | a<"]);
    expect(desk.written()).toEqual(["write acting - | a<"]);
    expect(desk.written()).toEqual(["resign"]);
  });

  it("keeps a bounded log in the store", () => {
    const history = Array.from({ length: HISTORY_MAX }, (_, wallMs) => ({
      wallMs,
      token: "1",
      by: "a",
      is: "opened" as const,
      node: "a",
      said: "",
    }));
    const desk = leading({ history });
    desk.written();
    expect(desk.record.history).toHaveLength(HISTORY_MAX);
    expect(desk.record.history.at(-1)?.is).toBe("acting");
  });
});
