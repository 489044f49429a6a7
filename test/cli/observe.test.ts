// `conclave observe` as a process, on a store that somebody else holds: what it prints, and how it ends.
import { writeFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { createCandidate } from "conclave";
import { sqlite } from "conclave/stores/sqlite";
import { CommandLine } from "./command.ts";

const cli = new CommandLine();
afterAll(() => cli.end());

let files = 0;
const newFile = (): string => cli.file(`${++files}.db`);
const json = (text: string): unknown => JSON.parse(text);

describe("conclave observe", () => {
  it("prints each change until SIGTERM, then exits 0", async () => {
    const file = newFile();
    const observer = await cli.start(["observe", "x", "--json", "--store", `sqlite:${file}`]);
    await observer.lines(1);
    const candidate = createCandidate({ store: sqlite(file), id: "web-1", ttlMs: 10_000 });
    const term = await candidate.election("x").campaign();
    await observer.lines(2);
    await term.resign();
    const lines = (await observer.lines(3)).map((line) => json(line));
    await candidate.close();
    expect(lines).toMatchObject([
      { election: "x", leader: null },
      { election: "x", leader: { id: term.candidate, token: "1", value: null } },
      { election: "x", leader: null },
    ]);
    observer.signal("SIGTERM");
    expect(await observer.ended).toMatchObject({ code: 0 });
  });

  it("tells it in words, and ends when nobody reads any more", async () => {
    const file = newFile();
    const observer = await cli.start(["observe", "x", "--store", `sqlite:${file}`]);
    expect(await observer.lines(1)).toEqual([expect.stringMatching(/^\d{4}-\S+Z {2}nobody leads "x"$/)]);
    observer.closeStdout();
    const candidate = createCandidate({ store: sqlite(file), id: "web-1", ttlMs: 10_000 });
    const term = await candidate.election("x").campaign();
    expect(await observer.ended).toMatchObject({ code: 0 });
    await term.resign();
    await candidate.close();
  });

  it("exits 3 where the store cannot be read", async () => {
    const file = newFile();
    writeFileSync(file, "not a database. ".repeat(200));
    expect(await cli.run(["observe", "x", "--store", `sqlite:${file}`])).toMatchObject({
      code: 3,
      stdout: "",
      stderr: expect.stringContaining("STORE_FOREIGN_DATA"),
    });
  });

  it("ends with 130 on SIGINT and with 0 on SIGTERM", { timeout: 60_000 }, async () => {
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
});
