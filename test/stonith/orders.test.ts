// What an operator may order and confirm, and what comes of it.
import { describe, expect, it } from "vitest";
import type { StonithOrder } from "../../src/stonith/orders.ts";
import { acted, fence, intent, leading, shooting, stint, WALL_MS } from "./desk.ts";

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
    expect(desk.written()).toEqual(["end-sessions a"]);
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
    expect(desk.written()).toEqual(["end-sessions a"]);
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
    desk.written();
    expect(desk.written()).toEqual([]);
    expect(desk.on({ type: "settled" })).toEqual(["resign"]);
  });
});
