// Declared, not yet written: `conclave/fencing` is planned. This is the shape it will have, so that the examples type-check.
// What exists today is the token itself (`term.token`, `formatToken`, `parseToken`); comparing it at the resource is up to you.
import type { Fenced } from "conclave";
import type { Queryable } from "conclave/stores/postgres";

export interface SqlFence {
  /** Inside a transaction: refuses an older token with `TOKEN_STALE`; else remembers this one and keeps the row locked until commit. */
  admit(transaction: Queryable, resource: string, by: Fenced): Promise<void>;
  schema(): string;
}

export declare function postgresFence(options?: { readonly table?: string | undefined }): SqlFence;
export declare function fencingHeaders(by: Fenced): { readonly "fencing-token": string };
