// conclave/testing has tools for two kinds of authors. For authors of programs: a term, a store and a clock that the test controls. For authors of stores: the suite that proves a driver, and a wrapper
// that injects faults. It needs no test runner, and goes with any.
export { type ConformanceCase, type ConformanceOptions, storeConformance } from "./conformance.ts";
export { fakeStore, type FakeStore } from "./fake-store.ts";
export { fakeTerm, type FakeTerm, type FakeTermOptions, fakeToken } from "./fake-term.ts";
export type { StoreFault, FaultKind, Faults, Injected, Method, RandomFaults } from "./faults.ts";
export { type FaultPlan, faulty, type FaultyStore } from "./faulty.ts";
export { judgeLog, readTerms, type TermSpan, type LogVerdict } from "./judge.ts";
export { ManualClock } from "./manual-clock.ts";
