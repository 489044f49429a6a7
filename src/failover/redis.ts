// Redis and Valkey, from version 6.2 on: primary and replicas by REPLICAOF. A history is the replication id, a position the offset in it.
//
// Redis has no synchronous replication: WAIT and min-replicas-to-write bound a loss and prevent none. What is promised here is that two servers are never writable at once, and that a switchover loses nothing.
import { parseUrl, problemOfUrl, type Server } from "../clients/redis/url.ts";
import { RedisLink } from "../clients/redis/link.ts";
import { ReplyError } from "../clients/redis/resp.ts";
import type { View } from "./choice.ts";
import type { GuardOutcome } from "./guard-machine.ts";
import type { Replication, ServerLink, ServerSpec } from "./replication.ts";

/** A replica of nobody: of a port on which nothing listens. It is never writable, and copies nothing. */
const NOBODY = { host: "127.0.0.1", port: 1 };
const LOOK_EVERY_MS = 20;

export interface RedisReplicationOptions {
  /** Of one command. */
  readonly timeoutMs: number;
}

/** What is wrong with the URL of a server. */
export function problemOfServer(url: string): string | undefined {
  const problem = problemOfUrl(url);
  if (problem !== undefined) return problem;
  return parseUrl(url).servers.length === 1 ? undefined : "one server is named by one URL";
}

/** Primary and replicas of Redis or Valkey. */
export function redisReplication(
  servers: Readonly<Record<string, ServerSpec>>,
  { timeoutMs }: RedisReplicationOptions,
): Replication {
  return {
    kind: "redis",
    servers,
    connect: async (server) => new RedisServerLink(await openLink(server, timeoutMs), servers, timeoutMs),
    stopSignal: "SIGTERM",
    prepare: async ({ command, primary }) => {
      const { host, port } = primary ?? NOBODY;
      return { command: [...command, "--replicaof", host, `${port}`, "--replica-read-only", "yes"] };
    },
  };
}

function openLink({ url }: ServerSpec, timeoutMs: number): Promise<RedisLink> {
  const [server] = parseUrl(url).servers;
  return RedisLink.open(server as Server, timeoutMs);
}

class RedisServerLink implements ServerLink {
  readonly #link: RedisLink;
  readonly #servers: Readonly<Record<string, ServerSpec>>;
  readonly #timeoutMs: number;

  constructor(link: RedisLink, servers: Readonly<Record<string, ServerSpec>>, timeoutMs: number) {
    this.#link = link;
    this.#servers = servers;
    this.#timeoutMs = timeoutMs;
  }

  get isOpen(): boolean {
    return this.#link.isOpen;
  }

  async view(withinMs: number = this.#timeoutMs): Promise<View> {
    try {
      return viewOf(await this.#info(withinMs), this.#servers);
    } catch {
      return { is: "unknown" };
    }
  }

  async pid(): Promise<number | undefined> {
    const pid = Number((await this.#info()).get("process_id"));
    return Number.isInteger(pid) ? pid : undefined;
  }

  async promote(): Promise<GuardOutcome> {
    return await this.#becomes("primary", ["REPLICAOF", "NO", "ONE"]);
  }

  async follow({ host, port }: ServerSpec): Promise<GuardOutcome> {
    return await this.#becomes("replica", ["REPLICAOF", host, `${port}`]);
  }

  /**
   * Writes are paused first, so that the position that is read then is the last one. Then the target is waited for. Then this server becomes a replica, which answers READONLY to the writes that were held back:
   * none of them was acknowledged.
   *
   * A question that got no answer makes the outcome unknown, and then the server is killed with what only it has. So each may take as long as the whole: a busy host is not to cost acknowledged writes.
   */
  async retire(to: ServerSpec, withinMs: number): Promise<GuardOutcome> {
    const untilMs = performance.now() + withinMs;
    try {
      const left = (): number => Math.max(this.#timeoutMs, untilMs - performance.now());
      await this.#ask(["CLIENT", "PAUSE", `${Math.ceil(withinMs) + 2 * this.#timeoutMs}`, "WRITE"], left());
      const last = await this.view(left());
      if (last.is !== "up" || last.role !== "primary") return "unknown";
      const hasAll = await this.#waitFor(to, last.history, last.position, untilMs);
      if (!hasAll) {
        await this.#ask(["CLIENT", "UNPAUSE"], left());
        return "not-done";
      }
    } catch {
      return "unknown";
    }
    const outcome = await this.follow(to);
    await this.unretire();
    return outcome === "done" ? "done" : "unknown";
  }

  async #waitFor(to: ServerSpec, history: string, position: number, untilMs: number): Promise<boolean> {
    const link = new RedisServerLink(await openLink(to, this.#timeoutMs), this.#servers, this.#timeoutMs);
    try {
      while (performance.now() < untilMs && link.isOpen) {
        const view = await link.view();
        if (view.is === "up" && view.history === history && view.position >= position) return true;
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      }
      return false;
    } finally {
      link.close();
    }
  }

  async unretire(): Promise<void> {
    await this.#ask(["CLIENT", "UNPAUSE"]).catch(() => {}); // it ends by itself
  }

  /** A replica that has parted takes everything anew from its primary, by itself. */
  async hasParted(): Promise<boolean> {
    return false;
  }

  close(): void {
    this.#link.close();
  }

  /** What the server says of itself afterwards is the answer. */
  async #becomes(role: "primary" | "replica", command: readonly string[]): Promise<GuardOutcome> {
    try {
      await this.#ask(command);
      const view = await this.view();
      return view.is === "up" && view.role === role ? "done" : "unknown";
    } catch (error) {
      return error instanceof ReplyError ? "not-done" : "unknown";
    }
  }

  async #info(withinMs: number = this.#timeoutMs): Promise<ReadonlyMap<string, string>> {
    return fieldsOf(String(await this.#ask(["INFO"], withinMs)));
  }

  #ask(words: readonly string[], withinMs: number = this.#timeoutMs): Promise<unknown> {
    return this.#link.ask(words, withinMs);
  }
}

function fieldsOf(info: string): ReadonlyMap<string, string> {
  const lines = info.split("\r\n").filter((line) => /^\w+:/.test(line));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)]));
}

/** A server that is loading its data says nothing of what it has. */
export function viewOf(fields: ReadonlyMap<string, string>, servers: Readonly<Record<string, ServerSpec>>): View {
  const history = fields.get("master_replid");
  const role = fields.get("role");
  if (history === undefined || fields.get("loading") !== "0") return { is: "unknown" };
  const isPrimary = role === "master";
  const received = fields.get("slave_read_repl_offset") ?? fields.get("slave_repl_offset");
  const position = Number(isPrimary ? fields.get("master_repl_offset") : received);
  if ((!isPrimary && role !== "slave") || !Number.isSafeInteger(position)) return { is: "unknown" };
  const host = fields.get("master_host");
  const port = Number(fields.get("master_port"));
  const follows = Object.values(servers).find((server) => server.host === host && server.port === port)?.name;
  return {
    is: "up",
    role: isPrimary ? "primary" : "replica",
    history,
    position: Math.max(0, position),
    follows: isPrimary ? undefined : follows,
    isLinked: fields.get("master_link_status") === "up",
    isEmpty: ![...fields.keys()].some((key) => /^db\d+$/.test(key)),
  };
}
