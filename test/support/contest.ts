// A contest of real processes for one name, judged from outside; and a stage for one, on which three servers and three candidates stand on hosts of their own.
import { readFileSync } from "node:fs";
import { judgeLog, type LogVerdict } from "conclave/testing";
import { afterAll, afterEach, beforeAll } from "vitest";
import { type Network, openNetwork } from "../../scripts/servers/network.mjs";
import type { ServerNode, Servers } from "./servers.ts";
import { type CandidateOptions, nowMs, type Player, sleep, Stage } from "./processes.ts";

/** Candidates as processes for one name, and everything they did. */
export class Contest {
  readonly #stage = new Stage();
  readonly #log: string = this.#stage.file("log");
  readonly players: Player[] = [];

  async join(options: Omit<CandidateOptions, "log">): Promise<Player> {
    const player = await this.#stage.start({ ...options, log: this.#log });
    this.players.push(player);
    return player;
  }

  /** The candidate that says that it was elected at `fromMs` or later. */
  async elected(fromMs: number, withinMs = 30_000): Promise<Player> {
    const until = nowMs() + withinMs;
    while (nowMs() < until) {
      const found = this.players.find(({ heard }) =>
        heard.some(({ event, at }) => event === "elected" && at >= fromMs),
      );
      if (found !== undefined) return found;
      await sleep(20);
    }
    const last = this.players.map(({ id, heard }) => `${id}: ${JSON.stringify(heard.slice(-3))}`).join("\n");
    throw new Error(`nobody was elected within ${withinMs} ms\n${last}`);
  }

  /** The candidate that acted within the last moments. */
  async leader(withinMs = 30_000): Promise<Player> {
    const until = nowMs() + withinMs;
    while (nowMs() < until) {
      const last = this.#lines().at(-1)?.split(" ");
      const player = this.players.find(({ id }) => id === last?.[1]?.split("/")[0]); // ID/PROCESS
      if (player !== undefined && nowMs() - Number(last?.[0]) < 100) return player;
      await sleep(20);
    }
    throw new Error(`nobody led for ${withinMs} ms`);
  }

  #lines(): readonly string[] {
    try {
      return readFileSync(this.#log, "utf8").trimEnd().split("\n");
    } catch {
      return [];
    }
  }

  verdict(): LogVerdict {
    return judgeLog(readFileSync(this.#log, "utf8"));
  }

  async end(): Promise<void> {
    await this.#stage.end();
  }
}

type Host = Network["hosts"][number];

interface Place {
  readonly host: string;
  readonly prefix: readonly string[];
}

interface EnsembleModule {
  start(options: { readonly nodes: number; readonly place: (index: number) => Place }): Promise<Servers>;
}

interface Settings {
  readonly ttlMs: number;
  readonly drainMs: number;
}

/** What runs, and where. */
interface Arena {
  /** One for each URL. */
  readonly contests: readonly Contest[];
  readonly servers: () => Servers;
  /** The host that a server or a candidate runs on. */
  readonly placeOf: (of: ServerNode | Player) => Host;
  /** A candidate of this contest on that host. */
  readonly join: (contest: Contest, id: string, host: Host) => Promise<Player>;
}

/** The same with one contest. */
export interface Ensemble extends Omit<Arena, "contests" | "join"> {
  readonly contest: Contest;
  readonly join: (id: string, host: Host) => Promise<Player>;
}

/** Three servers and three candidates for the tests of this file, each on a host of its own. After each test the network is whole again, and somebody leads. */
export function useEnsemble(module: EnsembleModule, urlOf: (servers: Servers) => string, settings: Settings): Ensemble {
  const { contests, join, ...arena } = useContests(module, [urlOf], settings);
  const [contest] = contests as [Contest];
  return { ...arena, contest, join: (id, host) => join(contest, id, host) };
}

/** Several contests on three servers, each with three candidates: a fault of the servers is tried on all of them at once. Every server and every candidate has a host of its own. */
export function useContests(
  module: EnsembleModule,
  urls: readonly ((servers: Servers) => string)[],
  { ttlMs, drainMs }: Settings,
): Arena {
  const contests = urls.map(() => new Contest());
  const places = new Map<Player, Host>();
  let network: Network | undefined;
  let running: Servers | undefined;
  const hostAt = (index: number): Host => {
    const host = network?.hosts[index];
    if (host === undefined) throw new Error("no such host");
    return host;
  };
  const servers = (): Servers => {
    if (running === undefined) throw new Error("the servers are not started yet");
    return running;
  };
  const join: Arena["join"] = async (contest, id, host) => {
    const store = urls[contests.indexOf(contest)]?.(servers()) ?? "";
    const player = await contest.join({ store, id, ttlMs, drainMs, under: host.prefix });
    places.set(player, host);
    return player;
  };
  beforeAll(async () => {
    network = openNetwork(3 + 3 * contests.length);
    const place = (index: number): Place => ({ host: hostAt(index).address, prefix: hostAt(index).prefix });
    running = await module.start({ nodes: 3, place });
    for (const [number, contest] of contests.entries())
      for (const index of [3, 4, 5]) await join(contest, `c${index}`, hostAt(index + 3 * number));
  }, 90_000);
  afterAll(async () => {
    await Promise.all(contests.map((contest) => contest.end()));
    await running?.stop();
    network?.stop();
  }, 60_000);
  afterEach(async () => {
    for (const host of network?.hosts ?? []) host.heal();
    await Promise.all(contests.map((contest) => contest.leader()));
  });
  const placeOf: Arena["placeOf"] = (of) =>
    "url" in of ? hostAt(servers().nodes.findIndex(({ url }) => url === of.url)) : (places.get(of) ?? hostAt(-1));
  return { contests, servers, placeOf, join };
}
