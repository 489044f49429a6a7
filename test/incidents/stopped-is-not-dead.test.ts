// Elsewhere: a holder that does not answer is taken for dead; it was only stopped, wakes, and writes beside its successor.
// Here: on one host the kernel says whether a process lives; a stopped one still accepts connections, and is waited for until its ttl. Real processes, SIGSTOP.
// Taken out: test/defences/stopped-is-not-dead.patch
import { afterAll, expect, it } from "vitest";
import { nextKeep, nowMs, Stage } from "../support/processes.ts";

const stage = new Stage();
afterAll(() => stage.end());

it("stopped-is-not-dead: a stopped holder is waited for until its ttl has run out", { timeout: 30_000 }, async () => {
  const path = stage.file("stopped.db");
  const ttlMs = 3000;
  const holder = await stage.start({ path, id: "holder", ttlMs });
  await holder.hears("elected");
  const waiter = await stage.start({ path, id: "waiter", ttlMs });
  await waiter.hears("leader");
  await nextKeep(path);
  holder.signal("SIGSTOP");
  const stoppedAt = nowMs();
  const { at } = await waiter.hears("elected", stoppedAt);
  // Its last keep was just sent.
  expect(at - stoppedAt).toBeGreaterThan(ttlMs - 500);
  expect(at - stoppedAt).toBeLessThan(ttlMs + 500);
  holder.signal("SIGCONT");
  expect((await holder.hears("lost", stoppedAt)).reason).toBe("expired");
});
