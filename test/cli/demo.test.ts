// `conclave demo` as a process: what it shows is checked again here, from its log and by counting, and that nothing is left of it however it ends.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Term } from "conclave";
import { judgeLog } from "conclave/testing";
import { judge } from "../../src/cli/demo/verdict.ts";
import { Ledger } from "../../src/cli/demo/ledger.ts";
import { timeline } from "../../src/cli/demo/timeline.ts";
import { by } from "../fencing/tokens.ts";
import { Database } from "../stores/sqlite/by-hand.ts";
import { CommandLine } from "./command.ts";

const cli = new CommandLine();
afterAll(() => cli.end());

interface Shown {
  readonly ok: boolean;
  readonly rounds: number;
  readonly failovers: readonly {
    readonly how: string;
    readonly fromToken: string;
    readonly toToken: string;
    readonly ms: number;
  }[];
  readonly staleWrites: readonly { readonly token: string; readonly newest: string }[];
  readonly overlaps: number;
  readonly problems: readonly string[];
  readonly summary: string;
  readonly log: string;
}

describe("conclave demo", () => {
  it("--once --json: one object, and all of it is true", { timeout: 60_000 }, async () => {
    const { code, stdout, stderr } = await cli.run(["demo", "--once", "--json", "--ttl", "1s"], { TMPDIR: cli.folder });
    expect({ code, problems: (JSON.parse(stdout) as Shown).problems }).toEqual({ code: 0, problems: [] });
    expect(stdout.trimEnd().split("\n")).toHaveLength(1);
    const shown = JSON.parse(stdout) as Shown;
    expect(shown).toMatchObject({ ok: true, rounds: 1, overlaps: 0 });
    expect(shown.failovers.map(({ how }) => how)).toEqual(["killed", "stopped"]);
    for (const { fromToken, toToken, ms } of shown.failovers) {
      expect(BigInt(toToken)).toBeGreaterThan(BigInt(fromToken));
      expect(ms).toBeGreaterThan(0);
    }
    const [stale] = shown.staleWrites;
    expect(BigInt(stale?.token ?? 0)).toBeLessThan(BigInt(stale?.newest ?? 0));
    const verdict = judgeLog(readFileSync(shown.log, "utf8"));
    expect(verdict).toMatchObject({ overlaps: [], regressions: [], unread: [] });
    expect(shown.summary).toBe(
      `0 overlaps in ${verdict.terms - 1} failovers, judged from the children's own log: ${shown.log}`,
    );
    expect(stderr).toMatch(/^store sqlite:.* — this host only$/m);
    expect(readdirSync(path.dirname(shown.log))).toEqual(["terms.log"]);
  });

  it(
    "tells it in lines without escapes where there is no terminal, and ends with the verdict",
    { timeout: 60_000 },
    async () => {
      const { code, stdout } = await cli.run(["demo", "--ttl", "1s"], { TMPDIR: cli.folder });
      expect(code).toBe(0);
      expect(stdout).toMatch(/token \d+ < \d+: refused/);
      expect(stdout).toMatch(/its first entry was taken \d+ ms after the kill/);
      expect(stdout).toMatch(/\n0 overlaps in \d+ failovers, judged from the children's own log: \S+terms\.log\n$/);
      expect(stdout).not.toContain("\u001B");
    },
  );

  it("killed with SIGKILL while a candidate is stopped: no candidate outlives it", { timeout: 60_000 }, async () => {
    const demo = await cli.start(["demo", "--ttl", "3s"], { TMPDIR: cli.folder });
    while (!demo.stdout.includes("SIGSTOP")) await demo.lines(demo.stdout.split("\n").length);
    const children = childrenOf(demo.pid);
    expect(children).toHaveLength(3);
    // On a busy machine a process that was sent SIGSTOP runs on until its next turn on a processor.
    await expect.poll(() => children.map(stateOf), { interval: 5 }).toContain("T");
    await demo.kill();
    await expect.poll(() => children.filter((pid) => !"ZX".includes(stateOf(pid))), { timeout: 10_000 }).toEqual([]);
  });

  it(
    "interrupted in its first round: says what it has, exits 130, and leaves no process",
    { timeout: 60_000 },
    async () => {
      const demo = await cli.start(["demo", "--json", "--rounds", "9"], { TMPDIR: cli.folder });
      await expect.poll(() => childrenOf(demo.pid).length, { timeout: 20_000 }).toBe(3);
      const children = childrenOf(demo.pid);
      demo.signal("SIGINT");
      const { code, stdout } = await demo.ended;
      expect(code).toBe(130);
      expect(JSON.parse(stdout)).toMatchObject({ ok: false, rounds: 0, overlaps: 0 });
      expect(children.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
    },
  );

  it.runIf(!isBuiltin("node:sqlite"))("says what to install where there is no SQLite, and exits 3", async () => {
    const { code, stderr } = await cli.run(["demo", "--once"], { NODE_PATH: "", TMPDIR: cli.folder });
    expect(code).toBe(3);
    expect(stderr).toMatch(
      /no binding for SQLite is installed. Run: npm install libsql.*\n.*conclave demo --simulated/,
    );
  });

  it("--simulated --seed tells the same story twice", async () => {
    const first = await cli.run(["demo", "--simulated", "--seed", "7"]);
    expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining("conclave demo --simulated --seed 7") });
    expect(await cli.run(["demo", "--simulated", "--seed", "7"])).toEqual(first);
  });

  it.each([
    [["--ttl", "2"], /--ttl 2: a duration is a whole number with its unit, such as 500ms, 2s, 1m or 1h/],
    [["--ttl", "1.5s"], /a duration is a whole number/],
    [["--ttl", "-1s"], /--ttl/],
    [["--ttl", "2 s"], /a duration is a whole number/],
    [["--ttl", "100ms"], /from 500ms to 1m/],
    [["--ttl", "2m"], /from 500ms to 1m/],
    [["--rounds", "0"], /a whole number of at least 1/],
    [["--once", "--rounds", "2"], /pass one of them/],
    [["--seed", "3"], /--seed goes with --simulated/],
    [["--simulated", "--seed", "x"], /a whole number of at least 0/],
    [["--simulated", "--once"], /--simulated goes with/],
    [["now"], /Unexpected argument 'now'/],
  ])("exits 2 for %j", async (args, said) => {
    const { code, stdout, stderr } = await cli.run(["demo", ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(said);
  });
});

describe("the verdict of the demo", () => {
  const round = { failovers: [], staleWrites: [], problems: [] };
  let ledgers = 0;

  function judged(
    log: string,
    rounds = [round],
    edit: (ledger: Ledger) => void = () => {},
    sql = "",
  ): ReturnType<typeof judge> {
    const files = { log: cli.file("forged.txt"), ledger: cli.file(`ledger-${++ledgers}.db`) };
    writeFileSync(files.log, log);
    const ledger = new Ledger(files.ledger);
    ledger.create();
    edit(ledger);
    ledger.close();
    const byHand = new Database(files.ledger);
    if (sql !== "") byHand.exec(sql);
    byHand.close();
    return judge(rounds, files);
  }

  it("is yes for terms that follow each other", () => {
    expect(judged("1 a begin 1\n2 a end 1\n3 b begin 2\n4 b end 2\n")).toMatchObject({ ok: true, failovers: 1 });
  });

  it.each([
    ["a forged overlap", "1 a begin 1\n3 b begin 2\n4 a act 1\n", /began 1.000 ms before a/],
    ["a token that does not grow", "1 a begin 2\n2 a end 2\n3 b begin 1\n", /has token 1 after a had 2/],
    ["a line that cannot be read", "1 a begin 1\nnonsense\n", /cannot be read: nonsense/],
  ])("is no for %s", (_what, log, said) => {
    const { ok, problems } = judged(log);
    expect(ok).toBe(false);
    expect(problems.join()).toMatch(said);
  });

  it("is yes while the ledger refuses what is stale, and no for an entry that came in without its guard", () => {
    const term = (value: number): Term => by(value) as Term;
    const guarded = (ledger: Ledger): void => {
      ledger.append(term(2), "a", 1);
      expect(() => ledger.append(term(1), "b", 1)).toThrow(/The writer has been replaced/);
      ledger.append(term(3), "c", 1);
    };
    expect(judged("1 a begin 1\n", [round], guarded)).toMatchObject({ ok: true, entries: 2, problems: [] });
    const stale = "INSERT INTO entry (who, token, amount, balance) VALUES ('b', '1', 5, 6)";
    expect(judged("1 a begin 1\n", [round], guarded, stale)).toMatchObject({
      ok: false,
      problems: ["entry 3 of b has token 1 after 3", "entry 3 of b does not count on from the one before"],
    });
  });

  it("is no for a round that did not come out, and for no round", () => {
    expect(judged("1 a begin 1\n", [{ ...round, problems: ["nobody took over"] as never }]).ok).toBe(false);
    expect(judged("1 a begin 1\n", []).ok).toBe(false);
  });
});

it("the chart shows who led when", () => {
  const terms = [
    { who: "a", token: 1n, fromMs: 1000, untilMs: 2000 },
    { who: "b", token: 2n, fromMs: 2010, untilMs: 3000 },
    { who: "a", token: 3n, fromMs: 5000, untilMs: 6000 },
  ];
  const failovers = [
    { how: "killed", from: "a", fromToken: 1n, to: "b", toToken: 2n, ms: 10 },
    { how: "stopped", from: "b", fromToken: 2n, to: "a", toToken: 3n, ms: 2000 },
  ] as const;
  expect(timeline(terms, failovers, ["a", "b"], 1000)).toEqual([
    "         0.0 s                                                      5.0 s",
    "  a      █████████████x····································██████████████",
    "  b      ·············█████████████░░░░░░░░░░░░░░░░░░░░░░░░··············",
    "  token  1            2                                    3",
    "         █ leads   x killed   ░ stopped",
  ]);
});

function childrenOf(pid: number): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && fieldsOf(Number(name))[1] === `${pid}`)
    .map(Number);
}

/** Z: it has ended, and nobody has asked how. X: it is gone. */
function stateOf(pid: number): string {
  return fieldsOf(pid)[0] ?? "X";
}

/** State and parent, of /proc. */
function fieldsOf(pid: number): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}
