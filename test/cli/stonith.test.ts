// `conclave stonith`, as far as it looks, refuses and asks. That it shoots is in test/stonith/shot.test.ts.
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { CommandLine, type Running } from "./command.ts";

const cli = new CommandLine();
afterAll(() => cli.end());
const PATIENT = { timeout: 120_000 };
const FOR_TESTS = "--store-without-quorum-only-for-tests";

/** A machine is a file: the command writes into it, and looks into it. */
const power = (node: string): string => cli.file(`${node}.power`);
const device = (node: string): object => ({
  kind: "command",
  name: `switch of ${node}`,
  status: ["/bin/sh", "-c", `grep -q on "${power(node)}" && exit 0; echo off; exit 2`],
  off: ["/bin/sh", "-c", `echo off > "${power(node)}"`],
});
const GOOD = {
  election: "ledger",
  store: `sqlite:${cli.file("elections.db")}`,
  nodes: Object.fromEntries(["db-1", "db-2", "db-3"].map((node) => [node, { levels: [[device(node)]] }])),
};

function config(settings: object = {}, mode = 0o600): string {
  const file = cli.file(`stonith-${mode}.json`);
  writeFileSync(file, JSON.stringify({ ...GOOD, ...settings }));
  chmodSync(file, mode);
  for (const node of Object.keys(GOOD.nodes)) writeFileSync(power(node), "on");
  return file;
}

const run = (...args: readonly string[]): ReturnType<CommandLine["run"]> => cli.run(["stonith", ...args]);

describe("conclave stonith", () => {
  it("says every problem of its configuration at once, and no secret", PATIENT, async () => {
    const leaking = { kind: "ipmi", host: "h", user: "u", password: "a-bmc-pa55word" };
    const nodes = {
      "db-1": { levels: [[leaking]] },
      "db-2": { levels: [[{ kind: "agent", agent: "fence_nothing" }]] },
    };
    const { code, stderr } = await run("status", "--config", config({ nodes, colour: "red", maxOff: 9 }));
    expect(code).toBe(2);
    for (const word of ["colour", "maxOff", "password is a secret", "fence_nothing is not installed"])
      expect(stderr).toContain(word);
    expect(stderr).not.toContain("a-bmc-pa55word");
  });

  it("status shows what the devices say, and is exit code 1 while nobody leads", PATIENT, async () => {
    const file = config();
    writeFileSync(power("db-2"), "off");
    const { code, stdout } = await run("status", "--config", file);
    expect(stdout).toContain("ledger: nobody leads");
    expect(stdout).toMatch(/db-1 +power on/);
    expect(stdout).toMatch(/db-2 +power off/);
    expect(code).toBe(1);
    const asked = await run("status", "--config", file, "--json");
    expect(JSON.parse(asked.stdout)).toMatchObject({
      election: "ledger",
      power: { "db-1": { is: "on" }, "db-2": { is: "off" } },
    });
    const unasked = await run("status", "--config", file, "--without-devices");
    expect(unasked.stdout).toMatch(/db-1 +idle/);
  });

  it("fence --dry-run prints the decision with its reasons, and orders nothing", PATIENT, async () => {
    const file = config();
    const { code, stdout } = await run("fence", "db-1", "--config", file, "--dry-run", FOR_TESTS);
    expect(code).toBe(0);
    expect(stdout).toContain("db-1 would be shot");
    expect(stdout).toContain("nobody leads");
    expect(stdout).toContain("its devices say that it is on");
    const none = config({ nodes: { ...GOOD.nodes, "db-4": {} } });
    const refused = await run("fence", "db-4", "--config", none, "--dry-run", FOR_TESTS, "--json");
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.stdout)).toMatchObject({ node: "db-4", isAllowed: false });
    expect((await run("status", "--config", none)).stdout).toMatch(/db-4 +no device/);
    expect((await run("history", "--config", file)).stdout).toBe("nothing has happened yet\n");
  });

  it("fence --dry-run refuses what the order itself is refused, in its words", PATIENT, async () => {
    const nodes = { ...GOOD.nodes, "db-3": { levels: [[device("db-3")]], watchdog: "/dev/no-such-watchdog" } };
    const file = config({ nodes });
    const order = ["fence", "db-1", "--config", file, "--node", "db-2"];
    const refused = await run(...order, "--wait", "20s");
    expect(refused.code).toBe(3);
    const dry = await run(...order, "--dry-run");
    expect(dry.code).toBe(1);
    expect(dry.stdout).toContain("db-1 would NOT be shot");
    // In the words of the command line, whose user has no options of the library.
    for (const said of [refused.stderr, dry.stdout]) {
      expect(said).toContain("may forget a ban");
      expect(said).toContain(`In tests: ${FOR_TESTS}.`);
    }
    const would = async (...args: readonly string[]): Promise<string> =>
      (await run("fence", ...args, "--config", file, "--dry-run", FOR_TESTS)).stdout;
    expect(await would("db-2", "--node", "db-2")).toMatch(/would NOT be shot[^]*never powers itself off/);
    expect(await would("db-1", "--node", "db-3")).toMatch(/would NOT be shot[^]*there is no such device/);
    expect(await would("db-1", "--node", "db-2")).toMatch(/would be shot[^]*db-2 would campaign, and shoot/);
  });

  it("fence without a leader is no answer, and nothing is shot", PATIENT, async () => {
    const { code, stderr } = await run("fence", "db-1", "--config", config(), "--wait", "2s");
    expect(code).toBe(3);
    expect(stderr).toContain("no leader has answered");
  });

  it(
    "confirm says that there is nothing to confirm where nothing is open, as failover confirm does",
    PATIENT,
    async () => {
      const file = config();
      for (const flag of [[], ["--i-have-seen-that-it-is-off"], ["--no-shot-can-come"], ["--it-is-on-again"]]) {
        const { code, stderr } = await run("confirm", "db-1", "--config", file, ...flag);
        expect(stderr).toContain("there is nothing to confirm");
        expect(code).toBe(1);
      }
      const both = await run("confirm", "db-1", "--config", file, "--i-have-seen-that-it-is-off", "--it-is-on-again");
      expect(both.code).toBe(2);
      expect(both.stderr).toContain("one at a time");
    },
  );

  it("knows its verbs, its nodes and its file", PATIENT, async () => {
    expect((await run("shoot")).stderr).toContain("run, status, fence, confirm or history");
    expect((await run("fence", "db-9", "--config", config())).stderr).toContain("the nodes are db-1, db-2, db-3");
    expect((await run("status")).stderr).toContain("--config FILE is missing");
    expect((await run("status", "--config", config({}, 0o666))).stderr).toContain("others may change it");
    expect(await run()).toMatchObject({ code: 2, stderr: expect.stringMatching(/^usage: /) as string });
  });
});

describe("conclave stonith run", () => {
  const settings = (name: string): object => ({
    election: name,
    store: `sqlite:${cli.file(`${name}.db`)}`,
    delayMs: 0,
    spreadMs: 0,
    retryMs: 100,
  });

  async function candidate(file: string, node: string, script: string): Promise<Running> {
    return await cli.start([
      "stonith",
      "run",
      "--config",
      file,
      "--node",
      node,
      "--json",
      FOR_TESTS,
      "--",
      "/bin/sh",
      "-c",
      script,
    ]);
  }

  it("runs the command once, with its node and its token, and exits as it does", PATIENT, async () => {
    const file = config(settings("once"));
    const { code, stdout } = await (
      await candidate(file, "db-1", 'echo "$CONCLAVE_NODE $CONCLAVE_TOKEN"; exit 7')
    ).ended;
    expect(stdout).toBe("db-1 1\n");
    expect(code).toBe(7);
    // It has ended cleanly: the next one begins without a shot, on whatever node.
    const next = await (await candidate(file, "db-2", 'echo "$CONCLAVE_NODE"')).ended;
    expect(next.stdout).toBe("db-2\n");
    expect(next.stderr).not.toContain("shooting");
    expect(readFileSync(power("db-1"), "utf8")).toBe("on");
  });

  it("obeys an order to fence, verifies it, refuses its own node, and ends by SIGTERM", PATIENT, async () => {
    const file = config(settings("ordered"));
    const leader = await candidate(file, "db-1", `echo begun > "${cli.file("begun")}"; exec sleep 1000`);
    await expect.poll(() => existsSync(cli.file("begun")), { timeout: 60_000 }).toBe(true);
    const own = await run("fence", "db-1", "--config", file);
    expect(own.code).toBe(1);
    expect(own.stdout).toContain("it never powers itself off");
    const dry = await run("fence", "db-2", "--config", file, "--dry-run");
    expect(dry.stdout).toContain("db-1 leads, and would shoot");
    expect(readFileSync(power("db-2"), "utf8")).toBe("on");
    const { code, stdout } = await run("fence", "db-2", "--config", file, "--why", "it burns", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ isDone: true, off: { by: "device" } });
    expect(code).toBe(0);
    expect(readFileSync(power("db-2"), "utf8")).toContain("off");
    expect((await run("history", "--config", file)).stdout).toContain("it burns");
    leader.signal("SIGTERM");
    expect((await leader.ended).code).toBe(0);
  });

  it("confirm tells what it means, and wants it said in a flag", PATIENT, async () => {
    const file = config(settings("confirmed"));
    const leader = await candidate(file, "db-1", `echo begun > "${cli.file("at-work")}"; exec sleep 1000`);
    await expect.poll(() => existsSync(cli.file("at-work")), { timeout: 60_000 }).toBe(true);
    const asked = await run("confirm", "db-1", "--config", file);
    expect(asked.code).toBe(2);
    expect(asked.stderr).toContain("You say that you have seen that db-1 is off");
    expect(asked.stderr).toContain("two act at once, and data may be destroyed");
    expect(asked.stderr).toContain("--i-have-seen-that-it-is-off");
    await leader.kill();
    const unheard = await run("confirm", "db-1", "--config", file, "--i-have-seen-that-it-is-off", "--wait", "2s");
    expect(unheard.code).toBe(3);
    expect(unheard.stderr).toContain("no leader has answered");
  });

  it("is not needed to fence: where nobody leads, fence campaigns itself", PATIENT, async () => {
    const file = config(settings("alone"));
    const { code, stdout, stderr } = await run("fence", "db-2", "--config", file, "--node", "db-3", FOR_TESTS);
    expect(stderr + stdout).toContain("db-2 is off: its device says so");
    expect(code).toBe(0);
    expect(readFileSync(power("db-2"), "utf8")).toContain("off");
  });

  it("refuses a store that may forget a ban", PATIENT, async () => {
    const args = ["run", "--config", config(settings("one-server")), "--node", "db-1", "--", "true"];
    const { code, stderr } = await run(...args);
    expect(code).toBe(3);
    expect(stderr).toContain("may forget a ban");
    expect(stderr).toContain(`In tests: ${FOR_TESTS}.`);
  });
});
