// Decides which fault meets which request: the faults that were asked for come first, in order, then those by chance, then none. It only decides; faulty.ts carries the fault out.
import { createRng, nextChance, nextInteger, nextOf, type Rng } from "../base/rng.ts";

/** The methods of a store that can be made to fail. */
export type Method = "keep" | "claim" | "release" | "look" | "writeMemo" | "readMemos";

/** The fault of one request. */
export type StoreFault =
  /** The request reaches the store only after this long. */
  | { readonly delayMs: number }
  /** The request is applied at once, and answered only after this long. */
  | { readonly answerAfterMs: number }
  /** The request never reaches the store, and is never answered. */
  | { readonly hang: true }
  /** The request is applied, and never answered. */
  | { readonly dropAnswer: true }
  /** The request is not applied: it is refused as unreachable, or the driver throws. */
  | { readonly error: "refused" | "thrown" }
  /** The request is applied and answered only after the next request was applied. */
  | { readonly reorder: true }
  /** The request is applied only after its caller gave up, and after a later request was applied. */
  | { readonly late: true }
  /** A look shows the seat as of this many looks ago. For other methods this is no fault. */
  | { readonly stale: number };

/** Faults by chance, from a seed. */
export interface RandomFaults {
  /** The only source of chance: with the same seed, the same requests meet the same faults. */
  readonly seed: number;
  /** The chance of each request to meet a fault. @default 0.2 */
  readonly chance?: number | undefined;
  /** @default 50 */
  readonly delayMaxMs?: number | undefined;
  /** @default all of them */
  readonly kinds?: readonly FaultKind[] | undefined;
}

const KINDS = ["delayMs", "answerAfterMs", "hang", "dropAnswer", "error", "reorder", "late", "stale"] as const;
/** The kinds of `StoreFault`, by their keys. */
export type FaultKind = (typeof KINDS)[number];

/** A fault that a request has met. */
export interface Injected {
  readonly method: Method;
  readonly fault: StoreFault;
}

/** The controls by which a test makes requests fail. */
export interface Faults {
  /** The next request of this method, or of any, meets `fault`. Several are met in their order. */
  next(method: Method | "any", fault: StoreFault): void;
  /** From now on nothing reaches the store, no hint comes through and nothing is answered, until `heal`. */
  hang(): void;
  /** From now on there are no more faults, neither asked for nor by chance. A request that never reached the store is answered `unknown` now; a request that was held back is applied now. */
  heal(): void;
  /** Every fault that was met, in order. */
  readonly injected: readonly Injected[];
}

/** The part of `Faults` that decides. */
export class FaultSource {
  readonly injected: Injected[] = [];
  readonly #asked: { readonly method: Method | "any"; readonly fault: StoreFault }[];
  #random: { readonly rng: Rng; readonly faults: RandomFaults } | undefined;
  #hanging = false;

  constructor(
    asked: readonly { readonly method: Method | "any"; readonly fault: StoreFault }[],
    random: RandomFaults | undefined,
  ) {
    this.#asked = [...asked];
    this.#random = random && { rng: createRng(random.seed), faults: random };
  }

  ask(method: Method | "any", fault: StoreFault): void {
    this.#asked.push({ method, fault });
  }

  hang(): void {
    this.#hanging = true;
  }

  heal(): void {
    this.#hanging = false;
    this.#asked.length = 0;
    this.#random = undefined;
  }

  /** Returns the fault that this request meets. */
  draw(method: Method): StoreFault | undefined {
    const fault = this.#hanging ? ({ hang: true } as const) : (this.#takeAsked(method) ?? this.#drawByChance(method));
    if (fault !== undefined) this.injected.push({ method, fault });
    return fault;
  }

  /** Tells whether a hint gets lost. */
  losesHint(): boolean {
    if (this.#hanging || this.#random === undefined) return this.#hanging;
    return nextChance(this.#random.rng, this.#random.faults.chance ?? 0.2);
  }

  #takeAsked(method: Method): StoreFault | undefined {
    const index = this.#asked.findIndex((asked) => asked.method === method || asked.method === "any");
    return index < 0 ? undefined : this.#asked.splice(index, 1)[0]?.fault;
  }

  #drawByChance(method: Method): StoreFault | undefined {
    if (this.#random === undefined) return undefined;
    const { rng, faults } = this.#random;
    if (!nextChance(rng, faults.chance ?? 0.2)) return undefined;
    const kinds = (faults.kinds ?? KINDS).filter((kind) => kind !== "stale" || method === "look");
    return kinds.length === 0 ? undefined : makeFault(nextOf(rng, kinds), rng, faults.delayMaxMs ?? 50);
  }
}

function makeFault(kind: FaultKind, rng: Rng, delayMaxMs: number): StoreFault {
  switch (kind) {
    case "delayMs":
      return { delayMs: nextInteger(rng, 1, delayMaxMs) };
    case "answerAfterMs":
      return { answerAfterMs: nextInteger(rng, 1, delayMaxMs) };
    case "hang":
      return { hang: true };
    case "dropAnswer":
      return { dropAnswer: true };
    case "error":
      return { error: nextChance(rng, 0.5) ? "refused" : "thrown" };
    case "reorder":
      return { reorder: true };
    case "late":
      return { late: true };
    case "stale":
      return { stale: nextInteger(rng, 1, 4) };
  }
}
