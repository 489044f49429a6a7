// Operations in flight, as the guards of one process count them: the end of one operation ends no other.
import { expect, it } from "vitest";
import { Flights } from "../../src/fencing/flights.ts";
import { by, codeOf, turn } from "./tokens.ts";

it("an operation that says twice that it has ended does not end the one beside it", async () => {
  const flights = new Flights();
  const first = await flights.enter("ledger", by(1));
  const beside = await flights.enter("ledger", by(1));
  let hasBegun = false;
  const newer = flights.enter("ledger", by(2)).then(() => (hasBegun = true));
  first.leave();
  first.leave();
  await turn();
  expect(hasBegun).toBe(false);
  expect(await codeOf(flights.enter("ledger", by(1)))).toBe("TOKEN_STALE");
  beside.leave();
  await newer;
  expect(hasBegun).toBe(true);
});
