// What holds for every guard, wherever it keeps what it remembers: each takes and refuses exactly what the rule says (src/fencing/guard.ts), and says alike what a
// move has changed.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FencingToken } from "conclave";
import type { Move } from "conclave/fencing";
import { admit, adopted, moveDomain, type Remembered } from "../../src/fencing/guard.ts";
import { everyFence, type Raisable } from "./every-fence.ts";
import { anyToken, by, codeOf } from "./tokens.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "conclave-every-fence-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const anyMove: fc.Arbitrary<Move> = fc.constantFrom(
  { from: "etcd-1", to: "etcd-2" },
  { from: "etcd-2", to: "etcd-1" },
  { from: "etcd-2", to: "etcd-3" },
);
const anyStep = fc.oneof({ weight: 3, arbitrary: anyToken }, { weight: 1, arbitrary: anyMove });
type Step = FencingToken | Move;

/** The rule by itself. */
class Rule implements Raisable {
  #remembered: Remembered | undefined;

  async raise({ token }: { readonly token: FencingToken }): Promise<void> {
    this.#remembered = admit("ledger", this.#remembered, token);
  }

  async adopt(move: Move): ReturnType<Raisable["adopt"]> {
    const before = this.#remembered;
    this.#remembered = moveDomain("ledger", before, move);
    return adopted(this.#remembered, move, this.#remembered !== before);
  }
}

const outcomeOf = async (guard: Raisable, step: Step): Promise<unknown> =>
  "from" in step
    ? await guard.adopt(step).catch((error: { readonly code: string }) => error.code)
    : await codeOf(guard.raise({ token: step }));

describe.each(everyFence)("a fence of kind %s", { timeout: 60_000 }, (_, make) => {
  it("takes and refuses what the rule says, in whatever order tokens and moves come", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 10 }), async (steps) => {
        const [guard, rule] = [make(folder), new Rule()];
        for (const step of steps) expect(await outcomeOf(guard, step)).toEqual(await outcomeOf(rule, step));
      }),
      { numRuns: 30 },
    );
  });

  it("says what adopt has changed, and that doing it twice is doing it once", async () => {
    const guard = make(folder);
    await guard.raise(by(41, "b", "etcd-1"));
    const [there, back] = [
      { from: "etcd-1", to: "etcd-2" },
      { from: "etcd-2", to: "etcd-1" },
    ];
    const [left, none] = [{ domain: "etcd-1", value: 41n }, { domain: "etcd-2" }];
    expect(await guard.adopt(there)).toEqual({ changed: true, from: left, to: none });
    expect(await guard.adopt(there)).toEqual({ changed: false, from: left, to: none });
    await guard.raise(by(3, "c", "etcd-2"));
    expect(await guard.adopt(there)).toEqual({ changed: false, from: left, to: { domain: "etcd-2", value: 3n } });
    expect(await guard.adopt(back)).toEqual({ changed: true, from: { domain: "etcd-2", value: 3n }, to: left });
  });
});
