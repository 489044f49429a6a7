// From the election to the command's first step, and from its last to the release: real processes, stopped at the very line. A candidate waits; its keeper
// is stopped; it is elected, and stands before the gate until the keeper answers.
import { existsSync, readlinkSync } from "node:fs";
import { afterEach, beforeEach, expect, it } from "vitest";
import { happens, isGone, kill, type Run, Stage, until } from "./stage.ts";

const PATIENT = { timeout: 60_000 };
let stage: Stage;
beforeEach(() => {
  stage = new Stage();
});
afterEach(() => stage.end());

const sh = (script: string): readonly string[] => ["sh", "-c", script];
const hasBegun = (run: Run): boolean => run.told.some(({ type, state }) => type === "child" && state === "started");

/** Elected, with a keeper that is stopped and for which it has patience: the command waits at the gate. */
async function atTheGate(): Promise<{ readonly run: Run; readonly file: string }> {
  const file = stage.file("ran");
  const before = await stage.run({ id: "before", ttl: "1m", command: sh("exec sleep 1000") });
  await before.tells("child", "started");
  const run = await stage.run({
    id: "next",
    ttl: "1m",
    flags: ["--http", "0"],
    command: sh(`echo ran > ${file}; exec sleep 1000`),
  });
  await run.tells("keeper", "started");
  await run.tells("session", "opened");
  kill(run.keeperPid, "SIGSTOP");
  before.signal("SIGTERM");
  await before.exited;
  await run.tells("elected");
  await until(() => gateOf(run) !== undefined, "it stands at the gate");
  return { run, file };
}

it("the command does not begin before a keeper has said that it knows it", PATIENT, async () => {
  const { run } = await atTheGate();
  expect(await happens(() => hasBegun(run), 500)).toBe(false);
  kill(run.keeperPid, "SIGCONT");
  expect(await happens(() => hasBegun(run))).toBe(true);
});

it("the command does not begin if the term has ended while it waited at the gate", PATIENT, async () => {
  const { run, file } = await atTheGate();
  run.signal("SIGTERM");
  expect(await run.exited).toBe(143);
  expect(hasBegun(run)).toBe(false);
  expect(existsSync(file)).toBe(false);
});

it("the gate never opens if supervisor and keeper are killed", PATIENT, async () => {
  const { run, file } = await atTheGate();
  const gate = gateOf(run) ?? 0;
  kill(run.keeperPid, "SIGKILL");
  run.signal("SIGKILL");
  expect(await happens(() => isGone(gate))).toBe(true);
  expect(existsSync(file)).toBe(false);
});

it("a signal that is handed on does not end the gate", PATIENT, async () => {
  const { run, file } = await atTheGate();
  run.signal("SIGUSR2");
  await answers(run);
  kill(run.keeperPid, "SIGCONT");
  expect(await happens(() => existsSync(file))).toBe(true);
  expect(run.told.filter(({ state }) => state === "exited")).toEqual([]);
});

it(
  "a keeper that takes another's place knows the command, and holds what waiters watch, as the command does",
  PATIENT,
  async () => {
    const run = await stage.run({ id: "a", ttl: "1m", command: sh("exec sleep 1000") });
    await run.tells("child", "started");
    kill(run.keeperPid, "SIGKILL");
    await run.tells("keeper", "started", 2);
    const [ofKeeper, ofChild] = [`/proc/${run.keeperPid}/fd/3`, `/proc/${run.childPid}/fd/4`].map((file) =>
      existsSync(file) ? readlinkSync(file) : "nothing",
    );
    expect(ofChild).toMatch(/^socket:/);
    expect(ofKeeper).toBe(ofChild);
    run.signal("SIGKILL");
    expect(await happens(() => isGone(run.childPid))).toBe(true);
  },
);

it("a command that outlives its ttl is told to stop by nobody", PATIENT, async () => {
  const run = await stage.run({ id: "a", ttl: "2s", command: sh("exec sleep 1000") });
  await run.tells("child", "started");
  const isLost = (): boolean => run.told.some(({ type }) => type === "lost");
  await happens(() => isGone(run.childPid) || isLost(), 2500);
  // On a machine that is too busy to renew in time the term is lost, and that is no fault of the keeper.
  expect(isGone(run.childPid) && !isLost()).toBe(false);
});

it("the term is given back when nothing of the command lives, not before", PATIENT, async () => {
  const file = stage.file("left");
  const script = `trap '' TERM; echo up > ${file}; while :; do sleep 0.01; done`;
  const first = await stage.run({
    id: "a",
    ttl: "1m",
    flags: ["--drain", "1s"],
    command: sh(`(${script}) & echo $!; wait`),
  });
  await until(() => existsSync(file) && /^\d+\n/.test(first.stdout), "it runs");
  const second = await stage.run({ id: "b", ttl: "1m", command: sh("exec sleep 1000") });
  await second.tells("session", "opened");
  kill(first.childPid, "SIGKILL"); // what it left behind does not obey SIGTERM
  await second.tells("child", "started");
  expect(isGone(Number(first.stdout))).toBe(true);
  expect(second.told.filter(({ type }) => type === "orphans")).toEqual([]); // or the second would have ended it
});

it("a supervisor that is killed while it waits for the command to end: the keeper ends it", PATIENT, async () => {
  const file = stage.file("stubborn");
  const script = `trap '' TERM; echo up > ${file}; while :; do sleep 0.01; done`;
  const run = await stage.run({ id: "a", ttl: "1m", flags: ["--drain", "30s"], command: sh(script) });
  await until(() => existsSync(file), "it runs");
  await run.tells("child", "started");
  run.signal("SIGTERM");
  await run.tells("child", "stopping");
  run.signal("SIGKILL");
  expect(await happens(() => isGone(run.childPid))).toBe(true);
});

/** Its loop has turned, twice: what reached it before has been handled. */
async function answers(run: Run): Promise<void> {
  const port = /^http 127\.0\.0\.1:(\d+)$/m.exec(run.stderr)?.[1] ?? "";
  for (const page of ["healthz", "healthz"]) await (await fetch(`http://127.0.0.1:${port}/${page}`)).text();
}

/** The process of the supervisor that waits for its line: a shell that has our own name for it. */
function gateOf(run: Run): number | undefined {
  return run.children().find(({ commandLine }) => commandLine.includes("CONCLAVE_GATE"))?.pid;
}
