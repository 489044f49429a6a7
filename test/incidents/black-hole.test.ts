// Elsewhere: packets are dropped without a reset, and the holder notices after minutes, when the kernel gives the connection up (consul#18271; two active Vaults, vault#23013).
// Here: the signal aborts at the deadline whatever the connection does; and a connection on which a request got no answer is used no more. Where only that connection is
// dead, the next renewal goes over a new one, and the term goes on.
// Taken out: test/defences/black-hole.patch
import { expect, it } from "vitest";
import { useRealStores } from "../support/real-stores.ts";
import { deadConnection, deafWaiter, everythingSwallowed } from "../support/store-incidents.ts";

const stores = useRealStores();

it.each(stores)(
  "black-hole: a connection that went dead without a word is replaced before the deadline (%s)",
  (_, store) => deadConnection(store, expect),
);

it.each(stores)(
  "black-hole: where everything is swallowed, the signal aborts before the deadline, and somebody else leads after it, and both can when it is mended (%s)",
  { timeout: 40_000 },
  (_, store) => everythingSwallowed(store, expect),
);

it.each(stores)(
  "black-hole: a waiter that hears nothing any more leads soon after the leader has left (%s)",
  { timeout: 40_000 },
  (_, store) => deafWaiter(store, expect),
);
