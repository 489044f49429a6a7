// A command that has ended by itself has ended, also if its supervisor was stopped at that moment and its term is over when it goes on. One that was ended
// because its term was over has not: it begins again in the next term. Real processes, SIGSTOP.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { afterAll, expect, it } from "vitest";
import { isGone, kill, type Run, sleep, Stage, until } from "./stage.ts";

const TTL_MS = 3000;
const PATIENT = { timeout: 60_000 };
const stage = new Stage();
afterAll(() => stage.end());

/** Notes that it began, waits until the test wants it to end, and ends with 7. */
async function start(election: string): Promise<Run & { readonly finish: () => void; readonly begun: () => number }> {
  const [begun, go] = [stage.file(`${election}.begun`), stage.file(`${election}.go`)];
  const script = `echo begun >> ${begun}; until [ -e ${go} ]; do sleep 0.01; done; exit 7`;
  const run = await stage.run({ id: "a", election, ttl: `${TTL_MS}ms`, command: ["sh", "-c", script] });
  await run.tells("child", "started");
  await until(() => existsSync(begun), "it has begun");
  return Object.assign(run, {
    finish: () => writeFileSync(go, ""),
    begun: () => readFileSync(begun, "utf8").split("\n").length - 1,
  });
}

const overstays = ({ told }: Run): readonly unknown[] =>
  told.filter(({ type, error }) => type === "overstayed" || error?.code === "TERM_OVERSTAYED");

it("a command that finished while its supervisor was stopped is not run again", PATIENT, async () => {
  const run = await start("stopped");
  await run.stop();
  run.finish();
  await until(() => isGone(run.childPid), "it has finished");
  await sleep(1.2 * TTL_MS);
  run.signal("SIGCONT");
  expect(await run.exited).toBe(7);
  expect(run.begun()).toBe(1);
  expect(overstays(run)).toEqual([]);
  expect(run.told.filter(({ type, state }) => type === "child" && state === "exited")).toMatchObject([
    { exit: { code: 7 } },
  ]);
});

it("nor is it if its keeper was stopped as well", PATIENT, async () => {
  const run = await start("both");
  await run.stop();
  kill(run.keeperPid, "SIGSTOP");
  run.finish();
  await until(() => isGone(run.childPid), "it has finished");
  await sleep(1.2 * TTL_MS);
  kill(run.keeperPid, "SIGCONT");
  run.signal("SIGCONT");
  expect(await run.exited).toBe(7);
  expect(run.begun()).toBe(1);
  expect(overstays(run)).toEqual([]);
});

it("a command that the keeper has ended begins again, whatever its exit code", PATIENT, async () => {
  const begun = stage.file("ended.begun");
  const script = `trap 'exit 0' TERM; echo begun >> ${begun}; while :; do sleep 0.01; done`;
  const run = await stage.run({ id: "a", election: "ended", ttl: "1s", command: ["sh", "-c", script] });
  await run.tells("child", "started");
  await until(() => existsSync(begun), "it has begun");
  await run.stop();
  await until(() => isGone(run.childPid), "the keeper has ended it");
  run.signal("SIGCONT");
  const again = run.tells("child", "started", 2).then(
    () => "it has begun again",
    () => "it has not",
  );
  expect(await again).toBe("it has begun again");
  await until(() => readFileSync(begun, "utf8") === "begun\nbegun\n", "it listens");
  expect(overstays(run)).toEqual([]);
  run.signal("SIGTERM");
  expect(await run.exited).toBe(0);
});
