// Each invariant is shown a history that breaks it, and one just beside that does not.
import { describe, expect, it } from "vitest";
import { DrainedRelease } from "../../src/simulator/lease/invariants/drained-release.ts";
import { Exclusion } from "../../src/simulator/lease/invariants/exclusion.ts";
import { FencingInvariant } from "../../src/simulator/lease/invariants/fencing.ts";
import { Finality } from "../../src/simulator/lease/invariants/finality.ts";
import { Hanging } from "../../src/simulator/lease/invariants/hanging.ts";
import { OneAtATime } from "../../src/simulator/lease/invariants/one-at-a-time.ts";
import { Proofs } from "../../src/simulator/lease/invariants/proofs.ts";
import { Succession } from "../../src/simulator/lease/invariants/succession.ts";
import { Tokens } from "../../src/simulator/lease/invariants/tokens.ts";
import { TruthfulLoss } from "../../src/simulator/lease/invariants/truthful-loss.ts";
import { TwoInstants } from "../../src/simulator/lease/invariants/two-instants.ts";
import { ANN, at, BOB, ELECTION, History, PROMISES, session, tokenOf } from "./history.ts";

const FIRST = tokenOf(1, "b1");
const SECOND = tokenOf(2, "b2");

describe("exclusion", () => {
  const judged = (shape: "line" | "race" = "race"): History => {
    const history = new History();
    return history.judgedBy(new Exclusion(history.judgement({ shape })));
  };

  it("finds two terms held at one instant", () => {
    const { findings } = judged().granted(FIRST).elected(ANN, FIRST).granted(SECOND, 10).elected(BOB, SECOND, 10);
    expect(findings).toEqual([expect.stringMatching(/^exclusion: "billing" is held by ann .* and by bob/)]);
  });

  it("does not mind one after the other", () => {
    expect(judged().elected(ANN, FIRST).over(ANN, FIRST).elected(BOB, SECOND, 10).findings).toEqual([]);
  });

  it("excuses what was granted before an operator ended a session, for one ttl", () => {
    const meddled = { type: "meddled", atMs: 5, act: "session", election: undefined } as const;
    const early = judged()
      .granted(FIRST)
      .elected(ANN, FIRST)
      .tell(meddled)
      .granted(SECOND, 10)
      .elected(BOB, SECOND, 10);
    expect(early.findings).toEqual([]);
    const late = judged()
      .granted(FIRST)
      .elected(ANN, FIRST)
      .tell(meddled)
      .granted(SECOND, 10)
      .elected(BOB, SECOND, 1006);
    expect(late.findings).toHaveLength(1);
  });

  it("excuses the deletion of an entry in a line, and of none in a race", () => {
    const meddled = { type: "meddled", atMs: 5, act: "record", election: ELECTION } as const;
    const inLine = judged("line").granted(FIRST).elected(ANN, FIRST).tell(meddled).elected(BOB, SECOND, 10);
    expect(inLine.findings).toEqual([]);
    expect(judged().granted(FIRST).elected(ANN, FIRST).tell(meddled).elected(BOB, SECOND, 10).findings).toHaveLength(1);
  });

  it("excuses a process whose clocks all stood", () => {
    const frozen = { type: "frozen", atMs: 5, who: ANN } as const;
    expect(judged().elected(ANN, FIRST).tell(frozen).elected(BOB, SECOND, 10).findings).toEqual([]);
  });
});

describe("tokens", () => {
  const judged = (): History => {
    const history = new History();
    return history.judgedBy(new Tokens(history.judgement()));
  };

  it("finds a grant with a token that is not greater", () => {
    expect(judged().granted(SECOND).granted(FIRST, 10).findings).toHaveLength(1);
    expect(judged().granted(FIRST).granted(tokenOf(1, "b2"), 10).findings).toHaveLength(1);
    expect(judged().granted(FIRST).granted(SECOND, 10).findings).toEqual([]);
  });

  it("finds a term announced after a newer one", () => {
    expect(judged().elected(ANN, SECOND).elected(BOB, FIRST, 10).findings).toHaveLength(1);
  });

  it("finds a process that announces a smaller token than its own last, even after a forgetting", () => {
    const forgot = { type: "meddled", atMs: 5, act: "forgot", election: undefined } as const;
    const history = judged().granted(SECOND).elected(ANN, SECOND).tell(forgot).granted(FIRST, 10);
    expect(history.findings).toEqual([]);
    expect(history.elected(ANN, FIRST, 11).findings).toHaveLength(1);
  });
});

describe("fencing", () => {
  const judged = (): History => {
    const history = new History();
    return history.judgedBy(new FencingInvariant(history.judgement()));
  };
  const accepted = (value: number, bid: string) =>
    ({ type: "accepted", atMs: 0, resource: ELECTION, token: tokenOf(value, bid) }) as const;

  it("finds an older token accepted after a newer, and the same value of another bid", () => {
    expect(judged().tell(accepted(2, "b2"), accepted(1, "b1")).findings).toHaveLength(1);
    expect(judged().tell(accepted(2, "b2"), accepted(2, "b3")).findings).toHaveLength(1);
    expect(judged().tell(accepted(1, "b1"), accepted(1, "b1"), accepted(2, "b2")).findings).toEqual([]);
  });
});

describe("finality", () => {
  it("finds a term that is held again after it was over", () => {
    const history = new History();
    history.judgedBy(new Finality(history.judgement())).elected(ANN, FIRST).over(ANN, FIRST).stepped(ANN, 10);
    expect(history.findings).toEqual([]);
    history.held.add(`ann ${ELECTION} b1`);
    expect(history.stepped(ANN, 20).findings).toHaveLength(1);
  });
});

describe("hanging", () => {
  /** stallAfterMs 2000, ttl 1000. */
  const judged = (): History => {
    const history = new History();
    const candidates = PROMISES.candidates.map((candidate) => ({ ...candidate, stallAfterMs: 2000 }));
    return history.judgedBy(new Hanging(history.judgement({ candidates })));
  };
  const turned = (atMs: number) => ({ type: "turned", atMs, who: ANN, now: at(atMs) }) as const;

  it("finds a term that outlives the stall and a ttl since the last turn", () => {
    const history = judged().tell(turned(0)).elected(ANN, FIRST).stepped(ANN, 2999);
    expect(history.findings).toEqual([]);
    expect(history.stepped(ANN, 3000).findings).toEqual([expect.stringMatching(/^hanging: ann holds "billing"/)]);
  });

  it("does not mind one that is over, nor a loop that turns", () => {
    expect(judged().tell(turned(0)).elected(ANN, FIRST).over(ANN, FIRST).stepped(ANN, 5000).findings).toEqual([]);
    const turning = judged().tell(turned(0)).elected(ANN, FIRST).tell(turned(2500)).stepped(ANN, 5000);
    expect(turning.findings).toEqual([]);
  });
});

/** ttl 1000: D = 1000·0.995/1.005 − 5 = 985.05 after the send at 0; the signal 100 before. */
describe("two instants", () => {
  const judged = (): History => {
    const history = new History();
    const proofs = new Proofs(PROMISES);
    return history.judgedBy(proofs, new TwoInstants(history.judgement(), proofs)).won(ANN, FIRST);
  };
  const ending = (atMs: number, reason: "expired" | "resigned") =>
    ({ type: "ending", atMs, who: ANN, election: ELECTION, reason, now: at(atMs) }) as const;

  it("is content with a term that ends when it is due", () => {
    const history = judged().elected(ANN, FIRST, 3).tell(ending(885.1, "expired")).stepped(ANN, 885.1);
    history.tell({ type: "lost", atMs: 985.1, who: ANN, election: ELECTION, reason: "expired", now: at(985.1) });
    expect(history.findings).toEqual([]);
  });

  it("finds a term aborted for lack of renewal while it was safe", () => {
    const { findings } = judged().elected(ANN, FIRST, 3).tell(ending(500, "expired"));
    expect(findings).toEqual([expect.stringContaining("before it was due")]);
    expect(judged().elected(ANN, FIRST, 3).tell(ending(500, "resigned")).findings).toEqual([]);
  });

  it("finds a signal that has not come", () => {
    expect(judged().elected(ANN, FIRST, 3).stepped(ANN, 900).findings).toHaveLength(1);
  });

  it("finds a machine that sleeps past its signal", () => {
    expect(judged().elected(ANN, FIRST, 3).stepped(ANN, 100, 880).findings).toEqual([]);
    expect(judged().elected(ANN, FIRST, 3).stepped(ANN, 100, 890).findings).toEqual([
      expect.stringContaining("sleeps past the signal"),
    ]);
  });

  it("finds a grant that is announced too late", () => {
    expect(judged().elected(ANN, FIRST, 900).findings[0]).toContain("after its signal was due");
  });

  it("counts a proven keep from its send, not from its answer", () => {
    const keep = { method: "keep", session, holds: [{ name: ELECTION, bid: FIRST.bid }] } as const;
    const kept = { kind: "kept", session, lost: [], unsure: [], strays: [] } as const;
    const history = judged().elected(ANN, FIRST, 3).sent(ANN, 3, keep, 300);
    history
      .tell({ type: "answer", atMs: 500, who: ANN, errand: 3, answer: kept, now: at(500) })
      .stepped(ANN, 500, 1100);
    expect(history.stepped(ANN, 1180, 1185).findings).toEqual([]);
    expect(history.stepped(ANN, 1190, 1190).findings).toHaveLength(1);
  });
});

describe("drained release", () => {
  const release = (endSession: boolean) =>
    ({
      method: "release",
      will: { session, holds: endSession ? [] : [{ name: ELECTION, bid: FIRST.bid }], endSession },
    }) as const;
  const judged = (): History => {
    const history = new History();
    const proofs = new Proofs(PROMISES);
    history.judgedBy(proofs, new DrainedRelease(history.judgement(), proofs));
    return history.won(ANN, FIRST).elected(ANN, FIRST).over(ANN, FIRST);
  };
  const settled = { type: "settled", atMs: 5, who: ANN, election: ELECTION } as const;

  it("finds a release while the work runs, of the term or of its session", () => {
    expect(judged().sent(ANN, 9, release(false), 10).findings).toHaveLength(1);
    expect(judged().sent(ANN, 9, release(true), 10).findings).toHaveLength(1);
    expect(judged().tell(settled).sent(ANN, 9, release(true), 10).findings).toEqual([]);
  });

  it("finds a term that is held after the send of its release", () => {
    const history = judged().tell(settled);
    history.held.add(`ann ${ELECTION} b1`);
    expect(history.sent(ANN, 9, release(false), 10).findings).toHaveLength(1);
  });
});

describe("one at a time", () => {
  it("finds a name that is led again while work of its last term runs", () => {
    const history = new History();
    history.judgedBy(new OneAtATime(history.judgement())).elected(ANN, FIRST);
    expect(history.findings).toEqual([]);
    expect(history.elected(ANN, SECOND, 10).findings).toHaveLength(1);
  });

  it("does not mind it once that work has settled", () => {
    const history = new History();
    history.judgedBy(new OneAtATime(history.judgement())).elected(ANN, FIRST);
    history.tell({ type: "settled", atMs: 5, who: ANN, election: ELECTION });
    expect(history.elected(ANN, SECOND, 10).findings).toEqual([]);
  });
});

describe("truthful loss", () => {
  it("finds a term given up as superseded whose entry stands at the store", () => {
    const history = new History();
    const proofs = new Proofs(PROMISES);
    history.judgedBy(proofs, new TruthfulLoss(history.judgement(), proofs)).won(ANN, FIRST).elected(ANN, FIRST);
    const lost = { type: "lost", atMs: 10, who: ANN, election: ELECTION, reason: "superseded", now: at(10) } as const;
    expect(history.tell(lost).findings).toEqual([]);
    history.standing.add(FIRST.bid);
    expect(history.tell(lost).findings).toHaveLength(1);
  });
});

describe("succession", () => {
  const awaited = (slot: number | undefined) =>
    ({ type: "awaited", atMs: 0, elections: [ELECTION], slot, boundMs: 100 }) as const;
  const judged = (): { history: History; succession: Succession } => {
    const history = new History();
    const succession = new Succession(history.judgement());
    return { history: history.judgedBy(succession), succession };
  };

  it("finds an election that nobody leads in time", () => {
    const { history, succession } = judged();
    history.tell(awaited(undefined));
    expect(succession.isComplete).toBe(false);
    expect(history.tell({ type: "overdue", atMs: 100 }).findings).toHaveLength(1);
  });

  it("is complete when somebody leads, or led already", () => {
    const { history, succession } = judged();
    history.elected(ANN, FIRST).tell(awaited(undefined));
    expect(succession.isComplete).toBe(true);
    expect(history.tell({ type: "overdue", atMs: 100 }).findings).toEqual([]);
  });

  it("waits for the one who stands alone, and for no other", () => {
    const { history, succession } = judged();
    history.elected(ANN, FIRST).tell(awaited(BOB.slot)).elected(ANN, SECOND, 10);
    expect(succession.isComplete).toBe(false);
    history.elected(BOB, tokenOf(3, "b3"), 20);
    expect(succession.isComplete).toBe(true);
  });
});
