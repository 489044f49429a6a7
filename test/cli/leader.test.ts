// `conclave leader` as a process, on a store that other processes hold: what it says, on which stream, and its exit codes.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { createCandidate } from "conclave";
import { sqlite } from "conclave/stores/sqlite";
import { Database } from "../stores/sqlite/by-hand.ts";
import { Stage } from "../support/processes.ts";
import { CommandLine } from "./command.ts";

const cli = new CommandLine();
const stage = new Stage();
afterAll(async () => {
  await stage.end();
  await cli.end();
});

let files = 0;
const newFile = (): string => cli.file(`${++files}.db`);
const json = (text: string): unknown => JSON.parse(text);

describe("conclave leader", () => {
  it("says who leads, with its token as decimal text, and exits 0", async () => {
    const file = newFile();
    const candidate = createCandidate({ store: sqlite(file), id: "web-1", ttlMs: 10_000 });
    const term = await candidate.election("billing").campaign();
    await term.announce("10.0.0.7:80");
    const shown = await cli.run(["leader", "billing", "--json", "--store", `sqlite:${file}`]);
    expect(json(shown.stdout)).toEqual({
      election: "billing",
      leader: { id: term.candidate, token: "1", value: "10.0.0.7:80" },
    });
    expect(shown).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`store sqlite:${file} — this host only\n`),
    });
    const told = await cli.run(["leader", "billing"], { CONCLAVE_STORE: `sqlite:${file}` });
    expect(told).toMatchObject({
      code: 0,
      stdout: `${term.candidate} leads "billing" with token 1 and announces "10.0.0.7:80"\n`,
    });
    await term.resign();
    await candidate.close();
    const after = await cli.run(["leader", "billing", "--json", "--store", `sqlite:${file}`]);
    expect(json(after.stdout)).toEqual({ election: "billing", leader: null });
    expect(after.code).toBe(1);
  });

  it("says nobody, exits 1 and makes no file where there is none", async () => {
    const file = newFile();
    const { code, stdout, stderr } = await cli.run(["leader", "x", "--store", `sqlite:${file}`]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: `nobody leads "x"\n` });
    expect(stderr).toContain(`there is no file ${file} yet`);
    expect(existsSync(file)).toBe(false);
  });

  it("names nobody once the leader is killed, or stopped past its ttl, although no rival has come", async () => {
    const killed = await stage.start({ path: stage.file("killed.db"), id: "killed", ttlMs: 600_000 });
    const stopped = await stage.start({ path: stage.file("stopped.db"), id: "stopped", ttlMs: 500 });
    await Promise.all([killed.hears("elected"), stopped.hears("elected")]);
    const ask = (name: string): Promise<{ code: number | null }> =>
      cli.run(["leader", "x", "--store", `sqlite:${stage.file(name)}`]);
    expect(await ask("killed.db")).toMatchObject({ code: 0 });
    await killed.kill();
    stopped.signal("SIGSTOP");
    expect(await ask("killed.db")).toMatchObject({ code: 1 });
    await expect.poll(async () => (await ask("stopped.db")).code, { timeout: 10_000 }).toBe(1);
  });

  it("takes the default file in the state directory, and says so", async () => {
    const state = cli.file("state");
    const { code, stderr } = await cli.run(["leader", "x"], { XDG_STATE_HOME: state });
    expect(stderr).toContain(`store sqlite:${state}/conclave/conclave.db — this host only`);
    expect(code).toBe(1);
  });

  it("warns inside Kubernetes", async () => {
    const { stderr } = await cli.run(["leader", "x", "--store", "sqlite:k.db"], {
      KUBERNETES_SERVICE_HOST: "10.0.0.1",
    });
    expect(stderr).toMatch(/warning: inside Kubernetes every pod has its own file: each elects itself/);
  });

  it.each([
    [["leader"], /NAME is missing/],
    [["leader", "a", "b"], /one NAME at a time: a b/],
    [["leader", "x", "--sore", "y"], /there is no flag --sore. Did you mean --store\?/],
    [["leader", "x", "--store"], /--store is without its value: --store VALUE/],
    [["leader", "x", "--store", "banana://u:secret@h"], /--store: banana: is not the scheme of a store/],
    [["leader", "x", "--store", "nats://u:secret@h"], /no driver for nats/],
    [["leader", "\u0001", "--store", "memory:"], /is not a name for an election/],
    [["lead"], /there is no command "lead"/],
    [[], /usage: conclave COMMAND/],
  ])("exits 2 for %j, with nothing on stdout and no password", async (args, said) => {
    const { code, stdout, stderr } = await cli.run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(said);
    expect(stderr).not.toContain("secret");
  });

  it("names the environment where the URL came from there", async () => {
    const { code, stderr } = await cli.run(["leader", "x"], { CONCLAVE_STORE: "banana://h" });
    expect(code).toBe(2);
    expect(stderr).toMatch(/CONCLAVE_STORE: banana: is not the scheme of a store/);
  });

  it("exits 3 with the code of the error where the file is no store: not a database, a damaged one, a folder", async () => {
    const letter = newFile();
    writeFileSync(letter, "a letter to my aunt, and not a database at all. ".repeat(50));
    const damaged = newFile();
    const candidate = createCandidate({ store: sqlite(damaged), id: "web-1", ttlMs: 10_000 });
    await (await candidate.election("x").campaign()).resign();
    await candidate.close();
    const byHand = new Database(damaged);
    byHand.exec("PRAGMA wal_checkpoint(TRUNCATE)"); // all of it is in the one file then
    byHand.close();
    const bytes = readFileSync(damaged);
    writeFileSync(damaged, bytes.fill(0xa5, 100));
    const folder = newFile();
    mkdirSync(folder);
    for (const [file, said] of [
      [letter, /conclave leader: STORE_FOREIGN_DATA: sqlite: .* is not a SQLite database/],
      [damaged, /conclave leader: STORE_FOREIGN_DATA: sqlite: .* is damaged/],
      [folder, /conclave leader: STORE_UNREACHABLE: sqlite: .* is a folder. Give the path of a file.*conclave\.db/],
    ] as const)
      expect(await cli.run(["leader", "x", "--json", "--store", `sqlite:${file}`])).toMatchObject({
        code: 3,
        stdout: "",
        stderr: expect.stringMatching(said),
      });
    expect(readFileSync(damaged)).toEqual(bytes);
  });

  it("exits 3 and names both users where the file may not be read", async () => {
    const file = newFile();
    await createCandidate({ store: sqlite(file), ttlMs: 10_000 })
      .election("x")
      .leader();
    for (const suffix of ["", "-wal", "-shm"]) if (existsSync(file + suffix)) chmodSync(file + suffix, 0o000);
    // The superuser may read anything; so ask as nobody.
    chmodSync(cli.folder, 0o755);
    const uid = process.geteuid?.() === 0 ? 65_534 : undefined;
    const { code, stderr } = await cli.run(["leader", "x", "--store", `sqlite:${file}`], {}, uid);
    expect(code).toBe(3);
    expect(stderr).toMatch(/STORE_DENIED: .*uid \d+/);
  });
});
