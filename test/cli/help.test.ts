// What the command line says when it is asked for help, mistyped, or interrupted.
import { spawnSync } from "node:child_process";
import { afterAll, describe, expect, it } from "vitest";
import { fit, nearest } from "../../src/cli/words.ts";
import { CommandLine } from "./command.ts";

const cli = new CommandLine();
afterAll(() => cli.end());
const PATIENT = { timeout: 60_000 };

describe("help", () => {
  it("conclave help NAME is conclave NAME --help", PATIENT, async () => {
    const [asked, flag] = [await cli.run(["help", "run"]), await cli.run(["run", "--help"])];
    expect(asked.stdout).toMatch(/^usage: conclave run NAME/);
    expect(asked).toEqual(flag);
    expect(asked.code).toBe(0);
    expect((await cli.run(["help"])).stdout).toMatch(/^conclave: one leader/);
  });

  it("is at most 100 columns wide, for every command", PATIENT, async () => {
    const whole = await cli.run(["--help"]);
    const names = [...whole.stdout.matchAll(/^ {2}([a-z]+) {3}/gm)].map(([, name = ""]) => name);
    expect(names).toContain("run");
    const texts = await Promise.all(names.map(async (name) => (await cli.run(["help", name])).stdout));
    const wide = [whole.stdout, ...texts].flatMap((text) => text.split("\n")).filter((line) => line.length > 100);
    expect(wide).toEqual([]);
  });

  it("wraps prose as one text, and what a flag means below its beginning", () => {
    expect(
      fit(
        `one two three four five six
seven

  --flag  eight nine ten eleven
`,
        24,
      ),
    ).toBe(
      `one two three four five
six seven

  --flag  eight nine ten
          eleven
`,
    );
    expect(fit("short\nlines\n", 16)).toBe("short\nlines\n");
  });
});

describe("a typo is answered in one line: what is meant perhaps, and where help is", () => {
  it.each([
    [["rum"], `conclave: there is no command "rum". Did you mean "run"? All of them: conclave --help\n`, 2],
    [["xyzzy"], `conclave: there is no command "xyzzy". All of them: conclave --help\n`, 2],
    [
      ["help", "lead"],
      `conclave: there is no command "lead". Did you mean "leader"? All of them: conclave --help\n`,
      2,
    ],
    [
      ["leader", "x", "--sore", "y"],
      `conclave leader: there is no flag --sore. Did you mean --store? More: conclave leader --help\n`,
      2,
    ],
    [
      ["run", "x", "--restrat", "--", "true"],
      `conclave run: there is no flag --restrat. Did you mean --restart? More: conclave run --help\n`,
      125,
    ],
    [["leader", "x", "--qqqqqqqq"], `conclave leader: there is no flag --qqqqqqqq. More: conclave leader --help\n`, 2],
    [["leader"], `conclave leader: NAME is missing. More: conclave leader --help\n`, 2],
    [["run", "x"], `conclave run: which command? conclave run x -- command. More: conclave run --help\n`, 125],
  ])("%j", PATIENT, async (args, said, code) => {
    expect(await cli.run(args)).toEqual({ code, stdout: "", stderr: said });
  });

  it("near is: few letters changed, left out, added or exchanged", () => {
    expect(nearest("sotre", ["store", "json"])).toBe("store");
    expect(nearest("j", ["store", "json"])).toBeUndefined();
    expect(nearest("leaderr", ["leader", "list"])).toBe("leader");
  });
});

describe("completion", () => {
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

it("observe ends with 130 on SIGINT and with 0 on SIGTERM", PATIENT, async () => {
  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 0],
  ] as const) {
    const observe = await cli.start(["observe", "x", "--store", `sqlite:${cli.file("observed.db")}`]);
    await observe.lines(1);
    observe.signal(signal);
    expect((await observe.ended).code).toBe(code);
  }
});

it("sim exercise lists what the exercises are", PATIENT, async () => {
  const { code, stdout } = await cli.run(["sim", "exercise"]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^ {2}1 {3}Bully/m);
  expect(stdout).toMatch(/^ {2}4 {3}lease duration/m);
});
