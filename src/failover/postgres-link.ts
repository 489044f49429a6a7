// One server of PostgreSQL over SQL, through the peer `pg`. A broken connection is opened again, but only to the same server process: the process that is promoted must be the one that was looked at and that the guard kills.
import { Refusal } from "../base/refusal.ts";
import { loadClient } from "../clients/postgres/database.ts";
import type { View } from "./choice.ts";
import type { GuardOutcome } from "./guard-machine.ts";
import type { PostgresHome } from "./postgres-home.ts";
import { readControl } from "./postgres-control.ts";
import {
  conninfoTo,
  followedBy,
  hasReplayedAll,
  isBeyond,
  LOOK,
  type ViewRow,
  standbyName,
  standbyNames,
  STARTED,
  timelineOfName,
  viewOf,
  type WalPosition,
} from "./postgres-view.ts";
import type { Promotion, ServerLink, ServerSpec } from "./replication.ts";

/** The part of a Client of pg that is used here. */
interface PgClient {
  connect(): Promise<unknown>;
  query(query: {
    readonly text: string;
    readonly query_timeout: number;
  }): Promise<{ readonly rows: readonly object[] }>;
  end(): Promise<unknown>;
  on(event: "error" | "end", listener: () => void): unknown;
}

/** The group, and the files of the server that is on this host. */
export interface PostgresPlace {
  readonly servers: Readonly<Record<string, ServerSpec>>;
  readonly options: { readonly timeoutMs: number; readonly promoteWithinMs: number };
  readonly home: PostgresHome | undefined;
  readonly canMend: boolean;
}

const LOOK_EVERY_MS = 20;
const CHECKPOINT_WITHIN_MS = 60_000;

export class PostgresServerLink implements ServerLink {
  readonly #server: ServerSpec;
  readonly #place: PostgresPlace;
  #client: PgClient | undefined;
  #connecting: Promise<PgClient> | undefined;
  /** When the postmaster was started, as it says itself. */
  #started: string | undefined;
  #isOpen = true;

  private constructor(server: ServerSpec, place: PostgresPlace) {
    this.#server = server;
    this.#place = place;
  }

  static async open(server: ServerSpec, place: PostgresPlace): Promise<PostgresServerLink> {
    const link = new PostgresServerLink(server, place);
    await link.#look();
    return link;
  }

  /** After a checkpoint the control file says on which timeline the server is. A failure is not reported here: the program that reads the control file notices it. */
  static async checkpoint(server: ServerSpec, place: PostgresPlace): Promise<void> {
    const link = await PostgresServerLink.open(server, place).catch(() => undefined);
    if (link === undefined) return;
    await link.#ask("CHECKPOINT", CHECKPOINT_WITHIN_MS).catch(() => {});
    link.close();
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  async view(): Promise<View> {
    try {
      return viewOf(await this.#look(), this.#place.servers);
    } catch {
      return { is: "unknown" };
    }
  }

  async pid(): Promise<number | undefined> {
    return (await this.#look()).pid;
  }

  /** SAFETY: the standbys of this server are named before it can take a commit, and it must be on the timeline of its own promotion. It is asked for its timeline afterwards, and any other timeline counts as no answer. */
  async promote({ generation, standbys }: Promotion): Promise<GuardOutcome> {
    const { home, options } = this.#place;
    const before = await this.#look().catch(() => undefined);
    if (before === undefined || !before.standby) return "unknown";
    // SAFETY: the server has had this number already, in a promotion that nobody heard of. PostgreSQL would take the next number, which the record may give to another server.
    if (home !== undefined && timelineOf(before) >= generation) return "not-done";
    // Without a guard no numbers are reserved, and PostgreSQL takes the next one that it finds free.
    const expected = home === undefined ? Math.max(generation, timelineOf(before) + 1) : generation;
    try {
      await this.#name(standbys, expected);
      home?.reserveTimelines(generation);
      const seconds = Math.max(1, Math.ceil(options.promoteWithinMs / 1000));
      await this.#ask(`SELECT pg_promote(true, ${seconds})`, seconds * 1000 + options.timeoutMs);
      const after = await this.#look();
      const timeline = timelineOf(after);
      const isIts = home === undefined ? timeline >= generation : timeline === generation;
      if (timeline !== expected && isIts) await this.#name(standbys, timeline);
      return !after.standby && isIts ? "done" : "unknown";
    } catch {
      return "unknown";
    }
  }

  async #name(standbys: Promotion["standbys"], timeline: number): Promise<void> {
    if (standbys === undefined) return;
    const names = standbys.promotable.map((name) => standbyName(name, timeline));
    await this.#set("synchronous_standby_names", standbyNames(standbys.confirmations, names));
  }

  /**
   * SAFETY: when this server gets the name that commits of `primary` wait for, it has nothing that `primary`, on the timeline of that name, does not have. The server that was the primary before was fenced before `primary`
   * was promoted, so nobody else sends anything any more. Data that has arrived already may still be on its way to the disk. So the standby is cut off first and replays what it has, and its place does not change between
   * the comparison and the new setting. If `primary` is on another timeline by the time that this server connects, the name counts for nothing there.
   *
   * A standby that does not replay everything soon, because a delay was set or because much is left to replay, follows without such a name. It gets one when it has caught up.
   */
  async follow(primary: ServerSpec): Promise<GuardOutcome | "parted"> {
    try {
      const own = await this.#look();
      if (!own.standby) return "not-done";
      const other = await PostgresServerLink.#lookAt(primary, this.#place);
      if (other === undefined) return "unknown";
      if (other.standby || other.system !== own.system) return "not-done";
      const named = { application_name: standbyName(this.#server.name, timelineOf(other)) };
      if (own.conninfo !== conninfoTo(primary, named)) {
        await this.#set("primary_conninfo", "");
        const resting = await this.#rests();
        const name = resting === undefined ? { application_name: this.#server.name } : named;
        if (resting !== undefined && hasParted([placeOf(resting)], other)) return this.#parted();
        await this.#set("primary_conninfo", conninfoTo(primary, name));
        return "done";
      }
      return hasParted([placeOf(own)], other) ? this.#parted() : "done";
    } catch {
      return "unknown";
    }
  }

  #parted(): "parted" | "not-done" {
    return this.#place.canMend ? "parted" : "not-done";
  }

  /** Waits until this server receives from nobody and has replayed all that it has. Returns undefined if that takes too long. */
  async #rests(): Promise<ViewRow | undefined> {
    const untilMs = performance.now() + this.#place.options.timeoutMs;
    do {
      const own = await this.#look();
      if (own.receiver === "" && hasReplayedAll(own)) return own;
      await pause();
    } while (performance.now() < untilMs);
    return undefined;
  }

  async isFollowing(primary: ServerSpec): Promise<boolean> {
    const own = await this.#look().catch(() => undefined);
    if (own === undefined || own.receiver !== "streaming") return false;
    const conninfo = own.conninfo ?? "";
    const isNamed = (timelineOfName(conninfo) ?? 0) >= timelineOf(own) || !hasReplayedAll(own);
    return followedBy(conninfo, this.#place.servers) === primary.name && isNamed;
  }

  /**
   * First the target must have nearly everything, so that the stop is short. Then the server is told to stop: it ends its clients, writes a last checkpoint, and does not end before each connected standby has all of it.
   * A write that was not acknowledged by then never will be.
   */
  async retire(to: ServerSpec, withinMs: number): Promise<GuardOutcome> {
    const untilMs = performance.now() + withinMs;
    const { home } = this.#place;
    const target = await PostgresServerLink.open(to, this.#place).catch(() => undefined);
    try {
      const own = await this.view();
      const isReady = own.is === "up" && own.role === "primary" && home !== undefined;
      if (!isReady || target === undefined || !(await target.#reaches(own.history, own.position, untilMs, "received")))
        return "not-done";
      await this.#ask("CHECKPOINT", Math.max(1, untilMs - performance.now())).catch(() => {});
      const postmaster = home.postmaster();
      if (postmaster === undefined) return "not-done";
      process.kill(postmaster, "SIGINT");
      while (home.postmaster() !== undefined) {
        if (performance.now() > untilMs) return "unknown";
        await pause();
      }
      const control = await readControl(home);
      if (control?.state !== "shut down") return "unknown";
      return (await target.#reaches(own.history, control.checkpoint + 1, untilMs, "replayed")) ? "done" : "unknown";
    } catch {
      return "unknown";
    } finally {
      target?.close();
    }
  }

  /** There is nothing to undo: a server that was told to stop has stopped, or will. The monitors see that it is down and replace it. */
  async unretire(): Promise<void> {}

  /** True if a server whose data reaches these places has data that `primary` does not have. False if nobody knows. */
  static async hasParted(places: readonly WalPosition[], primary: ServerSpec, place: PostgresPlace): Promise<boolean> {
    const other = await PostgresServerLink.#lookAt(primary, place);
    return other !== undefined && !other.standby && hasParted(places, other);
  }

  /** Asks the server over a connection of its own. Returns undefined if it did not answer. */
  static async #lookAt(server: ServerSpec, place: PostgresPlace): Promise<ViewRow | undefined> {
    const link = await PostgresServerLink.open(server, place).catch(() => undefined);
    if (link === undefined) return undefined;
    const looked = await link.#look().catch(() => undefined);
    link.close();
    // Only timeline 1 has no history. A server that does not show the history of a later one has not said where it parted from others.
    return looked?.history === null && timelineOf(looked) !== 1 ? undefined : looked;
  }

  close(): void {
    this.#isOpen = false;
    void this.#client?.end().catch(() => {});
    this.#client = undefined;
  }

  /** Waits until this server, within this history, has come to `position`. */
  async #reaches(history: string, position: number, untilMs: number, what: "received" | "replayed"): Promise<boolean> {
    while (performance.now() < untilMs) {
      const looked = await this.#look().catch(() => undefined);
      const view = looked && viewOf(looked, this.#place.servers);
      const has = what === "replayed" ? Number(looked?.position ?? 0) : view?.is === "up" ? view.position : 0;
      if (view?.is === "up" && view.history === history && has >= position) return true;
      await pause();
    }
    return false;
  }

  /** When this resolves, every process of the server knows the new value, or will know it soon. */
  async #set(name: string, value: string): Promise<void> {
    await this.#ask(`ALTER SYSTEM SET ${name} = '${value.replaceAll("'", "''")}'`);
    await this.#ask("SELECT pg_reload_conf()");
  }

  async #look(): Promise<ViewRow> {
    const [row] = await this.#ask(LOOK);
    if (row === undefined) throw new Error("it said nothing");
    return row as ViewRow;
  }

  async #ask(text: string, withinMs: number = this.#place.options.timeoutMs): Promise<readonly object[]> {
    const client = await this.#connected();
    try {
      return (await client.query({ text, query_timeout: withinMs })).rows;
    } catch (error) {
      if (!("severity" in (error as object))) this.#drop(client); // the error is not an answer of the server, so the connection may be broken
      throw error;
    }
  }

  async #connected(): Promise<PgClient> {
    if (!this.#isOpen) throw new Error("it is closed");
    if (this.#client !== undefined) return this.#client;
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined));
    return await this.#connecting;
  }

  /** SAFETY: another postmaster at this address is another service, so it is not spoken to. */
  async #connect(): Promise<PgClient> {
    const client = newClient(this.#server, this.#place.options.timeoutMs);
    client.on("error", () => this.#drop(client));
    client.on("end", () => this.#drop(client));
    await client.connect();
    const { rows } = await client.query({ text: STARTED, query_timeout: this.#place.options.timeoutMs });
    const { started } = rows[0] as { readonly started: string };
    this.#started ??= started;
    if (this.#started !== started || !this.#isOpen) {
      this.#drop(client);
      this.#isOpen = false;
      throw new Error("another server has its place");
    }
    this.#client = client;
    return client;
  }

  #drop(client: PgClient): void {
    if (this.#client === client) this.#client = undefined;
    void client.end().catch(() => {});
  }
}

function newClient({ url }: ServerSpec, timeoutMs: number): PgClient {
  const module = loadClient("pg") as { readonly Client: new (options: object) => PgClient } | undefined;
  if (module === undefined)
    throw new Refusal("STORE_UNSUPPORTED", "failover of PostgreSQL needs the client pg. Run: npm install pg");
  return new module.Client({
    connectionString: url,
    connectionTimeoutMillis: timeoutMs,
    keepAlive: true,
    application_name: "conclave failover",
  });
}

function timelineOf({ timeline }: ViewRow): number {
  return Number.parseInt(timeline ?? "", 16);
}

function placeOf(looked: ViewRow): WalPosition {
  return { timeline: timelineOf(looked), position: Number(looked.position) };
}

/** Timeline 1 has no history file, because a primary on timeline 1 has left no other timeline. */
function hasParted(places: readonly WalPosition[], primary: ViewRow): boolean {
  return isBeyond(places, timelineOf(primary), primary.history ?? "");
}

function pause(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, LOOK_EVERY_MS));
}
