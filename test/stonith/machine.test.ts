// What the leader of a guarded election decides, step by step.
import { describe, expect, it } from "vitest";
import { mayShoot, wakeAtMs } from "../../src/stonith/machine.ts";
import { HISTORY_MAX, NO_RECORD } from "../../src/stonith/record.ts";
import { acted, Desk, fence, intent, leading, OFF, shooting, stint } from "./desk.ts";

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
    expect(desk.written()).toEqual(["end-sessions a"]);
    expect(desk.on({ type: "unanswered" })).toEqual(["end-sessions a"]);
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

describe("the sessions of a node", () => {
  it("are not ended by a term that only finds in the record that the node was off", () => {
    const desk = leading({ intents: [intent("a", [], { off: OFF })] });
    expect(desk.first).toEqual(["lift a"]);
  });

  it("are not ended because a human says that it is off: it may only be cut off from this work", () => {
    const desk = shooting();
    const shown = { intent: "5.1", acting: [stint("a", "4")], joined: [stint("b", "5")], since: undefined };
    const order = {
      id: "o",
      by: "human",
      node: "a",
      wallMs: desk.wallMs,
      kind: "confirm",
      says: "off",
      ...shown,
    } as const;
    expect(desk.see({ order })).toEqual(["write acting - | a<5!"]);
    expect(desk.written()).toEqual(["stop-shot"]);
    expect(desk.shot("unknown")).toEqual(["write acting - | a<!"]);
    expect(desk.written()).toEqual(["lift a"]);
  });

  it("are ended once: what was answered is not asked for again", () => {
    const desk = shooting();
    desk.shot("off", false);
    expect(desk.written()).toEqual(["end-sessions a"]);
    expect(desk.written()).toEqual(["write acting b5 | a<5!"]);
    expect(desk.written()).toEqual(["begin"]);
    expect(desk.tick(1000)).toEqual([]);
  });
});

describe("the ban", () => {
  it("stands while a term that joined has not said that its agents are gone, and the takeover does not wait for that", () => {
    const desk = leading({ acting: [acted("a", "3")], intents: [intent("a", [stint("c", "4")])] });
    desk.written();
    desk.tick(300);
    desk.written();
    expect(desk.shot("off")).toEqual(["write acting - | a<4!"]);
    expect(desk.written()).toEqual(["end-sessions a"]);
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
    expect(desk.written()).toEqual(["end-sessions a"]);
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
    expect(desk.written()).toEqual(["end-sessions c"]);
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
