// `conclave schedule reset` and `conclave list --schedules`, on a file.
import { elect, openStore } from "conclave";
import { schedule } from "conclave/schedule";
import { afterAll, expect, it } from "vitest";
import { CommandLine } from "./command.ts";

const cli = new CommandLine();
afterAll(() => cli.end());
const PATIENT = { timeout: 60_000 };

it(
  "schedules are listed with their last slot; a mark is set anew by one that leads, and not while another does",
  PATIENT,
  async () => {
    const url = `sqlite:${cli.file("schedules.db")}`;
    expect(await cli.run(["list", "--schedules", "--store", url])).toMatchObject({ code: 1, stdout: "no schedules\n" });
    const store = await openStore(url);
    const election = elect("jobs", { store, unfenced: true });
    let runs = 0;
    schedule(election, { everyMs: 200 }, async () => void runs++, { key: "poll" });
    await expect.poll(() => runs, { timeout: 20_000 }).toBeGreaterThan(1);
    const refused = await cli.run(["schedule", "reset", "jobs", "poll", "--store", url, "--wait", "300ms"]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('leads "jobs", and only a leader can write the mark');
    await election.close();
    await store.close();
    const listed = await cli.run(["list", "--schedules", "--store", url]);
    expect(listed.stdout).toMatch(/^"jobs" poll: \S+Z (?:done|initial), at \S+Z with token 1, next \S+Z\n$/);
    const reset = await cli.run(["schedule", "reset", "jobs", "poll", "--to", "2020-01-01T00:00:00Z", "--store", url]);
    expect(reset).toMatchObject({
      code: 0,
      stdout: '"jobs" poll: slots up to 2020-01-01T00:00:00.000Z count as done\n',
    });
    const { schedules } = JSON.parse((await cli.run(["list", "--schedules", "--json", "--store", url])).stdout) as {
      schedules: readonly object[];
    };
    expect(schedules).toMatchObject([
      { election: "jobs", key: "poll", slot: "2020-01-01T00:00:00.000Z", state: "initial", next: null },
    ]);
  },
);

it("what is not understood is refused", PATIENT, async () => {
  expect((await cli.run(["schedule", "reset", "jobs"])).code).toBe(2);
  expect((await cli.run(["schedule", "reset", "jobs", "poll", "--to", "soon"])).stderr).toContain("--to soon");
});
