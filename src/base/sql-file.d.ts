// A file of SQL is its text. The build puts it in (scripts/sql-text.mjs), so that nothing is read when a program runs, and users can bundle us.
declare module "*.sql" {
  export const sql: string;
}

/** The same for a script that a Redis server runs. */
declare module "*.lua" {
  export const lua: string;
}
