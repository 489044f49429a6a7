// From the review of the design: two elections or locks of one name in one process must never both hold; a shared session would grant both.
// Here: askers of one candidate take turns in the process before the store is touched.
// Taken out: test/defences/in-process-twins.patch
import { expect, it } from "vitest";
import { memory } from "conclave/stores/memory";
import { useRealStores } from "../support/real-stores.ts";
import { twins } from "../support/store-incidents.ts";

it.each(["race", "line"] as const)(
  "in-process-twins: elections and locks of one name never hold together (memory, %s)",
  (shape) => twins({ hasTokens: true, open: () => memory({ shape }) }, expect),
);

it.each(useRealStores())("in-process-twins: elections and locks of one name never hold together (%s)", (_, store) =>
  twins(store, expect),
);
