// The part of a driver that the rest of Conclave knows: one record each. `openStore`, the drill, `conclave schema`, `conclave fence adopt` and the docs read it, so that a new store is added in one
// place. Everything costly is loaded only when it is asked for.
import type { Adopted, Lowering, Move } from "../fencing/index.ts";
import type { Guarantee, Store } from "../stores/contract.ts";

export interface Driver {
  /** The name in messages, in `src/stores/NAME.ts` and in `docs/stores/NAME.md`. */
  readonly name: string;
  /** The schemes of its URLs, without the colon. */
  readonly schemes: readonly string[];
  /** The port of its server, if a URL has none. */
  readonly port?: number | undefined;
  /** The addresses of its servers, for a store whose URLs do not contain them. */
  readonly addresses?:
    | ((url: string) => Promise<readonly { readonly host: string; readonly port: number }[]>)
    | undefined;
  /** The file of scripts/servers that starts a server for tests; `npm run servers` lists it. */
  readonly server?: string | undefined;
  /** Makes the store. Asks no server before the store is used. */
  readonly open: (url: string) => Promise<Store>;
  /** Loads the client that such a store loads at its first use. Asks no server. Absent: there is no client, or it is loaded with the driver. */
  readonly loadClient?: ((url: string) => Promise<void>) | undefined;
  /**
   * The guarantees that the tables of README.md and docs/GUARANTEES.md show: several if its stores promise different things. Absent: the guarantee of the store at `SCHEME://127.0.0.1:PORT/conclave`, or
   * at `SCHEME://conclave` without a port.
   */
  readonly promises?: (() => Promise<readonly PromisedStore[]>) | undefined;
  /** The text that an owner of the store runs once, where tables have to be made or rights given. */
  readonly schema?: ((options: SchemaOptions) => Promise<string>) | undefined;
  /** The guard for data in this store, where there is one. */
  readonly guard?: ((url: string, options: FencingGuardOptions) => Promise<FencingGuard>) | undefined;
}

/** A store as the tables show it. */
export interface PromisedStore {
  /** The title as in a heading: `etcd:`, in backquotes. */
  readonly title: string;
  readonly guarantee: Guarantee;
}

export interface SchemaOptions {
  /** The schema of the tables, or the name of the table where there is one. */
  readonly schema: string;
  /** The role, or the service account, that is to have the rights. */
  readonly role: string | undefined;
  /** The namespace of Kubernetes. */
  readonly namespace: string | undefined;
  /** The text is to include the tables or rights that the guard needs. */
  readonly fence: boolean;
}

export interface FencingGuardOptions {
  readonly table?: string | undefined;
  readonly prefix?: string | undefined;
}

/** A guard that a command can reach. */
export interface FencingGuard {
  /** Shown to the user; it has no password in it. */
  readonly place: string;
  /** There is no such file or folder. A server is not asked before it is needed. */
  readonly isMissing: boolean;
  adopt(resource: string, move: Move | Lowering): Promise<Adopted>;
}
