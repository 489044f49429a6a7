// One face for the clients of PostgreSQL, whichever is installed or passed in. What they share stands here; pg.ts and postgres-js.ts have one client each.
//
// A call is one message of the simple protocol: one round trip, one transaction. Nothing is prepared on a connection that is not ours, or behind which a pooler
// may put another server each time (connections.ts); there it leaves nothing behind, also when it fails.
import { Refusal } from "../../base/refusal.ts";
import { loadPeer } from "../load-peer.ts";

export type Row = Readonly<Record<string, unknown>>;

export interface NotificationEars {
  readonly heard: (payload: string) => void;
  /** From now on; also again, after a connection that broke: something may have been missed. */
  readonly listening: () => void;
  /** The session is gone, and with it what it listened to. */
  readonly broken: () => void;
}

export interface Database {
  /** What the function answers, as text. Arguments as they are written in a statement. `patienceMs`: when the client may give its connection up. */
  call(name: string, args: readonly string[], patienceMs: number): Promise<unknown>;
  /** Any statement, for what it does. */
  run(text: string, patienceMs: number): Promise<unknown>;
  /** Listens on a session of its own. Resolves to how to stop. Rejects where there is no such session. */
  listen(channel: string, ears: NotificationEars): Promise<() => void>;
  /** The caller of a `run` has given up: the connection may be a dead one. */
  doubt(): void;
  /** Closes what was opened here. */
  close(): Promise<void>;
}

/** What was opened here, and is closed with it. */
export type OwnDatabase = Database & { end(): Promise<void> };

/** Of what is opened for a URL. */
export const CONNECT_WITHIN_MS = 5_000;
/** Enough for a keep, a claim and a look at once. */
export const CONNECTIONS = 4;
/** What is under way when it is closed is waited for; but on a connection that went dead without a word that takes long, and nobody waits for the answer. */
export const END_WITHIN_MS = 1_000;

export function onlyValue([row]: readonly Row[]): unknown {
  return row === undefined ? undefined : Object.values(row)[0];
}

/** What is said in parting: if it fails, the connection is gone already, and with it what was to be ended. */
export function forget(parting: Promise<unknown>): void {
  parting.catch(() => {});
}

export function nothingInstalled(): never {
  throw new Refusal(
    "STORE_UNSUPPORTED",
    "postgres: no client for PostgreSQL is installed. Run: npm install pg (or: npm install postgres)",
  );
}

/** undefined: not installed. */
export function loadClient(name: "pg" | "pg/lib/client.js" | "postgres"): unknown {
  try {
    return loadPeer(name);
  } catch (cause) {
    throw new Refusal("STORE_UNSUPPORTED", `postgres: ${(cause as Error).message}. Reinstall it: npm install ${name}`, {
      cause,
    });
  }
}
