// What `conclave schema postgres` prints: tables, the rules that hold for every writer, the functions that candidates call, and what a role needs. The SQL is in
// sql/*.sql; here its parts are put together. Run once by an owner; running it again changes nothing.
import { assert } from "../../base/assert.ts";
import { filled, statementsOf } from "../../base/sql-text.ts";
import { sql as BANS } from "./sql/bans.sql";
import { sql as FUNCTIONS } from "./sql/functions.sql";
import { sql as GRANTS } from "./sql/grants.sql";
import { sql as LOCK } from "./sql/lock.sql";
import { sql as MAKING } from "./sql/making.sql";
import { sql as MEMOS } from "./sql/memos.sql";
import { sql as NOTICES } from "./sql/notices.sql";
import { sql as RULES } from "./sql/rules.sql";
import { sql as STATEMENTS } from "./sql/statements.sql";
import { sql as TABLES } from "./sql/tables.sql";

export const LAYOUT = 1;

/** Whom a script and its functions serve. */
export interface Served {
  readonly layout: number;
  /** The one before, as soon as there is one. */
  readonly oldest: number;
}
const SERVED: Served = { layout: LAYOUT, oldest: 1 };

export const DEFAULT_SCHEMA = "conclave";

/** A plain name needs no quotes, and none of our texts is surprised by it. */
export function isPlainName(name: string): boolean {
  return /^[a-z_][a-z0-9_]{0,50}$/.test(name) && !name.startsWith("pg_");
}

/** The whole script. `role`: who else may stand in elections, beside the owner. */
export function schemaSql(schema: string, role?: string, served: Served = SERVED): string {
  const parts = [
    "BEGIN;",
    within(schema, LOCK),
    bodySql(schema, "'postgres-' || gen_random_uuid()", served),
    ...(role === undefined ? [] : [grantSql(schema, role)]),
    "COMMIT;\n",
  ];
  return parts.join("\n");
}

/** `domain`: of the tokens, as it is written in a statement. */
function bodySql(schema: string, domain: string, { layout, oldest }: Served): string {
  const values = { layout: `${layout}`, oldest: `${oldest}`, domain };
  return [TABLES, RULES, FUNCTIONS, MEMOS, BANS, NOTICES].map((part) => within(schema, part, values)).join("\n");
}

/** The same as one statement, which does nothing unless the schema is empty. `domain`: of the tokens; so that the maker knows that it was the one. */
export function makingSql(schema: string, domain: string, patienceMs: number): string {
  return within(schema, MAKING, { patience: `${patienceMs}`, body: bodySql(schema, `'${domain}'`, SERVED) });
}

/** What a role needs, and no more. */
export function grantSql(schema: string, role: string): string {
  return within(schema, GRANTS, { role: `"${role.replaceAll('"', '""')}"` });
}

const statement = statementsOf(STATEMENTS);

/** ← a domain, as it is written in a statement. → whether it is that of the tables. */
export function isDomainSql(schema: string, domain: string): string {
  return within(schema, statement("IS_DOMAIN"), { domain });
}

/** Says `word`, which has no quote in it, to those who listen to the schema. */
export function notifySql(schema: string, word: string): string {
  return within(schema, statement("NOTIFY"), { word: `'${word}'` });
}

/** → a JSON array of names in order, up to `most`: all that have ever been led. */
export function listNamesSql(schema: string, most: number): string {
  return within(schema, statement("LIST_NAMES"), { most: `${most}` });
}

/** The name goes into the script without quotes, also inside texts and functions: nothing but a plain one may. */
function within(schema: string, sql: string, values: Readonly<Record<string, string>> = {}): string {
  assert(isPlainName(schema), "the name of the schema is a plain one");
  return filled(sql, { schema, ...values });
}
