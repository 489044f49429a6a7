// What worlds of tasks share: processes that are paused, cut off and killed, requests without an answer, memos beside a seat, and the hunt around them.
import { createRng } from "conclave/protocols";
import { describe, expect, it } from "vitest";
import { Judge } from "../../../src/simulator/kernel/judge.ts";
import { type ModelMemo, writeMemo } from "../../../src/simulator/kernel/memo.ts";
import { Process } from "../../../src/simulator/kernel/process.ts";
import { type Journey, journeyOver, send } from "../../../src/simulator/kernel/request.ts";
import { taskHunt } from "../../../src/simulator/kernel/task-hunt.ts";
import {
  type TaskFault,
  type TaskSpec,
  TaskWorld,
  type TaskWorldOptions,
} from "../../../src/simulator/kernel/task-world.ts";

const MINIMA = { deaths: 1, kept: 1 } as const;
const SPEC: TaskSpec = { seed: 1, faults: [], calmAtMs: 500, endMs: 1000 };
const OPTIONS: TaskWorldOptions = { isRecorded: false, judgedBy: undefined };

class ToyProcess extends Process {}

class ToyWorld extends TaskWorld<TaskSpec, { readonly atMs: number }, keyof typeof MINIMA> {
  readonly judge: Judge;
  readonly heard: string[] = [];
  readonly one: ToyProcess = new ToyProcess(0);

  constructor(spec: TaskSpec = SPEC, options: TaskWorldOptions = OPTIONS) {
    super(spec, options, { stream: 1, minima: MINIMA });
    this.judge = new Judge(options.judgedBy);
    this.arrangeFaults();
  }

  hear(what: string): () => void {
    return () => void this.heard.push(`${what} at ${this.nowMs}`);
  }

  protected override dying(): void {
    this.count("deaths");
  }

  protected override inflict({ index }: TaskFault): void {
    this.hear(`fault ${index}`)();
    if (index === 13) throw new Error("an assertion of the machine");
  }

  protected override calm(): void {
    this.hear("calm")();
  }

  protected override judgeAtRest(): void {
    if (this.spec.faults.some(({ index }) => index === 7)) this.judge.find("progress", "nothing came", this.nowMs);
  }
}

describe("a world of tasks", () => {
  it("keeps back what a paused process is told until the last of its pauses has ended", () => {
    const world = new ToyWorld();
    world.pause(world.one, 50);
    world.pause(world.one, 80);
    world.later(10, world.one, world.hear("its own"));
    world.later(10, undefined, world.hear("the world's"));
    world.run();
    expect(world.heard).toEqual(["the world's at 10", "its own at 80", "calm at 500"]);
  });

  it("drops what a killed process had under way, paused or not, and begins it again with nothing", () => {
    const world = new ToyWorld();
    world.later(10, world.one, world.hear("before the kill"));
    world.later(60, world.one, world.hear("lost"));
    world.later(15, undefined, () => world.pause(world.one, 100));
    world.later(18, world.one, world.hear("kept back, and lost"));
    world.later(20, undefined, () => {
      world.kill(world.one, 30);
      world.kill(world.one, 30);
    });
    world.later(45, undefined, () => expect(world.one.isAlive).toBe(false));
    world.later(55, undefined, () => expect(world.one.isAlive).toBe(true));
    world.run();
    expect(world.heard).toEqual(["before the kill at 10", "calm at 500"]);
    expect(world.tallies.deaths).toBe(1);
  });

  it("does a thing again and again, and for a process only as long as it lives", () => {
    const world = new ToyWorld({ ...SPEC, endMs: 45 });
    const ten = (): number => 10;
    world.again(undefined, ten, world.hear("world"));
    world.again(world.one, ten, world.hear("one"));
    world.later(25, undefined, () => world.kill(world.one, 5));
    world.run();
    expect(world.heard.filter((line) => line.startsWith("world"))).toHaveLength(4);
    expect(world.heard.filter((line) => line.startsWith("one"))).toHaveLength(2);
  });

  it("inflicts its faults until the calm begins", () => {
    const world = new ToyWorld({
      ...SPEC,
      faults: [
        { index: 0, atMs: 10 },
        { index: 1, atMs: 600 },
      ],
    });
    world.run();
    expect(world.heard).toEqual(["fault 0 at 10", "calm at 500"]);
  });
});

describe("a request", () => {
  const ask = (journey: Journey): { readonly world: ToyWorld; readonly ends: string[] } => {
    const world = new ToyWorld();
    const ends: string[] = [];
    send(world, world.one, journey, {
      atStore: world.hear("carried out"),
      onAnswer: () => ends.push(`answer at ${world.nowMs}`),
      onTimeout: () => ends.push(`none at ${world.nowMs}`),
    });
    world.run();
    return { world, ends };
  };

  it("ends once, by the answer or without one", () => {
    expect(ask({ thereMs: 5, backMs: () => 5, timeoutMs: 100 }).ends).toEqual(["answer at 10"]);
    expect(ask({ thereMs: 5, backMs: () => 200, timeoutMs: 100 }).ends).toEqual(["none at 100"]);
    expect(ask({ thereMs: 5, backMs: () => undefined, timeoutMs: 100 }).ends).toEqual(["none at 100"]);
  });

  it("may be carried out after its sender has given up, or never", () => {
    const late = ask({ thereMs: 300, backMs: () => undefined, timeoutMs: 100 });
    expect(late.world.heard).toContain("carried out at 300");
    expect(late.ends).toEqual(["none at 100"]);
    expect(ask({ thereMs: undefined, backMs: () => 1, timeoutMs: 100 }).world.heard).toEqual(["calm at 500"]);
  });

  it("reaches nobody in time over links that are cut", () => {
    const links = { latencyMaxMs: 10, lossChance: 0, lateChance: 0 };
    expect(journeyOver(links, true, 500, 100, createRng(1)).thereMs).toBe(undefined);
    const late = journeyOver({ ...links, lateChance: 1 }, true, 500, 100, createRng(1));
    expect(late.thereMs).toBeGreaterThan(0);
    expect(late.backMs()).toBe(undefined);
    const whole = journeyOver(links, false, 500, 100, createRng(1));
    expect(whole.thereMs).toBeLessThanOrEqual(10);
    expect(whole.backMs()).toBeLessThanOrEqual(10);
  });
});

describe("a memo", () => {
  it("is written by the term in the seat, once for each number, over the version that its writer has seen", () => {
    let memo: ModelMemo<string> | undefined;
    const write = (seat: number | undefined, token: number, n: number, over: number | undefined, value: string) => {
      const written = writeMemo(memo, seat, { token, n, over, value });
      ({ memo } = written);
      return written.answer;
    };
    expect(write(1, 1, 1, undefined, "a")).toEqual({ is: "written", version: 1, isApplied: true });
    expect(write(1, 1, 1, undefined, "again")).toEqual({ is: "written", version: 1, isApplied: false });
    expect(write(1, 1, 2, undefined, "b")).toEqual({ is: "conflict" });
    expect(write(undefined, 1, 2, 1, "b")).toEqual({ is: "seat-lost" });
    expect(write(2, 1, 2, 1, "b")).toEqual({ is: "seat-lost" });
    expect(memo?.value).toBe("a");
    expect(write(2, 2, 1, 1, "c")).toEqual({ is: "written", version: 2, isApplied: true });
    expect(memo?.value).toBe("c");
  });
});

describe("the hunt in a world of tasks", () => {
  const hunt = taskHunt({
    name: "toy",
    minima: MINIMA,
    draw: (seed): TaskSpec => ({ ...SPEC, seed, faults: [7, 13].map((index) => ({ index, atMs: index })) }),
    create: (spec, options) => new ToyWorld(spec, options),
    label: ({ seed }) => `toy ${seed}`,
    describeFault: ({ index }) => `fault ${index}`,
  });

  it("takes an assertion that fails inside a machine for a finding", () => {
    expect(hunt.run(1).violation).toEqual({
      invariant: "assertion",
      story: "an assertion of the machine",
      atMs: 13,
    });
  });

  it("keeps only the faults that it is told to keep, and judges at rest when nothing was found before", () => {
    const { faults, violation, label } = hunt.run(3, { faults: [7] });
    expect({ faults, label }).toEqual({ faults: [7], label: "toy 3" });
    expect(violation?.invariant).toBe("progress");
    expect(hunt.run(3, { faults: [] }).violation).toBe(undefined);
    expect(hunt.run(3, { faults: [7], judgedBy: ["assertion"] }).violation).toBe(undefined);
    expect([...hunt.faultsOf(3)]).toEqual([
      [7, "fault 7"],
      [13, "fault 13"],
    ]);
  });
});
