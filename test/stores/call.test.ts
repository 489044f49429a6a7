// A call that is given up says so to its driver, with a signal and without one.
import { expect, it } from "vitest";
import { isGivenUp, LazyCall, stopSignalOf, whenGivenUp } from "../../src/stores/call.ts";

it("a call of the runner tells its driver once, and its signal if there is one", () => {
  const call = new LazyCall(5);
  const { signal } = call;
  let told = 0;
  expect(whenGivenUp(call, () => told++)).toBeUndefined();
  expect([isGivenUp(call), signal.aborted]).toEqual([false, false]);
  call.abandon();
  call.abandon();
  expect([isGivenUp(call), signal.aborted, told]).toEqual([true, true, 1]);
});

it("a signal that is asked for afterwards has aborted", () => {
  const call = new LazyCall(5);
  call.abandon();
  expect(call.signal.aborted).toBe(true);
});

it("any other call tells by its signal, until nobody wants to know", () => {
  const [first, second] = [new AbortController(), new AbortController()];
  const told: string[] = [];
  whenGivenUp({ signal: first.signal, sentAtMs: 0 }, () => told.push("first"));
  whenGivenUp({ signal: second.signal, sentAtMs: 0 }, () => told.push("second"))?.();
  first.abort();
  second.abort();
  expect(told).toEqual(["first"]);
  expect(isGivenUp({ signal: first.signal, sentAtMs: 0 })).toBe(true);
});

it("one signal of a call tells every request that listens to it, once, and none that has its answer", () => {
  const call = new LazyCall(5);
  const signal = stopSignalOf(call);
  const told: string[] = [];
  const answered = (): void => void told.push("answered");
  signal.addEventListener("abort", () => told.push("first"), { once: true });
  stopSignalOf(call).addEventListener("abort", () => told.push("second"), { once: true });
  signal.addEventListener("abort", answered, { once: true });
  signal.removeEventListener("abort", answered);
  expect(signal.aborted).toBe(false);
  call.abandon();
  call.abandon();
  expect([signal.aborted, told]).toEqual([true, ["first", "second"]]);
  expect(signal.reason).toBe(call.signal.reason);
});

it("a call made by hand has no other signal than its own", () => {
  const { signal } = new AbortController();
  expect(stopSignalOf({ signal, sentAtMs: 0 })).toBe(signal);
});
