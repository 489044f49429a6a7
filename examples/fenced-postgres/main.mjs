// An account in PostgreSQL that two leaders book to. The old one's statement is already in the database, waiting for a lock, when the new one takes over. First
// with a check of the token in the statement itself, which is not enough: under READ COMMITTED it was made before the wait. Then with fence.admit.
// Works in a table of its own, which it drops in the end. Needs pg, and a PostgreSQL to write to:
//
//   npm run build && DATABASE_URL=postgres://… node examples/fenced-postgres/main.mjs
import { createCandidate } from "conclave";
import { postgresFence } from "conclave/fencing/postgres";
import { memory } from "conclave/stores/memory";
import pg from "pg";

const store = memory();
const first = createCandidate({ store, id: "first", ttlMs: 1_000 });
const second = createCandidate({ store, id: "second", ttlMs: 1_000 });
const old = await first.election("account").campaign();
await old.resign(); // or its lease ran out while it was stopped
const successor = await second.election("account").campaign();

const table = `conclave_example_${process.pid}`;
const fence = postgresFence({ table: `${table}_fence` });
const pool = new pg.Pool({ connectionString: process.env["DATABASE_URL"] });
const pause = () => new Promise((resolve) => setTimeout(resolve, 200));
await pool.query(fence.schema());
await pool.query(`CREATE TABLE ${table} (balance int, token numeric); INSERT INTO ${table} VALUES (100, 0)`);
const balance = async () => /** @type {number} */ ((await pool.query(`SELECT balance FROM ${table}`)).rows[0].balance);

/** @template R @param {(tx: import("pg").PoolClient) => Promise<R>} work @returns {Promise<R>} */
async function transact(work) {
  const tx = await pool.connect();
  try {
    await tx.query("BEGIN");
    const result = await work(tx);
    await tx.query("COMMIT");
    return result;
  } catch (error) {
    await tx.query("ROLLBACK");
    throw error;
  } finally {
    tx.release();
  }
}

// The check is in the statement, and looks right: "only if nobody newer has been here". But it reads the greatest token before it waits for the lock.
const booking = `UPDATE ${table} SET balance = balance - 30, token = $1 WHERE $1 >= (SELECT max(token) FROM ${table})`;
/** @type {Promise<unknown> | undefined} */
let late;
await transact(async (tx) => {
  await tx.query(`UPDATE ${table} SET token = $1`, [successor.token.value]); // the successor is here
  late = pool.query(booking, [old.token.value]); // of the old leader, and waits for the row
  await pause();
});
await late;
const unfenced = await balance();
console.log(`without a fence: ${unfenced} although the old leader was replaced`);

await pool.query(`UPDATE ${table} SET balance = 100`);
/** @param {import("conclave").Fenced} term @param {number} amount */
const book = (term, amount) =>
  transact(async (tx) => {
    await fence.admit(tx, "account", term);
    await tx.query(`UPDATE ${table} SET balance = balance - $1`, [amount]);
  });
/** @type {Promise<string> | undefined} */
let refused;
await transact(async (tx) => {
  await fence.admit(tx, "account", successor);
  refused = book(old, 30).then(
    () => "written",
    (/** @type {{ code: string }} */ error) => error.code,
  );
  await pause();
});
const answer = await refused;
const fenced = await balance();
console.log(`with a fence:    ${fenced}; the late booking: ${answer}`);

await pool.query(`DROP TABLE ${table}, ${table}_fence`);
await Promise.all([first.close(), second.close(), pool.end()]);
if (unfenced !== 70 || fenced !== 100 || answer !== "TOKEN_STALE") process.exitCode = 1;
