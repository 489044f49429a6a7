// What the command line says when it is asked for help, or mistyped.
import { readFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { fit, nearest } from "../../src/cli/help-text.ts";
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
    expect((await cli.run(["help"])).stdout).toMatch(/^conclave: elects one leader/);
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

  it("joins the lines of a row before it wraps them, and leaves the next row and its options alone", () => {
    const help = `  --flag  eight nine ten eleven
          twelve
          one two
  verb    three
    --a   four five six seven
    --b   eight
`;
    expect(fit(help, 24)).toBe(`  --flag  eight nine ten
          eleven twelve
          one two
  verb    three
    --a   four five six
          seven
    --b   eight
`);
  });

  it("keeps the table of guards in the help of fence as a table", PATIENT, async () => {
    const { stdout } = await cli.run(["help", "fence"]);
    const rows = stdout.match(/^ {22}\S+ +\w+Fence\(.*\n/gm) ?? [];
    expect(rows.map((row) => row.trim().split(/ +/)[0])).toEqual([
      "sqlite:FILE",
      "file:FOLDER",
      "etcd://HOST",
      "postgres://HOST/",
      "redis://HOST",
    ]);
  });

  it("has no line of one word in the middle of what a flag means, for any command", PATIENT, async () => {
    const whole = await cli.run(["--help"]);
    const names = [...whole.stdout.matchAll(/^ {2}([a-z]+) {3}/gm)].map(([, name = ""]) => name);
    const texts = await Promise.all(names.map(async (name) => (await cli.run(["help", name])).stdout));
    const alone = texts.flatMap((text) =>
      [...text.matchAll(/^(?: {8,})(\S{1,4})\n(?= {8,}[a-z])/gm)].map(([, word]) => word),
    );
    expect(alone).toEqual([]);
  });
});

describe("a typo is answered in one line: what is meant perhaps, and where help is", () => {
  it.each([
    [["rum"], `conclave: there is no command "rum". Did you mean "run"? All of them: conclave --help\n`, 2],
    [["--hepl"], `conclave: there is no flag --hepl. Did you mean --help? More: conclave --help\n`, 2],
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
    [
      ["run", "x", "true"],
      `conclave run: the command goes behind --: conclave run x -- true. More: conclave run --help\n`,
      125,
    ],
    [
      ["stonith", "fenc"],
      `conclave stonith: there is no verb "fenc"; it is one of run, status, fence, confirm or history. Did you mean "fence"? More: conclave stonith --help\n`,
      2,
    ],
    [
      ["partitions", "drain", "g"],
      `conclave partitions: it is used as: conclave partitions drain GROUP MEMBER. More: conclave partitions --help\n`,
      2,
    ],
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

describe("--help", () => {
  it.each(["demo", "leader", "observe", "memo", "fence"])(
    "of %s is on stdout, exits 0 and lists the exit codes",
    async (name) => {
      const { code, stdout } = await cli.run([name, "--help"]);
      expect(code).toBe(0);
      expect(stdout).toMatch(new RegExp(`^usage: conclave ${name} `));
      expect(stdout).toContain("Exit codes:");
      expect(stdout).toContain("--json");
    },
  );

  it("of the whole lists every command, and docs/CLI.md has each of them", async () => {
    const { code, stdout } = await cli.run(["--help"]);
    expect(code).toBe(0);
    const listed = [...stdout.matchAll(/^ {2}([a-z]+) {3}/gm)].map(([, name]) => name);
    const page = readFileSync(new URL("../../docs/CLI.md", import.meta.url), "utf8");
    const documented = [...page.matchAll(/^\| \[`conclave ([a-z]+)/gm)].map(([, name]) => name);
    expect(new Set(documented)).toEqual(new Set(listed));
    expect(listed.length).toBeGreaterThanOrEqual(4);
  });
});
