// The trio of PostgreSQL: three copies of one cluster, which only their guards start.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import { USUAL_UNITS } from "conclave/failover";
import { makeCopies, serverCommand } from "../../scripts/servers/postgres.mjs";
import { type Look, SERVERS, Trio } from "./trio.ts";

/** The parent of the backend that answers is the postmaster: the first line of its file. */
const LOOK = `SELECT pg_is_in_recovery() AS standby, split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int AS pid,
  (SELECT sender_port FROM pg_stat_wal_receiver WHERE status = 'streaming') AS port`;

const SETTINGS = { fsync: "off", logging_collector: "on", log_directory: "log", listen_addresses: "*" };

export class PostgresTrio extends Trio {
  readonly kind = "postgres";
  protected readonly units = USUAL_UNITS["postgres"] ?? [];
  readonly base: string = mkdtempSync(path.join(tmpdir(), "conclave-trio-"));
  readonly #clients = new Map<string, pg.Client>();

  override async start(store: string, settings: Readonly<Record<string, unknown>> = {}): Promise<void> {
    await makeCopies(this.base, SERVERS, SETTINGS, this.hosts.size === 0 ? undefined : "10.0.0.0/8");
    // Longer than those of Redis: a server of PostgreSQL is many processes, which a busy machine starts slowly.
    await super.start(store, { ttlMs: 4000, downAfterMs: 1000, timeoutMs: 1000, promoteWithinMs: 8000, ...settings });
  }

  urlOf(name: string): string {
    return `postgres://postgres@${this.addressOf(name)}:${this.ports.get(name)}/postgres`;
  }

  dataOf(name: string): string {
    return path.join(this.base, name);
  }

  protected command(name: string): readonly string[] {
    return serverCommand(this.dataOf(name), this.ports.get(name) ?? 0);
  }

  async look(name: string): Promise<Look> {
    const [row] = await this.ask(name, LOOK);
    const { standby, pid, port } = row as { standby: boolean; pid: number; port: number | null };
    return { isPrimary: !standby, linkedTo: port ?? undefined, pid };
  }

  /** Over a connection that is kept as long as it answers. */
  async ask(name: string, text: string, withinMs = 500): Promise<readonly object[]> {
    const client = this.#clients.get(name) ?? (await this.#connect(name));
    this.#clients.set(name, client);
    try {
      const { rows } = await client.query({ text, query_timeout: withinMs } as pg.QueryConfig);
      return rows as object[];
    } catch (error) {
      this.#clients.delete(name);
      void client.end().catch(() => {});
      throw error;
    }
  }

  async #connect(name: string): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.urlOf(name),
      connectionTimeoutMillis: 500,
    });
    client.on("error", () => {});
    await client.connect();
    return client;
  }

  protected override written(): string {
    return SERVERS.map((name) => `== log of ${name}\n${this.#logOf(name)}`).join("\n");
  }

  #logOf(name: string): string {
    const folder = path.join(this.dataOf(name), "log");
    const [last = ""] = readdirSync(folder).toSorted().slice(-1);
    return readFileSync(path.join(folder, last), "utf8").split("\n").slice(-40).join("\n");
  }

  override async end(): Promise<void> {
    for (const client of this.#clients.values()) void client.end().catch(() => {});
    await super.end();
    rmSync(this.base, { recursive: true, force: true, maxRetries: 5 });
  }
}
