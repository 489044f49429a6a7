// One election of client-go's own candidates and ours, in both directions, and kubectl's view of it. `npm run test:newer -- client-go` brings client-go and kubectl; without them
// this file is no part of the tests. On the cluster of KUBECONFIG if that is set, else on the API server of this repository.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import * as server from "../../../scripts/servers/kubernetes.mjs";
import { nowMs, type Player, sleep } from "../../support/processes.ts";
import { useServers } from "../../support/servers.ts";
import { Contest } from "../../support/contest.ts";

const PROGRAM = process.env["CONCLAVE_GO_CANDIDATE"] ?? "";
const KUBECTL = process.env["CONCLAVE_KUBECTL"] ?? "kubectl";
/** Ours is no longer than LeaseDuration of the Go candidates. */
const TTL_MS = 4000;

const servers = useServers(server) as () => Awaited<ReturnType<typeof server.start>>;
const cluster = (): { readonly kubeconfig: string; readonly namespace: string; readonly url: string } => {
  const given = process.env["KUBECONFIG"];
  const [kubeconfig, namespace] =
    given === undefined ? [servers().kubeconfig, server.NAMESPACE] : [given, "conclave-tests"];
  return { kubeconfig, namespace, url: `kubernetes://${namespace}?kubeconfig=${encodeURIComponent(kubeconfig)}` };
};

interface Said {
  readonly event: "elected" | "stopped" | "leader";
  readonly who: string;
  readonly at: number;
}

class GoPlayer {
  readonly said: Said[] = [];
  readonly #child: ChildProcess;

  constructor(name: string, identity: string) {
    const { kubeconfig, namespace } = cluster();
    const where = ["--kubeconfig", kubeconfig, "--namespace", namespace, "--name", name, "--identity", identity];
    this.#child = spawn(PROGRAM, where, { stdio: ["ignore", "pipe", "inherit"] });
    createInterface({ input: this.#child.stdout! }).on("line", (line) =>
      this.said.push({ ...(JSON.parse(line) as Said), at: nowMs() }),
    );
  }

  async says(event: Said["event"], fromMs = 0): Promise<Said> {
    const until = nowMs() + 30_000;
    while (nowMs() < until) {
      const found = this.said.find((each) => each.event === event && each.at >= fromMs);
      if (found !== undefined) return found;
      await sleep(10);
    }
    throw new Error(`the Go candidate never said ${event}: ${JSON.stringify(this.said)}`);
  }

  end(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}

let contest: Contest;
let players: GoPlayer[] = [];
let names = 0;
beforeEach(() => {
  contest = new Contest();
  players = [];
});
afterEach(async () => {
  for (const player of players) player.end("SIGKILL");
  await contest.end();
});

const freshName = (): string => `go-${process.pid}-${++names}`;

async function ours(name: string): Promise<Player> {
  return await contest.join({ store: cluster().url, name, id: `ours-${names}`, ttlMs: TTL_MS });
}

function theirs(name: string): GoPlayer {
  const player = new GoPlayer(name, `go-${players.length + 1}`);
  players.push(player);
  return player;
}

function kubectl(...args: readonly string[]): string {
  const { kubeconfig, namespace } = cluster();
  const { stdout, stderr, status } = spawnSync(KUBECTL, [`--kubeconfig=${kubeconfig}`, "-n", namespace, ...args], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

describe("client-go and ours in one election", { timeout: 90_000 }, () => {
  it("ours leads and theirs waits; ours resigns and theirs leads", async () => {
    const name = freshName();
    const our = await ours(name);
    await our.hears("elected");
    const their = theirs(name);
    expect((await their.says("leader")).who).toMatch(/^ours-/);
    expect(kubectl("get", "lease", name)).toMatch(/^NAME +HOLDER +AGE\n\S+ +ours-/);
    await sleep(2 * TTL_MS); // it sees our renewals, and does not take over
    expect(their.said.map(({ event }) => event)).toEqual(["leader"]);
    const from = nowMs();
    our.tell("resign");
    const { at } = await their.says("elected", from);
    expect((await our.hears("resigned", from)).at).toBeLessThanOrEqual(at);
  });

  it("theirs leads and ours waits; theirs exits, and ours leads before the lease is over", async () => {
    const name = freshName();
    const their = theirs(name);
    await their.says("elected");
    const our = await ours(name);
    await our.hears("leader");
    await sleep(2 * TTL_MS);
    expect(our.leads).toBe(false);
    const from = nowMs();
    their.end("SIGTERM");
    const { at } = await our.hears("elected", from);
    expect((await their.says("stopped", from)).at).toBeLessThanOrEqual(at + 500);
    expect(at - from).toBeLessThan(TTL_MS);
  });

  it("theirs is killed, and ours leads when its lease is over", async () => {
    const name = freshName();
    const their = theirs(name);
    await their.says("elected");
    const our = await ours(name);
    await our.hears("leader");
    await sleep(1000);
    const from = nowMs();
    their.end("SIGKILL");
    // It renews every half second: its last renewal was no earlier than that, but for a busy machine.
    expect((await our.hears("elected", from, 30_000)).at - from).toBeGreaterThan(TTL_MS / 2);
  });

  it("ours is killed, and theirs leads when its ttl is over", async () => {
    const name = freshName();
    const our = await ours(name);
    await our.hears("elected");
    const their = theirs(name);
    await their.says("leader");
    await sleep(2000);
    const from = nowMs();
    await our.kill();
    expect((await their.says("elected", from)).at - from).toBeGreaterThan(TTL_MS / 3);
  });

  it("ours is stopped, and has lost its term before theirs leads", async () => {
    const name = freshName();
    const our = await ours(name);
    await our.hears("elected");
    const their = theirs(name);
    await their.says("leader");
    await sleep(2000);
    const from = nowMs();
    our.signal("SIGSTOP");
    const { at } = await their.says("elected", from);
    our.signal("SIGCONT");
    await our.hears("lost", from);
    expect(contest.verdict()).toMatchObject({ overlaps: [], unread: [] });
    expect(at - from).toBeGreaterThan(TTL_MS / 3);
  });
});
