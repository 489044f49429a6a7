// `conclave transfer` as a process, with candidates of this process and of `conclave run`, on stores that pass invitations on and on one that has a queue.
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { type Candidate, createCandidate, openStore, type Term } from "conclave";
import { postgresSchema } from "conclave/stores/postgres";
import * as etcdServer from "../../scripts/servers/etcd.mjs";
import * as kubernetesServer from "../../scripts/servers/kubernetes.mjs";
import * as postgresServer from "../../scripts/servers/postgres.mjs";
import { newDatabase } from "../stores/postgres/stage.ts";
import { urlOf } from "../stores/etcd/etcd.ts";
import { useServers } from "../support/servers.ts";
import { CommandLine } from "./command.ts";

const PATIENT = { timeout: 120_000 };
const SOON = { timeout: 60_000 };
const cli = new CommandLine();
const open: Candidate[] = [];
afterAll(() => cli.end());
afterEach(() => Promise.all(open.splice(0).map((candidate) => candidate.close())));
const members = useServers(etcdServer);
const databases = useServers(postgresServer);
const clusters = useServers(kubernetesServer);

async function candidateAt(url: string, id: string): Promise<Candidate> {
  const candidate = createCandidate({ store: (await openStore(url)) as never, id, ttlMs: 60_000 }) as Candidate;
  open.push(candidate);
  return candidate;
}

/** Leads again and again until it is closed; its work ends when it is told to. Resolves when it leads, or waits behind another. */
async function stand(candidate: Candidate): Promise<() => Term | undefined> {
  let term: Term | undefined;
  const isPlaced = new Promise<void>((resolve) =>
    candidate.subscribe(({ type }) => (type === "waiting" || type === "elected" ? resolve() : undefined)),
  );
  void candidate.election("x").lead(async (held) => {
    term = held;
    await new Promise<void>((resolve) => held.signal.addEventListener("abort", () => resolve()));
  });
  await isPlaced;
  return () => term;
}

const json = (text: string): { [key: string]: unknown } => JSON.parse(text) as { [key: string]: unknown };

const STORES: readonly (readonly [name: string, url: () => Promise<string>])[] = [
  ["sqlite", () => Promise.resolve(`sqlite:${cli.file("transfer.db")}`)],
  ["postgres", () => newDatabase(databases().urls[0] ?? "", postgresSchema())],
  ["kubernetes", () => Promise.resolve(clusters().urls[0] ?? "")],
];

describe.each(STORES)("%s", (_name, url) => {
  it(
    "hands over to the one that is named, of three; for one that is not there nothing is given up",
    PATIENT,
    async () => {
      const store = await url();
      const line = (to: string, ...more: string[]): string[] => [
        "transfer",
        "x",
        "--store",
        store,
        "--to",
        to,
        ...more,
      ];
      expect(await cli.run(line("c", "--json"))).toMatchObject({ code: 1 });
      const [a, b, c] = [await candidateAt(store, "a"), await candidateAt(store, "b"), await candidateAt(store, "c")];
      const first = await stand(a);
      await stand(b);
      await stand(c);
      const absent = await cli.run(line("d", "--timeout", "2s", "--json"));
      expect([absent.code, json(absent.stdout)["outcome"]]).toEqual([1, "stays"]);
      expect(first()?.isLeading()).toBe(true);
      const token = first()?.token.value ?? 0n;
      const done = await cli.run(line("c", "--json"));
      expect([done.code, json(done.stdout)]).toMatchObject([
        0,
        { election: "x", to: "c", outcome: "transferred", leader: { id: c.id } },
      ]);
      expect(first()?.state()).toBe("lost");
      expect(await cli.run(line("c"))).toMatchObject({ code: 0, stdout: expect.stringContaining("already") });
      const old = await cli.run(line("b", "--token", `${token}`, "--json"));
      expect([old.code, json(old.stdout)["outcome"]]).toEqual([1, "not-that-term"]);
      const back = await cli.run(line(a.id));
      expect(back).toMatchObject({ code: 0, stdout: expect.stringContaining("was handed over") });
      expect((first()?.token.value ?? 0n) > token).toBe(true);
    },
  );

  it("the leader itself hands over to the one that it names", PATIENT, async () => {
    const store = await url();
    const [a, b, c] = [await candidateAt(store, "a"), await candidateAt(store, "b"), await candidateAt(store, "c")];
    const first = await stand(a);
    await expect.poll(() => first()?.isLeading(), SOON).toBe(true);
    await stand(b);
    const third = await stand(c);
    expect(await first()?.transfer("c")).toEqual({ accepted: true });
    await expect.poll(() => third()?.isLeading(), SOON).toBe(true);
    expect((third()?.token.value ?? 0n) > (first()?.token.value ?? 0n)).toBe(true);
  });
});

it(
  "conclave run with a priority leads when it comes, its command is started and that of the other ended",
  PATIENT,
  async () => {
    const store = `sqlite:${cli.file("priority.db")}`;
    const script =
      "process.on('SIGTERM', () => process.exit(0)); console.log('runs', process.env.CONCLAVE_TOKEN); setInterval(() => {}, 1000)";
    const options = ["--store", store, "--ttl", "2s"];
    const line = (...more: string[]): string[] => [
      "run",
      "job",
      ...options,
      ...more,
      "--",
      process.execPath,
      "-e",
      script,
    ];
    const usual = await cli.start(line("--id", "usual", "--restart"));
    await expect.poll(() => usual.stdout, SOON).toContain("runs 1\n");
    const preferred = await cli.start(line("--id", "preferred", "--priority", "1"));
    await expect.poll(() => preferred.stdout, SOON).toContain("runs ");
    await expect.poll(() => usual.stderr, SOON).toContain('reason="outranked"');
    await preferred.kill();
    await usual.kill();
  },
);

describe("etcd, which has a queue", () => {
  it("the leader hands over to the next of the queue, and to no other", PATIENT, async () => {
    const store = urlOf(members());
    const [a, b, c] = [await candidateAt(store, "a"), await candidateAt(store, "b"), await candidateAt(store, "c")];
    const first = await stand(a);
    const second = await stand(b);
    await stand(c);
    const refused = await first()?.transfer("c");
    expect(refused).toMatchObject({ accepted: false, why: expect.stringMatching(/"b_.*" is next in it/) });
    expect(first()?.isLeading()).toBe(true);
    expect(await first()?.transfer("b")).toEqual({ accepted: true });
    await expect.poll(() => second()?.isLeading(), SOON).toBe(true);
  });

  it("nobody else can choose", PATIENT, async () => {
    const { code, stderr } = await cli.run(["transfer", "x", "--to", "b", "--store", urlOf(members())]);
    expect(code).toBe(3);
    expect(stderr).toMatch(/STORE_UNSUPPORTED: .*its queue says who leads next.*term\.transfer/);
  });
});

it("what is not understood", PATIENT, async () => {
  expect((await cli.run(["transfer", "x"])).code).toBe(2);
  expect((await cli.run(["transfer", "--to", "b"])).code).toBe(2);
  expect((await cli.run(["transfer", "x", "--to", "b", "--token", "first"])).code).toBe(2);
  const none = await cli.run(["transfer", "x", "--to", "b", "--store", `sqlite:${cli.file("none.db")}`]);
  expect({ code: none.code, stdout: none.stdout }).toEqual({ code: 1, stdout: `nobody leads "x"\n` });
});
