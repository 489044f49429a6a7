// A database of its own for a test, with conclave's tables in it, and a way to do things to it by hand as an operator would.
import pg from "pg";
import { postgresFence } from "conclave/fencing/postgres";
import { postgresSchema } from "conclave/stores/postgres";

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Runs `sql` on a connection of its own. */
export async function byHand(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client(url);
  client.on("error", () => {});
  await client.connect();
  try {
    const result = (await client.query(sql)) as pg.QueryResult | pg.QueryResult[];
    return (Array.isArray(result) ? result.at(-1) : result)?.rows ?? [];
  } finally {
    await client.end();
  }
}

let databases = 0;

/** Makes a database on the server at `server`, with tables for elections and a fence; its URL. */
export async function newDatabase(server: string, schema: string = postgresSchema()): Promise<string> {
  const name = `test_${process.pid}_${++databases}`;
  await byHand(server, `CREATE DATABASE ${name}`);
  const url = server.replace(/[^/]*$/, name);
  await byHand(url, schema + postgresFence().schema());
  return url;
}
