// Elsewhere: two processes with one hostname both renewed one record; a restarted process found its own key and led silently on (Kubernetes, n8n).
// Here: a nonce of the process is in every bid; a name alone is nobody. The candidates below have the same id, as two containers of one hostname would:
// two in one process, two processes on a file or a real server, and one that was killed and started again.
// Taken out: test/defences/shared-identity.patch
import { readFileSync } from "node:fs";
import { afterAll, expect, it } from "vitest";
import { memory } from "conclave/stores/memory";
import { judgeLog } from "conclave/testing";
import { usePlaces, useRealStores } from "../support/real-stores.ts";
import { nowMs, sleep, Stage } from "../support/processes.ts";
import { oneName } from "../support/store-incidents.ts";

const stage = new Stage();
afterAll(() => stage.end());
const real = useRealStores();

it.each(["race", "line"] as const)(
  "shared-identity: of two candidates with one id only one leads (memory, %s)",
  (shape) => {
    const store = memory({ shape });
    return oneName({ hasTokens: true, open: () => store }, expect, 500);
  },
);

it.each(real)("shared-identity: of two candidates with one id only one leads (%s)", (_, store) =>
  oneName(store, expect),
);

const places = usePlaces(stage, real);

it.each(places)(
  "shared-identity: of two processes with one id only one leads, and one that comes back is somebody else (%s)",
  { timeout: 30_000 },
  async (name, place) => {
    const shared = { ...place(), log: stage.file(`${name}.log`), id: "web-1", ttlMs: 2000 };
    const first = await stage.start(shared);
    const { token = "" } = await first.hears("elected");
    const twin = await stage.start(shared);
    await twin.hears("leader");
    await sleep(1.5 * shared.ttlMs);
    expect(twin.heard.filter(({ event }) => event === "elected")).toEqual([]);
    expect(first.heard.filter(({ event }) => event === "lost")).toEqual([]);
    const killedAt = nowMs();
    await first.kill();
    const again = await stage.start(shared);
    const next = await Promise.any([twin, again].map((player) => player.hears("elected", killedAt)));
    expect(BigInt(next.token ?? 0)).toBeGreaterThan(BigInt(token));
    await sleep(500);
    await Promise.all([twin.kill(), again.kill()]);
    const verdict = judgeLog(readFileSync(shared.log, "utf8"));
    expect(verdict).toMatchObject({ terms: 2, overlaps: [], regressions: [], unread: [] });
  },
);
