// `conclave completion`: the scripts that it prints, run in the shells that are here.
import { spawnSync } from "node:child_process";
import { afterAll, describe, expect, it } from "vitest";
import { CommandLine } from "./command.ts";

const cli = new CommandLine();
afterAll(() => cli.end());
const PATIENT = { timeout: 60_000 };

describe("conclave completion", () => {
  it("bash: commands, then the flags of one, and files after --", PATIENT, async () => {
    const { code, stdout } = await cli.run(["completion", "bash"]);
    expect(code).toBe(0);
    const complete = (...words: readonly string[]): readonly string[] => {
      const quoted = words.map((word) => `'${word}'`).join(" ");
      const script = `${stdout}\nCOMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _conclave; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const { stdout: replies } = spawnSync("bash", ["-c", script], { encoding: "utf8" });
      return replies.split("\n").filter((line) => line !== "");
    };
    expect(complete("conclave", "ru")).toEqual(["run"]);
    expect(complete("conclave", "run", "x", "--re")).toEqual(["--restart"]);
    expect(complete("conclave", "run", "x", "--", "--re")).toEqual([]);
    expect(complete("conclave", "help", "obs")).toEqual(["observe"]);
    expect(complete("conclave", "completion", "")).toEqual(["bash", "fish", "zsh", "--help"]);
  });

  it("zsh and fish: every command", PATIENT, async () => {
    const whole = await cli.run(["--help"]);
    const names = [...whole.stdout.matchAll(/^ {2}([a-z]+) {3}/gm)].map(([, name = ""]) => name);
    for (const shell of ["zsh", "fish"]) {
      const { code, stdout } = await cli.run(["completion", shell]);
      expect(code).toBe(0);
      expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(stdout))).toEqual([]);
      expect(stdout).toContain("restart");
    }
    expect((await cli.run(["completion", "tcsh"])).code).toBe(2);
  });
});
