// `conclave resign` as a process, with leaders of this process and of `conclave run`, on stores that keep requests and on one that does not.
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { type Candidate, createCandidate, type ConclaveEvent, openStore, type Term } from "conclave";
import { postgresSchema } from "conclave/stores/postgres";
import * as etcdServer from "../../scripts/servers/etcd.mjs";
import * as postgresServer from "../../scripts/servers/postgres.mjs";
import { newDatabase } from "../stores/postgres/stage.ts";
import { urlOf } from "../stores/etcd/etcd.ts";
import { useServers } from "../support/servers.ts";
import { CommandLine } from "./command.ts";

const PATIENT = { timeout: 60_000 };
const cli = new CommandLine();
const open: Candidate[] = [];
afterAll(() => cli.end());
afterEach(() => Promise.all(open.splice(0).map((candidate) => candidate.close())));
const members = useServers(etcdServer);
const databases = useServers(postgresServer);

async function candidateAt(url: string, id: string): Promise<Candidate> {
  const candidate = createCandidate({ store: (await openStore(url)) as never, id, ttlMs: 60_000 }) as Candidate;
  open.push(candidate);
  return candidate;
}

/** Leads again and again; its work ends when it is told to. */
function leadOn(candidate: Candidate, events: ConclaveEvent[] = []): AbortController {
  const stop = new AbortController();
  candidate.subscribe((event) => events.push(event));
  const work = (term: Term): Promise<void> =>
    new Promise((resolve) => term.signal.addEventListener("abort", () => resolve()));
  void candidate.election("x").lead(work, { signal: stop.signal });
  return stop;
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 10));
}

const json = (text: string): { [key: string]: unknown } => JSON.parse(text) as { [key: string]: unknown };

const STORES: readonly (readonly [name: string, url: () => Promise<string>])[] = [
  ["sqlite", () => Promise.resolve(`sqlite:${cli.file("resign.db")}`)],
  ["postgres", () => newDatabase(databases().urls[0] ?? "", postgresSchema())],
];

describe.each(STORES)("%s", (_name, url) => {
  it(
    "nobody leads; then a leader hands over to the one that waits; its old token asks for nothing more",
    PATIENT,
    async () => {
      const store = await url();
      expect(await cli.run(["resign", "x", "--store", store, "--json"])).toMatchObject({ code: 1 });
      const [one, two] = [await candidateAt(store, "one"), await candidateAt(store, "two")];
      const events: ConclaveEvent[] = [];
      const stop = [leadOn(one, events)];
      await until(async () => one.election("x").isLeading());
      stop.push(leadOn(two));
      const first = await cli.run(["resign", "x", "--store", store, "--json"]);
      expect(first.code).toBe(0);
      expect(json(first.stdout)).toMatchObject({
        election: "x",
        outcome: "handed-over",
        asked: { id: one.id, token: "1" },
        leader: { id: two.id, token: "2" },
      });
      expect(events).toContainEqual({ type: "state", election: "x", state: "ending", reason: "asked" });
      // The same request once more, as a script would send it that heard nothing: it ends no other term.
      const again = await cli.run(["resign", "x", "--store", store, "--token", "1"]);
      expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("leads no longer") });
      const future = await cli.run(["resign", "x", "--store", store, "--token", "7", "--json"]);
      expect([future.code, json(future.stdout)["outcome"]]).toEqual([1, "no-such-token"]);
      expect(two.election("x").isLeading()).toBe(true);
      for (const controller of stop) controller.abort();
    },
  );

  it("says that work which does not end is still led, and lets it be", PATIENT, async () => {
    const store = await url();
    const candidate = await candidateAt(store, "busy");
    let finish = (): void => {};
    const work = new Promise<void>((resolve) => (finish = resolve));
    const stop = new AbortController();
    let isHeld = (): boolean => false;
    const led = candidate.election("busy").lead(
      async (term) => {
        isHeld = () => term.isHeld();
        await work;
      },
      { signal: stop.signal },
    );
    await until(async () => isHeld());
    const still = await cli.run(["resign", "busy", "--store", store, "--timeout", "500ms", "--json"]);
    expect([still.code, json(still.stdout)["outcome"]]).toEqual([1, "still-leads"]);
    expect(isHeld()).toBe(true);
    finish();
    stop.abort();
    await led;
  });
});

it("conclave run ends its command, and stands again", PATIENT, async () => {
  const store = `sqlite:${cli.file("run.db")}`;
  const script =
    "process.on('SIGTERM', () => process.exit(0)); console.log('runs', process.env.CONCLAVE_TOKEN); setInterval(() => {}, 1000)";
  const line = ["run", "job", "--store", store, "--ttl", "30s", "--", process.execPath, "-e", script];
  const running = await cli.start(line);
  await until(async () => running.stdout.includes("runs 1\n"));
  const asked = await cli.run(["resign", "job", "--store", store]);
  expect(asked).toMatchObject({ code: 0, stdout: expect.stringContaining(`has handed over "job" (token 1)`) });
  await until(async () => running.stdout.includes("runs 2\n"));
  expect(running.stderr).toContain('reason="asked"');
  await running.kill();
});

describe("what cannot be asked", () => {
  it("etcd: its entries are Go's", PATIENT, async () => {
    const { code, stderr } = await cli.run(["resign", "x", "--store", urlOf(members())]);
    expect(code).toBe(3);
    expect(stderr).toMatch(/STORE_UNSUPPORTED: .*Go's candidates.*SIGTERM/);
  });

  it("what is not understood", PATIENT, async () => {
    expect((await cli.run(["resign"])).code).toBe(2);
    expect((await cli.run(["resign", "x", "--token", "first"])).code).toBe(2);
    expect((await cli.run(["resign", "x", "--timeout", "30"])).code).toBe(2);
  });

  it("no file is made where there is none", PATIENT, async () => {
    const { code, stdout } = await cli.run(["resign", "x", "--store", `sqlite:${cli.file("none.db")}`]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: `nobody leads "x"\n` });
  });
});
