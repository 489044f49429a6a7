// Redis and Valkey, from version 6.2 on: a primary and replicas by REPLICAOF. A history is the replication id, and a position is the offset in it.
//
// Redis has no synchronous replication: WAIT and min-replicas-to-write limit a loss but do not prevent one. This file promises that two servers are never writable at once, and that a switchover loses nothing.
import { parseUrl, problemOfUrl, type Server } from "../clients/redis/url.ts";
import { RedisLink } from "../clients/redis/link.ts";
import { ReplyError } from "../clients/redis/resp.ts";
import type { View } from "./choice.ts";
import type { GuardOutcome } from "./guard-machine.ts";
import type { Replication, ServerLink, ServerSpec } from "./replication.ts";

/** The address of a primary that does not exist: nothing listens on this port. A replica of it is never writable, and copies nothing. */
const NOBODY = { host: "127.0.0.1", port: 1 };
const LOOK_EVERY_MS = 20;
const PATIENCE_MS = 60_000;
/** The pause of writes lasts longer than the time in which the target must have everything, by the ttl of the seat and by this many times the timeout of one command. */
const PAUSE_TIMEOUTS = 10;

export interface RedisReplicationOptions {
  /** The timeout of one command. */
  readonly timeoutMs: number;
  /** The ttl of the seat `primary/NAME`. @default 5000 */
  readonly ttlMs?: number | undefined;
}

const USUAL_TTL_MS = 5000;

/** Says what is wrong with the URL of a server. */
export function problemOfServer(url: string): string | undefined {
  const problem = problemOfUrl(url);
  if (problem !== undefined) return problem;
  return parseUrl(url).servers.length === 1 ? undefined : "one server is named by one URL";
}

/** Primary and replicas of Redis or Valkey. */
export function redisReplication(
  servers: Readonly<Record<string, ServerSpec>>,
  { timeoutMs, ttlMs = USUAL_TTL_MS }: RedisReplicationOptions,
): Replication {
  const place = { servers, timeoutMs, ttlMs };
  return {
    kind: "redis",
    servers,
    connect: async (server) => new RedisServerLink(await openLink(server, timeoutMs), server, place),
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

interface RedisPlace {
  readonly servers: Readonly<Record<string, ServerSpec>>;
  readonly timeoutMs: number;
  readonly ttlMs: number;
}

class RedisServerLink implements ServerLink {
  #link: RedisLink;
  readonly #server: ServerSpec;
  readonly #place: RedisPlace;
  readonly #servers: Readonly<Record<string, ServerSpec>>;
  readonly #timeoutMs: number;

  /** The run id of the process that was looked at first. */
  #runId: string | undefined;
  /**
   * How far a hand-over has come. `given-up`: this server was told to take writes again. `stepping-down`: the server is told to become a replica, and that cannot be taken back, because the command may arrive late.
   */
  #handOver: "none" | "waiting" | "given-up" | "stepping-down" = "none";
  #mayUnpauseLate = false;

  constructor(link: RedisLink, server: ServerSpec, place: RedisPlace) {
    this.#link = link;
    this.#server = server;
    this.#place = place;
    this.#servers = place.servers;
    this.#timeoutMs = place.timeoutMs;
  }

  get isOpen(): boolean {
    return this.#link.isOpen;
  }

  async view(): Promise<View> {
    try {
      return viewOf(await this.#info(), this.#servers);
    } catch {
      return { is: "unknown" };
    }
  }

  async pid(): Promise<number | undefined> {
    const pid = Number((await this.#info()).get("process_id"));
    return Number.isInteger(pid) ? pid : undefined;
  }

  /**
   * SAFETY: all other connections are closed first. A leader may have told this process to follow another server, when it took writes and was not the primary (strays.ts). If that order is still on its way, it never arrives:
   * it would make a replica of the rightful primary, which would then lose its last writes. A server that refuses this command to the guard is promoted all the same. Clients connect again, as with Redis Sentinel.
   */
  async promote(): Promise<GuardOutcome> {
    void this.#ask(["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]).catch(() => {}); // without an answer, the next command has none either
    return await this.#becomes("primary", ["REPLICAOF", "NO", "ONE"]);
  }

  /** A server that no guard has started may be configured to take writes as a replica, too. */
  async follow({ host, port }: ServerSpec): Promise<GuardOutcome> {
    void this.#ask(["CONFIG", "SET", "replica-read-only", "yes"]).catch(() => {}); // where CONFIG is forbidden, the setting stays
    return await this.#becomes("replica", ["REPLICAOF", host, `${port}`]);
  }

  /**
   * Writes are paused first, so that the position that is read then is the last one. Then the target is waited for. Then this server becomes a replica, which answers READONLY to the writes that were held back:
   * none of them was acknowledged.
   *
   * Why a switchover kills no server with writes that only it has: the guard kills a server whose outcome is unknown, so `unknown` is answered only after REPLICAOF was sent. Before that, nothing has changed except for a pause
   * that ends by itself. The server is the primary as before and its guard holds the seat as before, so `not-done` is the truth, whether the server refused, was silent or could not reach its successor. After REPLICAOF the
   * target has everything, and no write is acknowledged until the server is a replica or dead:
   *   - nobody ends the pause any more, because REPLICAOF may be on its way: a server that took writes again and then became a replica would lose them;
   *   - the pause is longer than all the waiting (its end is counted from before it was asked for). If the guard stands still meanwhile, for longer than the ttl of its seat, then its keeper has killed the server. For a
   *     shorter time the pause is long enough, because it is longer by that ttl.
   * So a server that is killed then has nothing that the target does not have.
   *
   * One question may take as long as the whole hand-over, because a busy host is not silent for ever. A connection that the server has closed, as it does with idle ones, is opened anew to the same process.
   */
  async retire(to: ServerSpec, withinMs: number): Promise<GuardOutcome> {
    // SAFETY: a command to take writes again that was sent and not answered may arrive late, and would end the pause of this hand-over.
    if (this.#mayUnpauseLate || this.#handOver !== "none") return "not-done";
    this.#handOver = "waiting";
    try {
      return await this.#retire(to, withinMs);
    } finally {
      this.#handOver = "none";
    }
  }

  async #retire(to: ServerSpec, withinMs: number): Promise<GuardOutcome> {
    const startMs = performance.now();
    const untilMs = startMs + withinMs;
    const pauseMs = Math.ceil(withinMs) + PAUSE_TIMEOUTS * this.#timeoutMs + this.#place.ttlMs;
    try {
      await this.#insist(["CLIENT", "PAUSE", `${pauseMs}`, "WRITE"], untilMs);
      const last = viewOf(fieldsOf(String(await this.#insist(["INFO"], untilMs))), this.#servers);
      const hasAll =
        last.is === "up" && last.role === "primary" && (await this.#waitFor(to, last.history, last.position, untilMs));
      // SAFETY: this is checked right before the command that cannot be taken back. If this server was told meanwhile to take writes again, it does so. If the time is over, the pause may be over as well.
      if (!hasAll || this.#handOver !== "waiting" || performance.now() >= untilMs) return await this.#staysPrimary();
    } catch {
      return await this.#staysPrimary();
    }
    this.#handOver = "stepping-down";
    return await this.#stepDown(to, untilMs + 4 * this.#timeoutMs);
  }

  /** If the command to take writes again is not heard, the writes may still be paused, for as long as the pause was asked for. */
  async #staysPrimary(): Promise<GuardOutcome> {
    await this.#takeWrites();
    return "not-done";
  }

  /** SAFETY: this is over before the pause ends. */
  async #stepDown({ host, port }: ServerSpec, untilMs: number): Promise<GuardOutcome> {
    try {
      await this.#insist(["REPLICAOF", host, `${port}`], untilMs);
      const view = viewOf(fieldsOf(String(await this.#insist(["INFO"], untilMs))), this.#servers);
      if (view.is !== "up" || view.role !== "replica") return "unknown";
      await this.#takeWrites();
      return "done";
    } catch {
      return "unknown";
    }
  }

  /** A target that does not answer yet is asked again. */
  async #waitFor(to: ServerSpec, history: string, position: number, untilMs: number): Promise<boolean> {
    let link: RedisServerLink | undefined;
    try {
      while (performance.now() < untilMs && this.#handOver === "waiting") {
        if (link?.isOpen !== true) {
          const opened = await openLink(to, this.#timeoutMs).catch(() => undefined);
          link = opened && new RedisServerLink(opened, to, this.#place);
        }
        const view = await link?.view();
        if (view?.is === "up" && view.history === history && view.position >= position) return true;
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      }
      return false;
    } finally {
      link?.close();
    }
  }

  /** SAFETY: a server that was told to become a replica is not told to take writes again. `retire` says what has become of it. */
  async unretire(): Promise<void> {
    if (this.#handOver === "stepping-down") return;
    if (this.#handOver === "waiting") this.#handOver = "given-up";
    await this.#takeWrites();
  }

  async #takeWrites(): Promise<void> {
    try {
      await this.#reach(this.#timeoutMs);
    } catch {
      return; // the pause ends by itself
    }
    await this.#ask(["CLIENT", "UNPAUSE"]).catch((error: unknown) => {
      if (!(error instanceof ReplyError)) this.#mayUnpauseLate = true;
    });
  }

  /** Sends the command until it is answered, over another connection to the same process if this one was closed. Rejects when the time is over, or with the error of the server. */
  async #insist(words: readonly string[], untilMs: number): Promise<unknown> {
    const left = (): number => Math.max(1, untilMs - performance.now());
    for (;;)
      try {
        await this.#reach(Math.min(this.#timeoutMs, left()));
        return await this.#ask(words, Math.max(this.#timeoutMs, left()));
      } catch (error) {
        if (error instanceof ReplyError || performance.now() >= untilMs) throw error;
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      }
  }

  /** SAFETY: the process that answers must be the one that was looked at first; another one is not spoken to. */
  async #reach(withinMs: number): Promise<void> {
    if (this.#link.isOpen) return;
    const link = await openLink(this.#server, withinMs);
    const runId = fieldsOf(String(await link.ask(["INFO"], withinMs))).get("run_id");
    if (runId === undefined || runId !== this.#runId) {
      link.close();
      throw new Error("another process answers");
    }
    this.#link = link;
  }

  /**
   * A replica that was told which server to follow tries until it can, and copies everything anew if it has parted. It follows another one if an order of the monitors has arrived late, or somebody has told it to. A server
   * that takes writes is left to the leader of the monitors, which reads the record first. The answer is waited for: a replica that is busy is not at fault, and this connection is needed to promote it.
   */
  async isFollowing({ name }: ServerSpec): Promise<boolean> {
    try {
      await this.#reach(this.#timeoutMs);
      const view = viewOf(fieldsOf(String(await this.#ask(["INFO"], PATIENCE_MS))), this.#servers);
      return view.is !== "up" || view.role === "primary" || view.follows === name;
    } catch {
      return false;
    }
  }

  close(): void {
    this.#link.close();
  }

  /** The result is what the server says of itself afterwards. */
  async #becomes(role: "primary" | "replica", command: readonly string[]): Promise<GuardOutcome> {
    try {
      await this.#ask(command);
      const view = await this.view();
      return view.is === "up" && view.role === role ? "done" : "unknown";
    } catch (error) {
      return error instanceof ReplyError ? "not-done" : "unknown";
    }
  }

  async #info(): Promise<ReadonlyMap<string, string>> {
    const fields = fieldsOf(String(await this.#ask(["INFO"])));
    this.#runId ??= fields.get("run_id");
    return fields;
  }

  #ask(words: readonly string[], withinMs: number = this.#timeoutMs): Promise<unknown> {
    return this.#link.ask(words, withinMs);
  }
}

function fieldsOf(info: string): ReadonlyMap<string, string> {
  const lines = info.split("\r\n").filter((line) => /^\w+:/.test(line));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)]));
}

/** A server that is loading its data does not say how much it has. */
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
