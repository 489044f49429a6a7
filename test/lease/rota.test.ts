// Holds that take turns in being carried by keeps: every one is asked for by three keeps in a row, a name in doubt by the next, and a keep that carries a part and
// misses something proves nothing for the rest.
import { describe, expect, it } from "vitest";
import type { Hold } from "conclave/stores/contract";
import { Rig } from "./rig.ts";

const LINE = { shape: "line", judge: "store-monotonic", wakes: "watch", hintsUntilEnd: true } as const;

/** Leads so many names in one session, of which a keep has to carry four. */
function holding(count: number, input: ConstructorParameters<typeof Rig>[1] = {}): Rig {
  const rig = new Rig({ ...LINE, scope: "network", holdsPerKeep: 4 }, input);
  for (let index = 0; index < count; index++) rig.lead(`n${index}`);
  return rig;
}

const namesOf = (holds: readonly Hold[]): readonly string[] => holds.map(({ name }) => name);

/** The next keep, answered. Returns what it carried, and whether it said that there are more. */
function nextKeep(rig: Rig, lost: readonly Hold[] = []): { readonly names: readonly string[]; readonly part: boolean } {
  for (let turn = 0; turn < 100 && !rig.has("keep"); turn++) rig.pass(100);
  const call = rig.next("keep");
  rig.keep(call, { lost });
  return { names: namesOf(call.request.holds), part: call.request.wish?.part === true };
}

/** What the next keep would carry, without an answer to it. */
function unanswered(rig: Rig): readonly string[] {
  for (let turn = 0; turn < 100 && !rig.has("keep"); turn++) rig.pass(100);
  const call = rig.next("keep");
  rig.unknown(call);
  return namesOf(call.request.holds);
}

describe("holds that take turns", () => {
  it.each([5, 11, 12, 40, 100])("are all asked for by any three keeps in a row, with %d of them", (count) => {
    const rig = holding(count);
    const keeps = Array.from({ length: 9 }, () => nextKeep(rig));
    for (let from = 0; from + 3 <= keeps.length; from++) {
      const three = keeps.slice(from, from + 3).flatMap(({ names }) => names);
      expect(new Set(three).size, `keeps from ${from}`).toBe(count);
    }
    expect(keeps.every(({ part, names }) => part && names.length < count)).toBe(true);
  });

  it("are carried by every keep while they are few, and where the store does not allow for turns", () => {
    expect(nextKeep(holding(4))).toEqual({ names: ["n0", "n1", "n2", "n3"], part: false });
    const rig = new Rig(LINE);
    for (let index = 0; index < 9; index++) rig.lead(`n${index}`);
    expect(nextKeep(rig).names).toHaveLength(9);
  });

  it("are all carried where strays are looked for, and by a keep for a renewal thread", () => {
    const rig = holding(9);
    rig.input({ type: "stand", name: "y", value: "" });
    rig.pass(0);
    rig.unknown(rig.next("claim"));
    expect(nextKeep(rig)).toMatchObject({ part: false, names: { length: 9 } });
    expect(nextKeep(holding(9, { renewal: "thread" }))).toMatchObject({ part: false, names: { length: 9 } });
  });

  it("keep their turn when a keep is not answered, and when others come and go", () => {
    const rig = holding(9);
    const first = unanswered(rig);
    expect(nextKeep(rig).names).toEqual(first);
    rig.lead("late");
    rig.input({ type: "settle", name: first[0] ?? "" });
    rig.input({ type: "withdraw", name: first[0] ?? "" });
    const [second, third] = [nextKeep(rig).names, nextKeep(rig).names];
    for (let index = 1; index < 9; index++) expect([...first, ...second, ...third]).toContain(`n${index}`);
    expect([...second, ...third, ...nextKeep(rig).names]).toContain("late");
  });

  it("go first when a hint says that another holds the name", () => {
    const rig = holding(40);
    nextKeep(rig);
    nextKeep(rig);
    const [waits] = nextKeep(rig).names;
    const holder = { candidate: "another" };
    const seat = { name: waits, state: "held", version: "v", holder } as never;
    rig.input({ type: "hint", hint: { name: waits ?? "", seat } });
    rig.pass(0);
    expect(nextKeep(rig).names).toContain(waits);
  });
});

describe("a keep that carries a part and misses one", () => {
  it("ends that term, extends nothing, and one that carries all follows at once", () => {
    const rig = holding(9);
    for (let turn = 0; turn < 100 && !rig.has("keep"); turn++) rig.pass(100);
    const call = rig.next("keep");
    const [gone] = call.request.holds;
    const { deadline } = rig;
    rig.keep(call, { lost: gone === undefined ? [] : [gone] });
    expect(rig.happened("lost")).toMatchObject([{ election: gone?.name, reason: "superseded" }]);
    expect(rig.deadline).toBe(deadline);
    rig.pass(0);
    const all = rig.next("keep");
    expect(namesOf(all.request.holds)).toHaveLength(8);
    expect(all.request.wish?.part).toBeUndefined();
    const rest = all.request.holds;
    rig.keep(all, { lost: rest });
    expect(rig.happened("lost")).toHaveLength(9);
  });

  it("is followed by others that carry all, until one is answered; then they take turns again", () => {
    const rig = holding(9);
    const gone = rig.machine.campaigns.get("n0")?.stage;
    if (gone?.kind !== "leading") throw new Error("not leading");
    nextKeep(rig, [gone.term.hold]);
    expect(unanswered(rig)).toHaveLength(8);
    const { deadline } = rig;
    expect(nextKeep(rig)).toMatchObject({ part: false, names: { length: 8 } });
    expect(rig.deadline).toBeGreaterThan(deadline);
    expect(nextKeep(rig).part).toBe(true);
  });
});
