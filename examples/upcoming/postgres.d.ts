// Declared, not yet written: `conclave/stores/postgres` is planned. This is the shape it will have, so that the examples type-check.
import type { FencedStore, Reopenable } from "conclave";

/** The one method that is used of a `pg` pool, a client or a transaction. */
export interface Queryable {
  query(
    sql: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number | null }>;
}

export declare function postgres(url: string): FencedStore & Reopenable;
export declare function postgres(client: Queryable): FencedStore;
