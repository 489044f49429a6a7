// What becomes of a command when nobody takes what it prints.
import { existsSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { CommandLine } from "./command.ts";

const cli = new CommandLine();
afterAll(() => cli.end());
const PATIENT = { timeout: 60_000 };
const into = (where: string): readonly string[] => ["sh", "-c", `exec "$@" ${where}`, "sh"];

/** It exists on Linux, and is like a file on a full disk for everybody who writes to it. */
describe.runIf(existsSync("/dev/full"))("a full disk", () => {
  it("behind stdout is told in a line, and is the exit code 3", PATIENT, async () => {
    for (const args of [["--help"], ["help", "run"], ["sim", "lease", "--json"], ["demo", "--simulated"]]) {
      const { code, stderr } = await (await cli.start(args, {}, undefined, into("> /dev/full"))).ended;
      expect([args, code, stderr]).toEqual([
        args,
        3,
        expect.stringMatching(/^conclave: stdout cannot be written to: ENOSPC.*\n$/),
      ]);
    }
  });

  it("behind stderr changes nothing else", PATIENT, async () => {
    const { code } = await (await cli.start(["nonsense"], {}, undefined, into("2> /dev/full"))).ended;
    expect(code).toBe(2);
  });
});

describe("a reader that has gone", () => {
  it("is no error of a command that ends by itself", PATIENT, async () => {
    const running = await cli.start(["help", "run"], {}, undefined, into("| true"));
    expect(await running.ended).toMatchObject({ stderr: "" });
  });

  it("ends the demo of partitions, which has nobody to show it to", PATIENT, async () => {
    const demo = await cli.start(["partitions", "demo", "--members", "3", "--partitions", "9", "--ttl", "1s"]);
    await demo.lines(1);
    demo.closeStdout();
    expect(await demo.ended).toMatchObject({ code: 130, stderr: expect.stringMatching(/interrupted\n$/) as unknown });
  });
});
