// Declared, not yet written: `conclave/fencing/postgres` is planned. This is the shape it will have, so that the examples type-check.
// The guards that exist today are in `conclave/fencing`.
import type { Fenced } from "conclave";
import type { Queryable } from "conclave/stores/postgres";

export interface PostgresFence {
  /** Inside a transaction: refuses an older token with `TOKEN_STALE`; else remembers this one and keeps the row locked until commit. */
  admit(transaction: Queryable, resource: string, by: Fenced): Promise<void>;
  schema(): string;
}

export declare function postgresFence(options?: { readonly table?: string | undefined }): PostgresFence;
