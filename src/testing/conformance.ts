// The suite that proves a driver: the demands of the contract (stores/contract.ts) and of the values (lease/exchange.ts) on a store, as claims. It reads the store's guarantee and holds the store to it.
// Some claims mean one thing for a line and another for a race, or differ with the judge: such a claim checks the reading that applies, so that every case checks something of every store. It needs no
// test runner:
//
//   for (const { name, run } of storeConformance(async () => sqlite(":memory:"))) test(name, run);
//
// It does not check events that only the outside can see (a restart, a failover, a deleted record), nor how a store behaves under concurrent load.
import type { Store } from "../stores/contract.ts";
import { Bench, type Case } from "./conformance/bench.ts";
import { banCases } from "./conformance/bans.ts";
import { claimCases } from "./conformance/claims.ts";
import { cloneCases } from "./conformance/clones.ts";
import { guaranteeCases } from "./conformance/guarantee.ts";
import { invitationCases } from "./conformance/invitations.ts";
import { lookCases } from "./conformance/looks.ts";
import { memoCases } from "./conformance/memos.ts";
import { orderCases } from "./conformance/order.ts";
import { releaseCases } from "./conformance/releases.ts";
import { requestCases } from "./conformance/requests.ts";
import { sessionCases } from "./conformance/sessions.ts";
import { silenceCases } from "./conformance/silence.ts";
import { tokenCases } from "./conformance/tokens.ts";
import { watchCases } from "./conformance/watches.ts";

/** One claim about a store, to be run by any test runner. */
export interface ConformanceCase {
  /** The claim about the store. */
  readonly name: string;
  /** Opens a store of its own, closes it, and rejects if the claim does not hold. */
  readonly run: () => Promise<void>;
}

/** Options of `storeConformance`. */
export interface ConformanceOptions {
  /** Cases that are left out, by their whole name, each with the reason why this store cannot do it. */
  readonly skip?: readonly { readonly name: string; readonly reason: string }[] | undefined;
}

const CASES: readonly Case[] = [
  ...guaranteeCases,
  ...sessionCases,
  ...cloneCases,
  ...claimCases,
  ...orderCases,
  ...tokenCases,
  ...releaseCases,
  ...requestCases,
  ...silenceCases,
  ...lookCases,
  ...watchCases,
  ...memoCases,
  ...banCases,
  ...invitationCases,
];

/** Returns the cases for the store that `open` opens; each run opens one. Names and nonces are new in every run, so that a store may be used again. */
export function storeConformance(open: () => Promise<Store>, options?: ConformanceOptions): readonly ConformanceCase[] {
  if (typeof open !== "function") throw new TypeError("storeConformance: pass a function that opens the store");
  const skip = options?.skip ?? [];
  if (!Array.isArray(skip)) throw new TypeError("storeConformance: skip is a list of { name, reason }");
  const skipped = new Set((skip as NonNullable<ConformanceOptions["skip"]>).map(checkSkip));
  return CASES.filter(({ name }) => !skipped.has(name)).map(({ name, run }) => ({
    name,
    run: () => runCase(open, run),
  }));
}

function checkSkip(skipped: { readonly name: string; readonly reason: string }): string {
  const { name, reason } = Object(skipped) as typeof skipped;
  if (!CASES.some((known) => known.name === name))
    throw new TypeError(`storeConformance: there is no case ${JSON.stringify(name)} to skip`);
  if (typeof reason !== "string" || reason.trim() === "")
    throw new TypeError(`storeConformance: say why ${JSON.stringify(name)} is skipped`);
  return name;
}

async function runCase(open: () => Promise<Store>, run: Case["run"]): Promise<void> {
  const store = await open();
  try {
    await run(new Bench(store));
  } finally {
    await store.close();
  }
}
