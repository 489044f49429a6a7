// One interface for the clients of PostgreSQL, whichever is installed or passed in. The code that they share is here; pg.ts and postgres-js.ts have one client each.
//
// A call is one message of the simple protocol: one round trip, one transaction. Nothing is prepared on a connection that is not ours, or behind which a pooler may put another server each time
// (connections.ts); there a call leaves nothing behind, also when it fails.
import { Refusal } from "../../base/refusal.ts";
import { loadPeer } from "../load-peer.ts";
import type { Row } from "../row.ts";

export interface NotificationEars {
  readonly heard: (payload: string) => void;
  /** Notifications are heard from now on. It is called again after a connection that broke: some may have been missed. */
  readonly listening: () => void;
  /** The session is gone, and with it its subscriptions. */
  readonly broken: () => void;
}

export interface Database {
  /** Resolves to the function's answer, as text. The arguments are as they are written in a statement. `patienceMs`: the time after which the client may give its connection up. */
  call(name: string, args: readonly string[], patienceMs: number): Promise<unknown>;
  /** Runs any statement for its effect. */
  run(text: string, patienceMs: number): Promise<unknown>;
  /** Listens on a session of its own. Resolves to a function that stops it. Rejects where there is no such session. */
  listen(channel: string, ears: NotificationEars): Promise<() => void>;
  /** The caller of a `run` has given up: the connection may be a dead one. */
  doubt(): void;
  /** Closes the connections that were opened here. */
  close(): Promise<void>;
}

/** A database that was opened here, and that is closed with its owner. */
export type OwnDatabase = Database & { end(): Promise<void> };

/** The limit for a connection that is opened for a URL. */
export const CONNECT_WITHIN_MS = 5_000;
/** This is enough for a keep, a claim and a look at once. */
export const CONNECTIONS = 4;
/** Requests that are under way when the database is closed are waited for. But on a connection that went dead without a word that takes long, and nobody waits for the answer. */
export const END_WITHIN_MS = 1_000;

export function onlyValue([row]: readonly Row[]): unknown {
  return row === undefined ? undefined : Object.values(row)[0];
}

/** Ignores the failure of a farewell: if it fails, the connection is gone already, and with it what was to be ended. */
export function forget(parting: Promise<unknown>): void {
  parting.catch(() => {});
}

export function nothingInstalled(): never {
  throw new Refusal(
    "STORE_UNSUPPORTED",
    "postgres: no client for PostgreSQL is installed. Run: npm install pg (or: npm install postgres)",
  );
}

/** undefined: the package is not installed. */
export function loadClient(name: "pg" | "pg/lib/client.js" | "postgres"): unknown {
  try {
    return loadPeer(name);
  } catch (cause) {
    throw new Refusal("STORE_UNSUPPORTED", `postgres: ${(cause as Error).message}. Reinstall it: npm install ${name}`, {
      cause,
    });
  }
}
