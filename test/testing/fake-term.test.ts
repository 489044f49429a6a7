// A term without a store.
import { TermLostError } from "conclave";
import { fakeTerm, fakeToken } from "conclave/testing";
import { describe, expect, it } from "vitest";

describe("fakeTerm", () => {
  it("is held until it is lost", async () => {
    const term = fakeTerm({ token: 7n, election: "billing" });
    expect(term).toMatchObject({ election: "billing", token: { value: 7n } });
    expect([term.isHeld(), term.state(), term.signal.aborted]).toEqual([true, "safe", false]);
    expect(term.remainingMs()).toBeGreaterThan(0);
    term.throwIfNotLeading();
    await term.renew();
    await term.announce("http://here");
  });

  it("is lost at once and for good, with the first reason", async () => {
    const term = fakeTerm();
    const { signal } = term;
    term.lose("superseded");
    term.lose("expired");
    expect([term.isHeld(), term.state(), term.remainingMs(), signal.aborted]).toEqual([false, "lost", 0, true]);
    expect(signal.reason).toBeInstanceOf(TermLostError);
    expect(signal.reason).toMatchObject({ reason: "superseded", election: "fake" });
    expect(() => term.throwIfNotLeading()).toThrow(expect.objectContaining({ code: "TERM_LOST" }));
    expect(await term.ended).toBe("superseded");
    await expect(term.renew()).rejects.toMatchObject({ code: "TERM_LOST" });
  });

  it("expires unless told why", async () => {
    const term = fakeTerm();
    term.lose();
    expect(await term.ended).toBe("expired");
  });

  it("is given up by resign, and by leaving its block", async () => {
    const term = fakeTerm();
    await term.resign();
    expect(await term.ended).toBe("resigned");
    const other = fakeTerm();
    await other[Symbol.asyncDispose]();
    expect(await other.ended).toBe("resigned");
  });
});

it("fakeToken makes equal tokens of equal values", () => {
  expect(fakeToken(3n)).toEqual(fakeToken(3n));
  expect(fakeToken(3n)).not.toEqual(fakeToken(4n));
});
