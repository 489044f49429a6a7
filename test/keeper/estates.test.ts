// The book that a keeper has of its app's sessions.
import { expect, it } from "vitest";
import { Estates, willOf } from "../../src/keeper/estates.ts";
import { keeperEnvironment, markThisProcess } from "../../src/keeper/mark.ts";

const session = { id: "s", candidate: "c", ttlMs: 1000, beats: ["1"] };

function opened(key: number, quietMs = 0, life?: number): Estates {
  const estates = new Estates();
  estates.enter({ word: "session", key, url: "sqlite:x", quietMs, life, session, holds: [] });
  return estates;
}

it("names what was claimed and not given back, with the latest beats, and ends the session", () => {
  const estates = opened(1);
  const holds = ["a", "b"].map((name) => ({ name, bid: `${name}.1` }));
  estates.enter({ word: "claimed", key: 1, holds });
  estates.enter({ word: "returned", key: 1, holds: holds.slice(0, 1) });
  estates.enter({ word: "beats", key: 1, beats: ["2", "3"] });
  expect(estates.all().map(willOf)).toEqual([
    { session: { ...session, beats: ["2", "3"] }, holds: [{ name: "b", bid: "b.1" }], endSession: true },
  ]);
});

it("a keeper that takes the place of another knows what was claimed before", () => {
  const estates = new Estates();
  const holds = [{ name: "a", bid: "a.1" }];
  estates.enter({ word: "session", key: 1, url: "sqlite:x", quietMs: 0, life: undefined, session, holds });
  expect(estates.all().map(willOf)).toEqual([{ session, holds, endSession: true }]);
});

it("a name that was claimed anew is not struck by the late answer to an older bid", () => {
  const estates = opened(1);
  estates.enter({ word: "claimed", key: 1, holds: [{ name: "a", bid: "2" }] });
  estates.enter({ word: "returned", key: 1, holds: [{ name: "a", bid: "1" }] });
  expect(estates.all().map((estate) => [...estate.holds])).toEqual([[["a", "2"]]]);
});

it("forgets what is over, and takes no notice of what it does not know", () => {
  const estates = opened(1);
  estates.enter({ word: "claimed", key: 2, holds: [{ name: "a", bid: "1" }] });
  estates.enter({ word: "over", key: 1 });
  expect(estates.all()).toEqual([]);
});

it("a descriptor is owed the longest silence of those whose rivals watch it", () => {
  const estates = opened(1, 500, 0);
  estates.enter({ word: "session", key: 2, url: "sqlite:x", quietMs: 900, life: 0, session, holds: [] });
  estates.enter({ word: "session", key: 3, url: "sqlite:y", quietMs: 2000, life: 1, session, holds: [] });
  expect([0, 1, 2].map((life) => estates.quietMsOf(life))).toEqual([900, 2000, 0]);
});

it("a keeper has not the mark of its own app, but those under which the app itself was started", () => {
  process.env["CONCLAVE_MARKS"] = "other:-:1";
  process.env["NODE_OPTIONS"] = "--max-http-header-size=9000";
  const mark = markThisProcess();
  expect(process.env["CONCLAVE_MARKS"]).toBe(`other:-:1 ${mark}`);
  expect(markThisProcess()).toBe(mark);
  expect(keeperEnvironment(mark)).toMatchObject({ CONCLAVE_MARKS: "other:-:1" });
  expect(keeperEnvironment(mark)).not.toHaveProperty("NODE_OPTIONS");
});
