// The incidents that are tried on one store, with one server for all of them. Those that only need the server run beside each other, since they mostly wait; those that
// stop or kill it come after them, one by one. A test is named after its incident, so that `npm run defences` can run it alone without its defence.
import { describe, type ExpectStatic, it } from "vitest";
import type { RealStore } from "./real-stores.ts";
import * as told from "./store-incidents.ts";

/** What must hold, and the story that shows it. */
export type Stories = readonly (readonly [
  claim: `${string}: ${string}`,
  story: (store: RealStore, expect: ExpectStatic) => Promise<void>,
])[];

/** On every store. */
const BESIDE: Stories = [
  ["black-hole: a connection that went dead without a word is replaced before the deadline", told.deadConnection],
  [
    "black-hole: where everything is swallowed, the signal aborts before the deadline, and somebody else leads after it, and both can when it is mended",
    told.everythingSwallowed,
  ],
  ["black-hole: a waiter that hears nothing any more leads soon after the leader has left", told.deafWaiter],
  [
    "release-unknown: not held from the send on, over a wire that goes dead just then; a rival leads after the ttl",
    told.releaseWithoutAnswer,
  ],
  [
    "late-commit: a claim that the network delivers when nobody waits for it leads nobody and blocks nobody",
    told.lateClaim,
  ],
  ["no-second-campaign: a candidate whose record is deleted again and again leads again", told.deposedAgainAndAgain],
  ["in-process-twins: elections and locks of one name never hold together", told.twins],
  ["early-release: nobody else begins before the work of a resigning leader has settled", told.slowToStop],
  ["shared-identity: of two candidates with one id only one leads", told.oneName],
  ["record-deleted: the holder of a record that is deleted loses its term with its next renewal", told.deletedRecord],
  ["wall-clock-jump: of leader and waiter by an hour, nothing changes", told.jumpingClocks],
];

const ALONE: Stories = [
  ["hung-renewal: the signal aborts before the deadline while the server is stopped", told.stoppedServer],
  ["store-outage: the server is killed for three ttl; lost at the deadline, and leads again", told.killedServer],
];

const PATIENCE_MS = 60_000;

/** With more that is only of this store. */
export function incidentsOn(store: RealStore, more: Stories): void {
  describe.concurrent("while the server runs", () => {
    for (const [claim, story] of [...BESIDE, ...more])
      it(claim, { timeout: PATIENCE_MS }, ({ expect }) => story(store, expect));
  });
  describe("of the server itself", () => {
    for (const [claim, story] of ALONE) it(claim, { timeout: PATIENCE_MS }, ({ expect }) => story(store, expect));
  });
}
