// Elsewhere: the event loop was blocked past the deadline, and the awaited continuation ran with `aborted === false` before the timer fired.
// Here: isHeld() reads the clock at the moment of the call, and aborts the signal before it answers.
// Taken out: test/defences/blocked-loop.patch
import { expect, it } from "vitest";
import { elect } from "conclave";
import { memory } from "conclave/stores/memory";

function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

it("blocked-loop: after a blocked loop isHeld() is false and the signal aborted before any timer has fired", async () => {
  await using election = elect("x", { store: memory(), ttlMs: 400, drainMs: 50 });
  const term = await election.campaign();
  const { signal } = term;
  let timers = 0;
  setTimeout(() => timers++, 0);
  block(450);
  expect(signal.aborted).toBe(false); // nobody could have told it yet
  expect(term.isHeld()).toBe(false);
  expect(signal.aborted).toBe(true);
  expect(() => term.throwIfLost()).toThrow(expect.objectContaining({ code: "TERM_LOST" }));
  expect(timers).toBe(0);
});
