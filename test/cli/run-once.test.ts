// `conclave run --once`, `--once-success`, `--cron` and `--every`, with real processes on one file.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { CommandLine } from "./command.ts";

const cli = new CommandLine();
afterAll(() => cli.end());
const PATIENT = { timeout: 120_000 };
let files = 0;

/** A new file to elect in, and one to which commands append. */
function stage(): { readonly store: string; readonly log: string; readonly lines: () => readonly string[] } {
  files++;
  const log = cli.file(`log-${files}`);
  const lines = (): readonly string[] => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []);
  return { store: `sqlite:${cli.file(`once-${files}.db`)}`, log, lines };
}

const run = (store: string, flags: readonly string[], script: string): ReturnType<CommandLine["run"]> =>
  cli.run(["run", "job", "--store", store, "--ttl", "10s", ...flags, "--", "sh", "-c", script]);

describe("--once KEY", () => {
  it("on ten processes at once runs the command once; all exit with 0", PATIENT, async () => {
    const { store, log, lines } = stage();
    const ended = await Promise.all(
      Array.from({ length: 10 }, () =>
        run(store, ["--once", "2026-11-16"], `echo "$CONCLAVE_ONCE" >> ${log}; sleep 0.2`),
      ),
    );
    expect(ended.map(({ code }) => code)).toEqual(Array.from({ length: 10 }, () => 0));
    expect(lines()).toEqual(["2026-11-16"]);
    const late = await run(store, ["--once", "2026-11-16"], `echo late >> ${log}`);
    expect(late).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/2026-11-16 was done at \S+; there is nothing to do/),
    });
    await run(store, ["--once", "2026-11-17"], `echo next >> ${log}`);
    expect(lines()).toEqual(["2026-11-16", "next"]);
  });

  it(
    "marks before it begins: a command that failed, or whose runner was killed, does not begin again",
    PATIENT,
    async () => {
      const { store, log, lines } = stage();
      expect((await run(store, ["--once", "a"], `echo a >> ${log}; exit 7`)).code).toBe(7);
      expect((await run(store, ["--once", "a"], `echo again >> ${log}`)).code).toBe(0);
      const killed = await cli.start([
        "run",
        "job",
        "--store",
        store,
        "--once",
        "b",
        "--",
        "sh",
        "-c",
        `echo b >> ${log}; sleep 60`,
      ]);
      await expect.poll(lines, { timeout: 20_000 }).toEqual(["a", "b"]);
      await killed.kill();
      const next = await run(store, ["--once", "b"], `echo again >> ${log}`);
      expect(next).toMatchObject({ code: 0, stderr: expect.stringContaining("nobody noted its end") });
      expect(lines()).toEqual(["a", "b"]);
    },
  );
});

describe("--once KEY --once-success", () => {
  it("runs the command until it has exited with 0, and then no more", PATIENT, async () => {
    const { store, log, lines } = stage();
    const flags = ["--once", "v42", "--once-success"];
    expect((await run(store, flags, `echo 1 >> ${log}; exit 3`)).code).toBe(3);
    expect((await run(store, flags, `echo 2 >> ${log}`)).code).toBe(0);
    expect((await run(store, flags, `echo 3 >> ${log}`)).code).toBe(0);
    expect(lines()).toEqual(["1", "2"]);
  });
});

describe("--every and --cron", () => {
  it("run the command once for each slot, on two processes of which one is killed", PATIENT, async () => {
    const { store, log, lines } = stage();
    const args = [
      "run",
      "job",
      "--store",
      store,
      "--every",
      "1s",
      "--missed",
      "all",
      "--",
      "sh",
      "-c",
      `echo "$CONCLAVE_SLOT" >> ${log}`,
    ];
    const [first, second] = [await cli.start(args), await cli.start(args)];
    await expect.poll(() => lines().length, { timeout: 30_000 }).toBeGreaterThan(2);
    await first.kill();
    const before = lines().length;
    await expect.poll(() => lines().length, { timeout: 30_000 }).toBeGreaterThan(before + 2);
    await second.kill();
    expect(new Set(lines()).size).toBe(lines().length);
  });

  it("refuse a pattern that is none, and flags that do not go together", PATIENT, async () => {
    writeFileSync(cli.file("x"), "");
    const flaws: readonly (readonly [flags: readonly string[], said: string])[] = [
      [["--cron", "61 * * * *"], "is not a pattern of cron"],
      [["--once", "a", "--every", "1s"], "give one of them"],
      [["--every", "1s", "--restart"], "--restart does not go with"],
      [["--missed", "all"], "--missed goes with"],
      [["--once-success"], "--once-success goes with"],
    ];
    for (const [flags, said] of flaws) {
      const { code, stderr } = await cli.run(["run", "job", "--store", "sqlite::none:", ...flags, "--", "true"]);
      expect([code, stderr]).toEqual([125, expect.stringContaining(said)]);
    }
  });
});
