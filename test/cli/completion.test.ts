// `conclave completion`: the scripts that it prints, run in the real shells.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { ensurePackages } from "../../scripts/servers/packages.mjs";
import { CommandLine } from "./command.ts";

const cli = new CommandLine();
afterAll(() => cli.end());
const PATIENT = { timeout: 120_000 };

/**
 * Types each line into an interactive zsh on a terminal of its own, with a Tab at the end, and then the key that writes down what stands in the line.
 * ← the script of completions, the file to write to, the lines.
 */
const TYPIST = `script=$1 out=$2; shift 2
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; autoload -Uz compinit; compinit -u -D; source $script; show() { print -r -- \\"\\$BUFFER\\" >> $out; BUFFER=; }; zle -N show; bindkey '^Xs' show; bindkey '^I' complete-word; print -n > $out.ready"
until [[ -e $out.ready ]]; do zpty -r -t shell ignored; sleep 0.01; done
count=0
for line; do
  (( count++ ))
  zpty -w -n shell "$line"$'\\t\\x18s'
  until [[ -e $out && $(wc -l < $out) -ge $count ]]; do zpty -r -t shell ignored; sleep 0.01; done
done
zpty -d shell
`;

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

  it("zsh: what a Tab makes of a line", PATIENT, async () => {
    ensurePackages(["zsh"]);
    writeFileSync(cli.file("completion.zsh"), (await cli.run(["completion", "zsh"])).stdout);
    writeFileSync(cli.file("typist.zsh"), TYPIST);
    const typed = [
      "conclave ru",
      "conclave run x --re",
      "conclave help obs",
      "conclave completion ba",
      "conclave run x -- --re",
    ];
    const files = ["typist.zsh", "completion.zsh", "typed"].map((name) => cli.file(name));
    const { status, stderr } = spawnSync("zsh", ["-f", ...files, ...typed], { encoding: "utf8", timeout: 60_000 });
    expect({ status, stderr }).toMatchObject({ status: 0 });
    expect(readFileSync(cli.file("typed"), "utf8").split("\n")).toEqual([
      "conclave run ",
      "conclave run x --restart ",
      "conclave help observe ",
      "conclave completion bash ",
      "conclave run x -- --re",
      "",
    ]);
  });

  it("fish: commands, then the flags of one, and none after --", PATIENT, async () => {
    ensurePackages(["fish"]);
    writeFileSync(cli.file("completion.fish"), (await cli.run(["completion", "fish"])).stdout);
    const complete = (line: string): readonly string[] => {
      const script = `source ${cli.file("completion.fish")}; complete -C '${line}'`;
      const { stdout } = spawnSync("fish", ["--no-config", "-c", script], { encoding: "utf8", cwd: cli.folder });
      return stdout.split("\n").filter((each) => each !== "");
    };
    expect(complete("conclave ru")).toEqual(["run\truns a command only while this process leads"]);
    expect(complete("conclave run x --re")).toEqual(["--restart"]);
    expect(complete("conclave help obs")).toEqual(["observe"]);
    expect(complete("conclave completion z")).toEqual(["zsh"]);
    expect(complete("conclave run x -- --re")).toEqual([]);
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
