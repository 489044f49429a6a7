// `postgres`: its sql function, made by the user or, for a URL, made here. Its type has only the methods that are used.
import { callText } from "./call-text.ts";
import {
  CONNECT_WITHIN_MS,
  CONNECTIONS,
  type Database,
  type NotificationEars,
  forget,
  loadClient,
  onlyValue,
  type OwnDatabase,
} from "./database.ts";
import type { Row } from "../row.ts";

/** The part of the sql function of postgres that is used. */
export interface PostgresClient {
  unsafe(query: string): PromiseLike<unknown>;
  listen(
    channel: string,
    onNotify: (payload: string) => void,
    onListen?: () => void,
  ): Promise<{ unlisten(): Promise<unknown> }>;
}

export class PostgresDatabase implements Database {
  readonly #sql: PostgresClient;

  constructor(sql: PostgresClient) {
    this.#sql = sql;
  }

  call(name: string, args: readonly string[]): Promise<unknown> {
    return this.run(callText(name, args));
  }

  async run(text: string): Promise<unknown> {
    return onlyValue((await this.#sql.unsafe(text)) as Row[]);
  }

  /** postgres connects again by itself, and calls `listening` each time. */
  async listen(channel: string, ears: NotificationEars): Promise<() => void> {
    const listening = await this.#sql.listen(
      channel,
      (payload) => ears.heard(payload),
      () => ears.listening(),
    );
    return () => forget(listening.unlisten());
  }

  doubt(): void {}

  async close(): Promise<void> {}
}

interface OwnSql extends PostgresClient {
  end(options: { readonly timeout: number }): Promise<void>;
}

/** postgres gives no statement a timeout, and keeps a connection that never answers: so after a doubt the whole client is opened anew. */
export function openWithPostgres(url: string): OwnDatabase | undefined {
  const module = loadClient("postgres") as ((url: string, options: object) => OwnSql) | undefined;
  if (module === undefined) return undefined;
  const options = {
    max: CONNECTIONS,
    connect_timeout: CONNECT_WITHIN_MS / 1000,
    idle_timeout: 30,
    fetch_types: false, // a failure of that query would be reported to nobody
    onnotice: () => {},
  };
  let sql = module(url, options);
  return {
    call: (name, args) => new PostgresDatabase(sql).call(name, args),
    run: (text) => new PostgresDatabase(sql).run(text),
    listen: (channel, ears) => new PostgresDatabase(sql).listen(channel, ears),
    doubt: () => {
      const old = sql;
      sql = module(url, options);
      forget(old.end({ timeout: 0 }));
    },
    close: async () => {},
    end: () => sql.end({ timeout: 0 }),
  };
}
