// What the tests on etcd share: URLs, requests of its API, and who leads etcd.
import { ROOT } from "../../../scripts/servers/etcd.mjs";
import type { ServerNode, Servers } from "../../support/servers.ts";
import { sleep } from "../../support/processes.ts";

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
