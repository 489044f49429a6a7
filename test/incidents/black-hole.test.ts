// Elsewhere: packets are dropped without a reset, and the holder notices after minutes, when the kernel gives the connection up (consul#18271; two active Vaults, vault#23013).
// Here: the signal aborts at the deadline whatever the connection does; and a connection on which a request got no answer is used no more. Where only that connection is
// dead, the next renewal goes over a new one, and the term goes on.
// Taken out: test/defences/black-hole.patch
import { afterEach, expect, it } from "vitest";
import { createCandidate } from "conclave";
import { useRealStores } from "../support/real-stores.ts";
import { Wire } from "../support/wire.ts";

const stores = useRealStores();
let wire: Wire | undefined;
afterEach(() => wire?.end());

it.each(stores)(
  "black-hole: a connection that went dead without a word is replaced before the deadline (%s)",
  async (_, store) => {
    wire = await Wire.to(store.server());
    await using candidate = createCandidate({ store: store.open(wire.url), ttlMs: 4000, drainMs: 200 });
    await using rival = createCandidate({ store: store.open(), ttlMs: 4000, drainMs: 200 });
    const term = await candidate.election("x").campaign();
    let elected = false;
    rival
      .election("x")
      .campaign()
      .then(() => (elected = true))
      .catch(() => {});
    const before = wire.opened;
    wire.swallow();
    await new Promise((resolve) => setTimeout(resolve, 6000));
    expect({ held: term.isHeld(), aborted: term.signal.aborted, elected }).toEqual({
      held: true,
      aborted: false,
      elected: false,
    });
    expect(wire.opened).toBeGreaterThan(before);
  },
);

it.each(stores)(
  "black-hole: where everything is swallowed, the signal aborts before the deadline, and somebody else leads after it, and both can when it is mended (%s)",
  { timeout: 40_000 },
  async (_, store) => {
    wire = await Wire.to(store.server());
    await using candidate = createCandidate({ store: store.open(wire.url), ttlMs: 3000, drainMs: 200 });
    await using rival = createCandidate({ store: store.open(), ttlMs: 3000, drainMs: 200 });
    const term = await candidate.election("y").campaign();
    // As many connections as it ever has, all of them in use.
    await Promise.all(Array.from({ length: 8 }, () => candidate.election("y").leader()));
    wire.cut();
    const successor = await rival.election("y").campaign();
    expect([term.signal.aborted, term.isHeld()]).toEqual([true, false]);
    expect(successor.token.value).toBeGreaterThan(term.token.value);
    // Long enough for every connection that it may have to be used up by requests that nobody answers.
    const again = candidate.election("y").campaign();
    await new Promise((resolve) => setTimeout(resolve, 8000));
    wire.mend();
    await successor.resign();
    expect((await again).token.value).toBeGreaterThan(successor.token.value);
  },
);
