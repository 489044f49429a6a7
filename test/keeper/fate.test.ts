// What is said of a process that cannot be looked at: neither that it is dead, nor that it has left no children.
import { expect, it, vi } from "vitest";
import { fateOf, whatRemains } from "../../src/keeper/fate.ts";
import { findKin } from "../../src/keeper/kin.ts";
import { identify, lookAt } from "../../src/keeper/processes.ts";

vi.mock("../../src/keeper/processes.ts", { spy: true });
vi.mock("../../src/keeper/kin.ts", { spy: true });

const own = identify(process.pid) ?? { pid: -1, startedAt: "" };
const NOBODY = 2 ** 22 + 1;
const blind = (): never => {
  throw new Error("EMFILE: too many open files");
};

it("this process lives; one of another start time, and one that is not there, are dead", () => {
  expect(fateOf(own)).toBe("alive");
  expect(fateOf({ ...own, startedAt: "1" })).toBe("dead");
  expect(fateOf({ pid: NOBODY, startedAt: "1" })).toBe("dead");
});

it("one that /proc does not show, and that can be signalled, is not dead", () => {
  vi.mocked(lookAt).mockReturnValueOnce(undefined);
  expect(fateOf(own)).toBe("unknown");
});

it("one that cannot be looked at is not dead", () => {
  vi.mocked(lookAt).mockImplementationOnce(blind);
  expect(fateOf({ pid: NOBODY, startedAt: "1" })).toBe("unknown");
});

it("what cannot be looked at is not taken for nobody; keepers are nobody's children", () => {
  const family = { child: own, mark: "none", known: [] };
  vi.mocked(findKin).mockImplementationOnce(blind);
  expect(whatRemains(family, new Set())).toContain("EMFILE");
  vi.mocked(lookAt).mockReturnValueOnce(undefined);
  vi.mocked(findKin).mockReturnValueOnce({ ours: [], suspects: [] });
  expect(whatRemains(family, new Set())).toContain("hides processes");
  vi.mocked(findKin).mockReset();
  vi.mocked(findKin).mockReturnValueOnce({ ours: [{ pid: 7, startedAt: "1" }], suspects: [] });
  expect(whatRemains(family, new Set([7]))).toBeUndefined();
});
