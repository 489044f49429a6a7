// What the tests on etcd share: URLs, who leads etcd, and a contest of real processes that is judged from outside.
import { readFileSync } from "node:fs";
import { ROOT } from "../../../scripts/servers/etcd.mjs";
import { judgeLog, type LogVerdict } from "conclave/testing";
import type { ServerNode, Servers } from "../../support/servers.ts";
import { type CandidateOptions, nowMs, type Player, sleep, Stage } from "../../support/processes.ts";

/** The URL of these members, or of all. */
export function urlOf({ urls, user }: Servers, ...only: readonly string[]): string {
  const who = user === undefined ? "" : `${user.name}:${user.password}@`;
  return `etcd://${who}${(only.length > 0 ? only : urls).map((url) => new URL(url).host).join(",")}`;
}

/** etcd's API as JSON; as root, where it asks who we are. */
export async function ask(url: string, path: string, body: object = {}): Promise<Record<string, unknown>> {
  const answer = await post(url, path, body);
  if (!/user name is empty/.test(JSON.stringify(answer))) return answer;
  const { token } = await post(url, "/v3/auth/authenticate", ROOT);
  return await post(url, path, body, { authorization: String(token) });
}

async function post(
  url: string,
  path: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const answer = await fetch(`${url}${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(1000),
  });
  return (await answer.json()) as Record<string, unknown>;
}

/** The lease behind the entry that was made at revision `token` below `prefix`, as a decimal. */
export async function leaseOf(url: string, prefix: string, token: string): Promise<string> {
  const key = Buffer.from(prefix);
  const end = Buffer.from(`${prefix.slice(0, -1)}0`); // after / comes 0
  const range = { key: key.toString("base64"), range_end: end.toString("base64") };
  const { kvs = [] } = (await ask(url, "/v3/kv/range", range)) as {
    kvs?: { create_revision: string; lease: string }[];
  };
  return kvs.find(({ create_revision: revision }) => revision === token)?.lease ?? "0";
}

/** Whole seconds that are left to that lease. */
export async function ttlSecondsOf(url: string, prefix: string, token: string): Promise<number> {
  const ID = await leaseOf(url, prefix, token);
  const { TTL } = await ask(url, "/v3/lease/timetolive", { ID });
  return Number(TTL ?? 0);
}

/** The member that leads etcd, by its own word and that of a majority. */
export async function leaderOf(servers: Servers): Promise<ServerNode> {
  for (;;) {
    const votes = await Promise.all(
      servers.nodes.map(async (node) => {
        const { header, leader } = (await ask(node.url, "/v3/maintenance/status").catch(() => ({}))) as {
          header?: { member_id?: string };
          leader?: string;
        };
        return { node, id: header?.member_id, leader };
      }),
    );
    const found = votes.find(
      ({ id }) => id !== undefined && votes.filter(({ leader }) => leader === id).length > votes.length / 2,
    );
    if (found !== undefined) return found.node;
    await sleep(50);
  }
}

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
