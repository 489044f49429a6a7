// Two copies of one process, as they exist after a virtual machine was cloned: both draw the same numbers, and only their beats differ. With a client that may try again, a
// conflict is taken for its own making only if the beat is its own, too.
import { expect, it, vi } from "vitest";
import { dynamodb } from "conclave/stores/dynamodb";
import { call } from "../moves.ts";
import { ModelClient } from "./model-client.ts";

vi.mock(import("../../../src/clients/random.ts"), async (original) => ({
  ...(await original()),
  freshId: () => "00000000-0000-4000-8000-000000000000",
}));

it("the second copy to renew is refused, although it draws the same numbers as the first", async () => {
  const store = dynamodb(new ModelClient(), { table: "model" });
  await store.keep({ nonce: "s", candidate: "web", ttlMs: 9_000, beat: "b0" }, [], call());
  const session = { id: "s", candidate: "web", ttlMs: 9_000 };
  expect((await store.keep({ ...session, beats: ["b0", "of-one"] }, [], call())).kind).toBe("kept");
  expect((await store.keep({ ...session, beats: ["b0", "of-two"] }, [], call())).kind).toBe("session-lost");
});
