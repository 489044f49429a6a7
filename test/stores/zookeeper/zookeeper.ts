// What the tests on ZooKeeper share: URLs, and who leads the ensemble.
import { ask } from "../../../scripts/servers/zookeeper.mjs";
import { sleep } from "../../support/processes.ts";
import type { ServerNode, Servers } from "../../support/servers.ts";

/** The URL of these servers, or of all; below a chroot, and with more settings. */
export function urlOf({ urls }: Servers, { only = urls, chroot = "", more = "" }: Where = {}): string {
  const query = new URL(urls[0] ?? "").search;
  return `zookeeper://${only.map((url) => new URL(url).host).join(",")}${chroot}${query}${more}`;
}

interface Where {
  readonly only?: readonly string[];
  readonly chroot?: string;
  readonly more?: string;
}

export async function wordOf(url: string, word: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return await ask(hostname, Number(port), word);
}

/** The server that leads the ensemble, by its own word. */
export async function leaderOf(servers: Servers): Promise<ServerNode> {
  for (;;) {
    const modes = await Promise.all(servers.nodes.map(({ url }) => wordOf(url, "srvr").catch(() => "")));
    const leader = servers.nodes[modes.findIndex((mode) => /^Mode: (leader|standalone)$/m.test(mode))];
    if (leader !== undefined) return leader;
    await sleep(50);
  }
}
