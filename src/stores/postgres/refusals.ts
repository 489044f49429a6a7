// Errors of the server about our tables, in words that a reader can act on: what is wrong, why, what to do next. src/clients/postgres/errors.ts has everything else that can go wrong
// between here and the server.
import type { RefusalCode, Refused, Unknown } from "../../base/outcome.ts";
import { Refusal } from "../../base/refusal.ts";
import * as client from "../../clients/postgres/errors.ts";

/** Where, for messages: never with a password in it. */
export interface PostgresWhereabouts {
  /** "db.example:5432/app", or "the database". */
  readonly place: string;
  readonly schema: string;
}

export function outcomeOf(error: unknown, where: PostgresWhereabouts): Refused | Unknown {
  return client.outcomeOf(error, where.place, (trouble) => ofLimit(trouble, where) ?? ofStatement(trouble, where));
}

function refusal(code: RefusalCode, message: string, details?: ConstructorParameters<typeof Refusal>[2]): Refusal {
  return new Refusal(code, `postgres: ${message}`, details);
}

/** What this server cannot do, however often it is asked. */
function ofLimit(
  { code, severity, text }: client.Trouble,
  { place, schema }: PostgresWhereabouts,
): client.Ruling | undefined {
  switch (code) {
    case "54000":
      return [
        "STORE_UNSUPPORTED",
        `a name or id is too long for PostgreSQL, which takes about 2700 bytes (${text}). Choose a shorter one.`,
        false,
      ];
    case "22003":
      return [
        "STORE_UNSUPPORTED",
        `a counter in schema "${schema}" of ${place} has given its last token, and none may come twice (${text}). Use another name, or another schema, which has a new token domain (conclave fence adopt). Nothing was written.`,
        false,
      ];
    case "XX001":
    case "XX002":
      if (!client.endedOnlyTheStatement(severity)) return undefined;
      return [
        "STORE_FOREIGN_DATA",
        `${place} is damaged (${text}). Restore it, or REINDEX SCHEMA ${schema}, while no candidate runs.`,
        false,
      ];
    default:
      return undefined;
  }
}

/** The statement failed. */
function ofStatement(
  { code, text }: client.Trouble,
  { place, schema }: PostgresWhereabouts,
): client.Ruling | undefined {
  const option = schema === "conclave" ? "" : ` --schema ${schema}`;
  switch (code) {
    case "3F000":
      return [
        "STORE_UNSUPPORTED",
        `${place} has no tables of conclave in schema "${schema}" (${text}). A candidate that starts makes them, unless createTables is false. Or run once, as their owner: npx conclave schema postgres${option} | psql "$DATABASE_URL"`,
        false,
      ];
    case "42883":
      if (!/\.(?:open|keep|claim|take|release|give|look|ask|write_memo|read_memos)\(/.test(text))
        return foreign(text, place, schema);
      return [
        "STORE_UNSUPPORTED",
        `${place} has no tables of conclave in schema "${schema}", or those of an earlier version (${text}). Run once, as their owner: npx conclave schema postgres${option} | psql "$DATABASE_URL"`,
        false,
      ];
    case "42501":
      return [
        "STORE_DENIED",
        `this user may not use the tables in schema "${schema}" of ${place} (${text}). Run once, as their owner: npx conclave schema postgres${option} --grant USER | psql "$DATABASE_URL"`,
        false,
      ];
    case "42P01":
    case "42703":
    case "42804":
    case "42846":
    case "42P13":
    case "42809":
    case "21000":
    case "P0001":
    case "23502":
    case "23514":
      return foreign(text, place, schema);
    case "22P02":
    case "22P05":
    case "22021":
      return [
        "STORE_UNSUPPORTED",
        `a name, id or value holds what PostgreSQL cannot: a NUL, or half a surrogate pair (${text}). Choose another one.`,
        false,
      ];
    case "55P03": // lock_timeout
    case "57014":
      return [
        "STORE_UNREACHABLE",
        `${place} was too slow, and the statement was cancelled (${text}). Look for what holds a lock on "${schema}", or for a busy server. It is tried again.`,
        true,
      ];
    default:
      return undefined;
  }
}

function foreign(text: string, place: string, schema: string): client.Ruling {
  return [
    "STORE_FOREIGN_DATA",
    `schema "${schema}" of ${place} is not laid out as conclave lays it out, or a row of it makes no sense (${text}). Somebody has changed it. Nothing was written. Use another schema, or put it right while no candidate runs.`,
    false,
  ];
}

/** The tables are there, and their functions know nothing of `what`. `meanwhile`: what to do until they do. */
export function knowsNo(
  what: string,
  meanwhile: string,
  cause: unknown,
  { place, schema }: PostgresWhereabouts,
): Refused {
  const option = schema === "conclave" ? "" : ` --schema ${schema}`;
  const message = `the functions in schema "${schema}" of ${place} are from a version of conclave that knows no ${what}. Run as their owner, while candidates run or not: npx conclave schema postgres${option} | psql "$DATABASE_URL" (with --grant USER, if candidates log in as another user). ${meanwhile}`;
  return refusal("STORE_UNSUPPORTED", message, { cause }).refused;
}

export function mayNotMake(cause: unknown, { place, schema }: PostgresWhereabouts): Refused {
  const option = schema === "conclave" ? "" : ` --schema ${schema}`;
  const message = `${place} has no tables of conclave in schema "${schema}", and this user may not make the tables (${client.troubleOf(cause).text}). Run once, as an owner: npx conclave schema postgres${option} --grant USER | psql "$DATABASE_URL"`;
  return refusal("STORE_DENIED", message, { cause: client.withoutScript(cause) }).refused;
}

/** An answer that none of our functions gives. */
export function edited(what: string, value: unknown, { place, schema }: PostgresWhereabouts): Refusal {
  const shown = JSON.stringify(String(value).slice(0, 60));
  return refusal(
    "STORE_FOREIGN_DATA",
    `${what} is ${shown} in schema "${schema}" of ${place}: somebody has edited it. Nothing was written. Put it right while no candidate runs.`,
  );
}

export function otherLayout(layout: unknown, own: number, { place, schema }: PostgresWhereabouts): Refusal {
  const isNewer = Number(layout) > own;
  return refusal(
    "STORE_UNSUPPORTED",
    `schema "${schema}" of ${place} has layout ${String(layout)}, and this version of conclave knows layout ${own}. ${isNewer ? "A newer version made it: update this one" : "Use another schema, or update it first: npx conclave schema postgres | psql, which keeps the tokens"}. Nothing was written.`,
  );
}

export function insideTransaction(): Refusal {
  return refusal(
    "STORE_UNREACHABLE",
    "a transaction is open on the client that was passed in, and what is done inside it may never be committed. Pass a Pool, or a client that nobody else uses. It is tried again.",
    { retryable: true },
  );
}
