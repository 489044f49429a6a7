// Elsewhere: two processes with one hostname both renewed one record; a restarted process found its own key and led silently on (Kubernetes, n8n).
// Here: a nonce of the process is in every bid; a name alone is nobody. The two candidates below have the same id, as two containers of one hostname would.
// Taken out: test/defences/shared-identity.patch
import { expect, it } from "vitest";
import { elect } from "conclave";
import { memory } from "conclave/stores/memory";

it.each(["race", "line"] as const)(
  "shared-identity: of two candidates with one id only one leads (%s)",
  async (shape) => {
    const store = memory({ shape });
    await using one = elect("x", { store, id: "web-1", ttlMs: 500, drainMs: 100 });
    await using two = elect("x", { store, id: "web-1", ttlMs: 500, drainMs: 100 });
    one.start();
    two.start();
    await expect.poll(() => one.term() ?? two.term()).toBeDefined();
    const until = performance.now() + 1200;
    while (performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect([one.term(), two.term()].filter(Boolean)).toHaveLength(1);
    }
    expect((one.term() ?? two.term())?.candidate).toMatch(/^web-1_[0-9a-f]{16}-\d+$/);
  },
);
