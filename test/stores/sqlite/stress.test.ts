// `sqlite:` on a machine with no core to spare: the leader is killed, stopped at any moment and asked to resign, and no two ever hold at once. Twenty rounds
// of each here; `npm run stress` does two hundred. Only safety is asserted: how long it takes depends on who else wants the processor.
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { afterAll, beforeAll, expect, it } from "vitest";
import { percentile } from "../../support/processes.ts";
import { takeOver } from "../../support/rounds.ts";

const load = { stop: (): void => {} };
beforeAll(async () => {
  const child = spawn("stress-ng", ["--cpu", String(availableParallelism()), "--quiet"], { stdio: "ignore" });
  await new Promise<void>((resolve, reject) => child.once("spawn", resolve).once("error", reject));
  load.stop = () => child.kill("SIGTERM");
});
afterAll(() => load.stop());

it("under load, no two ever lead at once, and a stopped leader is waited for", { timeout: 240_000 }, async () => {
  const rounds = 20;
  const { samples, verdicts } = await takeOver({ rounds, stopAt: "any-moment", pairs: 2 });
  const p99 = [samples.kill, samples.stop, samples.resign].map((values) => percentile(values, 0.99).toFixed(0));
  process.stdout.write(
    `under load, p99: killed ${p99[0]} ms, stopped ${p99[1]} ms over the ttl, resigned ${p99[2]} ms\n`,
  );
  for (const verdict of verdicts) expect(verdict).toMatchObject({ overlaps: [], regressions: [], unread: [] });
  expect(samples.early).toBe(0);
  expect([samples.kill, samples.stop, samples.resign].map(({ length }) => length)).toEqual([rounds, rounds, rounds]);
});
