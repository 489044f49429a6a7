// Scenario files: what their commands refuse, and when what they expect is judged. What they print is in transcripts.test.ts.
import { describe, expect, it } from "vitest";
import { playScenario } from "conclave/simulator";

const play = (...lines: readonly string[]) => playScenario(lines.join("\n"));

describe("a scenario", () => {
  it("refuses a timer that the protocol does not have, and names those that it has", () => {
    const { failures, text } = play("cluster bully nodes=3 leader=3", "expire 1 election");
    const why = "bully has no timer election: answer, coordinator, heartbeat, detect";
    expect(failures).toEqual([`expire 1 election: ${why}`]);
    expect(text).toContain(`error: ${why}`);
  });

  it.each([
    ["nodes=x", "nodes NaN"],
    ["nodes=0", "nodes 0"],
    ["nodes=3 leader=9", "leader: there is no member 9"],
    ["nodes=3 down=7", "down: there is no member 7"],
    ["nodes=3 ring=1,2", "each of 1…3 once"],
    ["nodes=3 seed=x", "seed NaN"],
  ])("refuses a cluster of %s", (words, why) => {
    expect(play(`cluster bully ${words}`).failures[0]).toContain(why);
  });

  it.each([
    ["step x", "whole number"],
    ["loss 500%", "write a share"],
    ["partition 1,2", "two sides"],
    ["heal 1/2,3", "no partition 1/2,3 to heal"],
  ])("refuses %s", (line, why) => {
    expect(play("cluster bully nodes=3", line).failures).toEqual([expect.stringContaining(why)]);
  });

  it("refuses a file without a cluster, and one in which time does not pass", () => {
    expect(play("# nothing").failures).toEqual([expect.stringContaining("begins with: cluster")]);
    const spinning = play("cluster bully nodes=3 leader=3 detector=heartbeat heartbeatEvery=0ms", "run 1s");
    expect(spinning.failures).toEqual([expect.stringContaining("time does not pass")]);
  });

  it("takes a timer that does not run for what it is: nothing happens", () => {
    expect(play("cluster bully nodes=3 leader=3", "expire 1 answer").failures).toEqual([]);
  });

  it("does not judge in the middle of an election what must hold when it is over", () => {
    const during = [
      "cluster bully nodes=3 leader=3",
      "crash 3",
      "tell 1 suspect 3",
      "run 5ms",
      "expect violations=none",
    ];
    expect(play(...during, "run until=rest", "expect violations=none leader=2").failures).toEqual([]);
    // Nobody notices: 1 and 2 follow the dead for good.
    expect(
      play("cluster bully nodes=3 leader=3", "crash 3", "run until=rest", "expect violations=none").failures,
    ).toEqual(["expect violations=none: it is best-elected"]);
  });

  it("judges a write when it is taken, and not when everything is over", () => {
    const { world } = play(
      "cluster bully nodes=5 leader=5 detector=heartbeat writes=40ms fenced=off",
      "run 50ms",
      "partition 1,2/3,4,5",
      "run 2s",
    );
    const stale = world?.violations.find(({ invariant }) => invariant === "fenced-writes");
    expect(stale?.atMs).toBe(world?.resource.staleFromMs);
  });
});

describe("the resource", () => {
  const accepted = (...lines: readonly string[]): readonly number[] =>
    (play("cluster bully nodes=3 leader=3 writes=10ms latency=1ms", ...lines).world?.accepted ?? []).map(
      ({ atMs }) => atMs,
    );

  it("gets nothing over a link that is held, and all of it when that is released", () => {
    expect(accepted("run 20ms", "hold 3>0", "run 60ms")).toHaveLength(accepted("run 20ms").length);
    const late = accepted("run 20ms", "hold 3>0", "run 60ms", "release 3>0", "run 1.5ms").filter((atMs) => atMs >= 80);
    expect(late).toHaveLength(6);
  });

  it("gets less over a link that loses, and more over one that doubles", () => {
    const all = accepted("run 20ms", "run 1s").length;
    const some = accepted("run 20ms", "loss 50%", "run 1s").length;
    expect(some).toBeGreaterThan(all * 0.3);
    expect(some).toBeLessThan(all * 0.7);
    expect(accepted("run 20ms", "duplicate 50%", "run 1s").length).toBeGreaterThan(all * 1.3);
  });
});
