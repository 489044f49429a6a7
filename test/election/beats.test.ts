// Beats as a candidate sends them: each keep draws a new one and names those before it.
import { createCandidate } from "conclave";
import { memory } from "conclave/stores/memory";
import { ManualClock } from "conclave/testing";
import { describe, expect, it } from "vitest";
import { freshBeat } from "../../src/election/fresh-beat.ts";
import type { Session, SessionSpec, Store } from "conclave/stores/contract";

/** Notes the sessions that are kept. */
function overheard(store: Store<"fenced">, heard: (Session | SessionSpec)[]): Store<"fenced"> {
  return Object.assign(Object.create(store) as Store<"fenced">, {
    keep: (...args: Parameters<Store["keep"]>) => {
      heard.push(args[0]);
      return store.keep(...args);
    },
    claim: (...args: Parameters<Store["claim"]>) => store.claim(...args),
    release: (...args: Parameters<Store["release"]>) => store.release(...args),
    look: (...args: Parameters<Store["look"]>) => store.look(...args),
    watch: (...args: Parameters<Store["watch"]>) => store.watch(...args),
    close: () => store.close(),
  });
}

describe("a candidate", () => {
  it("leaves another beat with every keep, and names those before it", async () => {
    const heard: (Session | SessionSpec)[] = [];
    await using candidate = createCandidate({ store: overheard(memory(), heard), ttlMs: 60_000 });
    await using term = await candidate.election("x").campaign();
    for (let renewals = 0; renewals < 6; renewals++) await term.renew();
    expect(term.isHeld()).toBe(true);
    const named = heard.map((session) => ("nonce" in session ? [session.beat] : (session.beats ?? [])));
    const left = named.map((beats) => beats.at(-1));
    expect(new Set(left).size).toBe(7);
    named.slice(1).forEach((beats, index) => expect(beats.slice(0, -1)).toContain(left[index]));
    expect(Math.max(...named.map((beats) => beats.length))).toBeLessThanOrEqual(5);
  });
});

describe("a fresh beat", () => {
  it("has the form of a UUID, and does not come twice", () => {
    const clock = new ManualClock(); // it stands: the beats differ all the same
    const beats = Array.from({ length: 100 }, () => freshBeat(clock));
    expect(new Set(beats).size).toBe(100);
    for (const beat of beats) expect(beat).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });
});
