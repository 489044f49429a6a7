// For the type checker of this repository only (paths in tsconfig.json): as much of drizzle-orm/pg-core as the example uses. Its own declarations name databases that
// are not installed here.
interface Table {
  readonly row: unknown;
}

interface Transaction {
  execute(query: string): Promise<unknown>;
  insert(table: Table): { values(row: { row: string }): Promise<unknown> };
}

export interface Database {
  transaction(work: (tx: Transaction) => Promise<void>): Promise<void>;
}

export function text(): unknown;
export function pgTable(name: string, columns: { row: unknown }): Table;
