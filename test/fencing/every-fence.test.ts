// What holds for every guard, wherever it keeps what it remembers: each takes and refuses exactly what the rule says (src/fencing/guard.ts), says alike what a
// move or a repair has changed, and verifies signatures if it was told to.
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FencingToken } from "conclave";
import { type Lowering, type Move, type Signed, signToken, type Verification } from "conclave/fencing";
import { fakeTerm } from "conclave/testing";
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
/** Of values that `anyToken` draws, so that some meet what is remembered. */
const anyLowering: fc.Arbitrary<Lowering> = fc.record({
  domain: fc.constantFrom("etcd-1", "etcd-2"),
  from: fc.constantFrom(5n, 2n ** 53n + 1n, 2n ** 64n, 10n ** 39n - 1n),
  to: fc.bigInt(0n, 4n),
});
const anyStep = fc.oneof(
  { weight: 6, arbitrary: anyToken },
  { weight: 2, arbitrary: anyMove },
  { weight: 1, arbitrary: anyLowering },
);
type Step = FencingToken | Move | Lowering;

/** The rule by itself. */
class Rule implements Raisable {
  #remembered: Remembered | undefined;

  async raise({ token }: { readonly token: FencingToken }): Promise<void> {
    this.#remembered = admit("ledger", this.#remembered, token);
  }

  async adopt(move: Move | Lowering): ReturnType<Raisable["adopt"]> {
    const before = this.#remembered;
    this.#remembered = moveDomain("ledger", before, move);
    return adopted(this.#remembered, move, this.#remembered !== before);
  }
}

const outcomeOf = async (guard: Raisable, step: Step): Promise<unknown> =>
  "from" in step
    ? await guard.adopt(step).catch((error: { readonly code: string }) => error.code)
    : await codeOf(guard.raise({ token: step }));

const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const VERIFY: Verification = { keys: publicKey, audience: "everything" };
const signed = (value: bigint): Signed =>
  signToken(fakeTerm({ token: value }), privateKey, { audience: "everything", ttlMs: 60_000 });

describe.each(everyFence)("a fence of kind %s", { timeout: 60_000 }, (_, make) => {
  it("takes and refuses what the rule says, in whatever order tokens and moves come", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 12 }), async (steps) => {
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

  it("moves from and to no domain that no token can have", async () => {
    const guard = make(folder);
    await guard.raise(by(1, "b", "etcd-1"));
    for (const flawed of ["e\uD83D", "\uDE00e", "e\0", ""]) {
      expect(await codeOf(guard.adopt({ from: "etcd-1", to: flawed }))).toBe("CONFIG_INVALID");
      expect(await codeOf(guard.adopt({ from: flawed, to: "etcd-1" }))).toBe("CONFIG_INVALID");
      expect(await codeOf(guard.adopt({ domain: flawed, from: 1n, to: 0n }))).toBe("CONFIG_INVALID");
    }
    expect(await codeOf(guard.raise(by(5, "z", "e%EF%BF%BD")))).toBe("TOKEN_FOREIGN");
    expect(await codeOf(guard.raise(by(2, "c", "etcd-1")))).toBe("admitted");
  });

  it("takes back a token that no store has granted, once, also if it leaves the domain and comes back", async () => {
    const guard = make(folder);
    await guard.raise(by(41, "b", "etcd-1"));
    await guard.raise(by(9000, "huge", "etcd-1"));
    const lowering = { domain: "etcd-1", from: 9000n, to: 40n };
    const side = (value: bigint): object => ({ domain: "etcd-1", value });
    expect(await guard.adopt(lowering)).toEqual({ changed: true, from: side(9000n), to: side(40n) });
    expect(await codeOf(guard.raise(by(40, "a", "etcd-1")))).toBe("TOKEN_STALE");
    expect(await codeOf(guard.raise(by(41, "b", "etcd-1")))).toBe("admitted");
    await guard.raise(by(42, "c", "etcd-1"));
    expect(await guard.adopt(lowering)).toEqual({ changed: false, from: side(9000n), to: side(42n) });
    expect(await codeOf(guard.raise(by(41, "b", "etcd-1")))).toBe("TOKEN_STALE");
    await guard.adopt({ from: "etcd-1", to: "etcd-2" });
    await guard.adopt({ from: "etcd-2", to: "etcd-1" });
    expect(await codeOf(guard.raise(by(42, "c", "etcd-1")))).toBe("TOKEN_STALE");
    expect(await codeOf(guard.raise(by(43, "d", "etcd-1")))).toBe("admitted");
  });

  it("with verify takes what was signed for it, compares, and refuses what was not", async () => {
    const guard = make(folder, VERIFY);
    await guard.raise(signed(41n));
    await guard.raise(signed(42n));
    expect(await codeOf(guard.raise(signed(41n)))).toBe("TOKEN_STALE");
    expect(await codeOf(guard.raise(by(43)))).toBe("TOKEN_UNTRUSTED");
    expect(await codeOf(guard.raise({ signed: signed(43n).signed.replace(":43:", ":9000:") }))).toBe("TOKEN_UNTRUSTED");
    await guard.raise(signed(43n));
  });
});
