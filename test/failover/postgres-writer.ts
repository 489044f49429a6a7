// A client of PostgreSQL that finds the primary by itself, as libpq does with target_session_attrs=read-write, writes one row after the other, and remembers which commits it was told of. A commit that came with a
// warning ("might not have been replicated") was not acknowledged.
import pg from "pg";
import { nowMs, sleep } from "../support/processes.ts";

export class PostgresWriter {
  readonly acknowledged: number[] = [];
  readonly #urls: readonly string[];
  readonly #offset: number;
  #client: pg.Client | undefined;
  #isOn = true;
  #hasWarning = false;
  readonly #done: Promise<void>;

  /** `offset`: its rows begin there. */
  constructor(urls: readonly string[], offset: number) {
    this.#urls = urls;
    this.#offset = offset;
    this.#done = this.#write();
  }

  async #write(): Promise<void> {
    let n = 0;
    while (this.#isOn) {
      const id = this.#offset + ++n;
      try {
        this.#client ??= await this.#find();
        this.#hasWarning = false;
        await this.#client.query({ text: `INSERT INTO writes VALUES (${id})`, query_timeout: 1500 } as pg.QueryConfig);
        if (!this.#hasWarning) this.acknowledged.push(id);
      } catch {
        void this.#client?.end().catch(() => {});
        this.#client = undefined;
        await sleep(20);
      }
      await sleep(2);
    }
    await this.#client?.end().catch(() => {});
  }

  async #find(): Promise<pg.Client> {
    for (const connectionString of this.#urls) {
      const client = new pg.Client({ connectionString, connectionTimeoutMillis: 500 });
      client.on("error", () => {});
      client.on("notice", () => (this.#hasWarning = true));
      try {
        await client.connect();
        const { rows } = await client.query({
          text: "SELECT pg_is_in_recovery() AS standby",
          query_timeout: 500,
        } as pg.QueryConfig);
        const { standby } = rows[0] as { readonly standby: boolean };
        if (!standby) return client;
      } catch {
        // The next one.
      }
      void client.end().catch(() => {});
    }
    throw new Error("nobody takes writes");
  }

  /** Until it was told of another commit. */
  async again(withinMs = 120_000): Promise<void> {
    const before = this.acknowledged.length;
    const untilMs = nowMs() + withinMs;
    while (this.acknowledged.length === before) {
      if (nowMs() > untilMs) throw new Error("nobody has taken a write for long");
      await sleep(10);
    }
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    await this.#done;
  }
}
