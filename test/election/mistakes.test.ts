// Mistakes of somebody who writes JavaScript and has just begun: each is answered, none is ignored in silence.
import { beforeEach, describe, expect, it } from "vitest";
import { type ConclaveEvent, createCandidate, elect, shutdownSignal } from "conclave";
import { memory } from "conclave/stores/memory";
import { postgres } from "conclave/stores/postgres";
import { fakeStore } from "conclave/testing";

const store = memory();
const work = async (): Promise<number> => 1;
/** What a compiler would not let through. */
const wrong = <V>(value: unknown): V => value as V;

describe("an option that does not exist is refused, with the one that was meant", () => {
  const candidate = createCandidate({ store });
  it.each<readonly [string, () => unknown, RegExp]>([
    [
      "lead",
      () => elect("x", { store }).lead(work, wrong({ singal: undefined })),
      /singal is not an option: signal is$/,
    ],
    ["campaign", () => elect("x", { store }).campaign(wrong({ waitMs: 1 })), /waitMs is not an option: signal is$/],
    [
      "withLock",
      () => candidate.withLock("x", work, wrong({ wait: 5 })),
      /wait is not an option; did you mean waitMs\?$/,
    ],
    ["close", async () => elect("x", { store }).close(wrong({ drain: 1 })), /did you mean drainMs\?$/],
    ["shutdownSignal", async () => shutdownSignal(wrong({ exitWithin: 5 })), /did you mean exitWithinMs\?$/],
    ["postgres", async () => postgres("postgres://h/x", wrong({ createTable: false })), /did you mean createTables\?$/],
    [
      "term.transfer",
      async () => candidate.withLock("t", (term) => term.transfer("other", wrong({ withinMS: 5 }))),
      /did you mean withinMs\?$/,
    ],
    [
      "elect",
      async () => elect("x", wrong<{ store: typeof store }>("memory:")),
      /the options are a string, not an object/,
    ],
  ])("%s", async (_call, act, said) => {
    await expect((async () => act())()).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringMatching(said),
    });
  });
});

describe("what is no number, and what is no function, is refused by its name", () => {
  it.each<readonly [string, () => unknown, RegExp]>([
    ["ttlMs, a bigint", () => createCandidate({ store, ttlMs: wrong(5000n) }), /ttlMs 5000n is not a number/],
    ["ttlMs, a symbol", () => createCandidate({ store, ttlMs: wrong(Symbol("s")) }), /ttlMs Symbol\(s\) is not a/],
    ["drainMs", () => createCandidate({ store, drainMs: wrong(5n) }), /1 problem · drainMs 5n is not a number/],
    ["a listener of a candidate", () => createCandidate({ store }).subscribe(wrong(undefined)), /is not a function/],
    ["a listener of an election", () => elect("x", { store }).subscribe(wrong({})), /\{\} is not a function/],
  ])("%s", (_what, act, said) => {
    expect(act).toThrow(expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringMatching(said) }));
  });
});

describe("a signal", () => {
  it("must be one: an AbortController has it", async () => {
    await expect(elect("x", { store }).lead(work, wrong({ signal: new AbortController() }))).rejects.toThrow(
      /is not an AbortSignal\. Pass the signal of the AbortController$/,
    );
    await expect(elect("x", { store }).campaign(wrong({ signal: 5000 }))).rejects.toThrow(/signal 5000 is not/);
  });

  it("may be that of another environment, and null is none", async () => {
    const own = new AbortController().signal;
    const foreign = { aborted: false, addEventListener: own.addEventListener.bind(own) };
    expect(await elect("x", { store }).lead(work, wrong({ signal: foreign }))).toBe(1);
    expect(await elect("x", { store }).lead(work, wrong({ signal: null }))).toBe(1);
  });
});

describe("a call that can never do anything is warned of, once", () => {
  let events: ConclaveEvent[] = [];
  const onEvent = (event: ConclaveEvent): void => void events.push(event);
  const warnings = (): readonly unknown[] => events.filter(({ type }) => type === "warning");
  beforeEach(() => {
    events = [];
  });

  it("ifLeading without start", async () => {
    const election = elect("never-started", { store, onEvent });
    expect([await election.ifLeading(work), await election.ifLeading(work)]).toEqual([undefined, undefined]);
    expect(warnings()).toEqual([
      {
        type: "warning",
        code: "NOT_STARTED",
        election: "never-started",
        message: expect.stringMatching(/Call start\(\) first\.$/) as string,
      },
    ]);
    await election.close();
  });

  it("lead beside start, which still ends when it is closed", async () => {
    const election = elect("started", { store, onEvent });
    election.start();
    const led = [election.lead(work), election.lead(work)];
    expect(warnings()).toMatchObject([
      { code: "STARTED_ALREADY", message: expect.stringMatching(/ifLeading\(work\)/) },
    ]);
    await election.close();
    expect(await Promise.all(led)).toEqual([undefined, undefined]);
  });

  it("and not what is right: start with ifLeading, lead after lead, tryCampaign beside start", async () => {
    const election = elect("right", { store, onEvent });
    expect(await election.lead(work)).toBe(1);
    expect(await election.ifLeading(work)).toBeUndefined();
    election.start();
    expect(await election.tryCampaign()).toBeUndefined();
    await expect.poll(() => election.ifLeading(work)).toBe(1);
    await election.close();
    expect(await election.ifLeading(work)).toBeUndefined();
    expect(warnings()).toEqual([]);
  });
});

describe("work that is told to stop and goes on is told of, once for each term, when its drain and five seconds are over", () => {
  const said = (events: readonly ConclaveEvent[]): readonly string[] =>
    events.flatMap((event) => (event.type === "warning" ? [event.code] : []));

  it("of lead, where a loop over isHeld() never ends", async () => {
    const fake = fakeStore();
    const events: ConclaveEvent[] = [];
    const election = elect("x", { store: fake, ttlMs: 10_000, drainMs: 1000, onEvent: (event) => events.push(event) });
    let goOn: () => void = () => {};
    void election.lead(() => new Promise<void>((resolve) => (goOn = resolve)));
    await fake.advance(100);
    const closed = election.close();
    await fake.advance(5900);
    expect(said(events)).toEqual([]);
    await fake.advance(60_000);
    expect(said(events)).toEqual(["STILL_WORKING"]);
    expect(events.find(({ type }) => type === "warning")).toMatchObject({
      election: "x",
      message: expect.stringMatching(/^"x": the work was told to stop \(resigned\) 6\.0 s ago .*isLeading\(\)/),
    });
    goOn();
    await fake.advance(100);
    await closed;
  });

  it("of ifLeading, too; and not of work that settles in time, nor of a drain that nobody works in", async () => {
    const fake = fakeStore();
    const events: ConclaveEvent[] = [];
    const candidate = createCandidate({
      store: fake,
      ttlMs: 10_000,
      drainMs: 1000,
      onEvent: (event) => events.push(event),
    });
    const [slow, quick, idle] = ["slow", "quick", "idle"].map((name) => candidate.election(name));
    for (const election of [slow, quick, idle]) election?.start();
    await fake.advance(100);
    let goOn: () => void = () => {};
    void slow?.ifLeading(() => new Promise<void>((resolve) => (goOn = resolve)));
    void quick?.ifLeading(
      (term) => new Promise<void>((resolve) => term.signal.addEventListener("abort", () => resolve())),
    );
    const closed = candidate.close({ drainMs: 20_000 });
    await fake.advance(60_000);
    expect(events.filter(({ type }) => type === "warning")).toMatchObject([
      { code: "STILL_WORKING", election: "slow" },
    ]);
    goOn();
    await fake.advance(100);
    await closed;
  });
});
