// @ts-check
// `dynamodb:` on one dynalite, beside the fewest correct requests on the bare client: locks taken and given back, 1,000 leaderships held, and leaders that crash or leave.
// Requests are those that the server counts. dynalite is a stand-in on the same machine: the numbers of requests are those of the service, the times are not.
//
// The fewest correct requests write the seat without a look, by one condition, and give it back by another. They know of no session, so that every lock that is held would be
// renewed by itself, and they cannot tell that their process was declared dead. Ours asks for its session beside the seat: one read more.
import { DynamoDBClient, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createCandidate } from "conclave";
import { dynamodb } from "conclave/stores/dynamodb";
import { leaving, nodeRecipe, takeOver, together } from "./networked/failover.mjs";
import { held } from "./networked/held.mjs";
import { exitRows, EXTENT, heldRows, lockRows, say, timeRows } from "./networked/rows.mjs";
import { canSupervise, supervised } from "./networked/supervised.mjs";
import { inTurns, wordsFor } from "./networked/turns.mjs";
import { keepResults } from "./results/keep.mjs";
import { CREDENTIALS, makeTable, REGION, TABLE, urlOf } from "../scripts/servers/dynamodb.mjs";
import { freePorts } from "../scripts/servers/process.mjs";

const HELD = 1_000;
const TTL_MS = 15_000;
const CRASH_TTL_MS = 2_000;
/** Silence as the taker counts it (ttl · (1 + 2ρ) and a grain), and a look every tenth of the ttl; each look is two requests. */
const CRASH_BOUND_MS = Math.ceil(CRASH_TTL_MS * 1.01 + 5 + CRASH_TTL_MS / 10 + 100);
const SETTLE_MS = 2_000;
const TITLES = { ours: "withLock", minimal: "the fewest correct requests on the bare client (no session)" };

/** @typedef {{ url: string, endpoint: string, count: () => Promise<Record<string, number>> }} Place */

export async function run() {
  const [port = 0, countPort = 0] = await freePorts(2);
  const program = fileURLToPath(new URL("networked/dynalite.mjs", import.meta.url));
  const server = spawn(process.execPath, [program, `${port}`, `${countPort}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(server.stdout, "data");
  const endpoint = `http://127.0.0.1:${port}`;
  const count = async () =>
    /** @type {Promise<Record<string, number>>} */ (
      fetch(`http://127.0.0.1:${countPort}`).then((answer) => answer.json())
    );
  const place = { endpoint, url: urlOf(endpoint, TABLE), count };
  /** @type {Record<string, unknown>} */
  const raw = {};
  try {
    await makeTable(endpoint, TABLE);
    const rows = [
      ...(await heldOnes(place, raw)),
      ...(await locks(place, raw)),
      ...(await exits(place, raw)),
      ...(await crashes(place, raw)),
      ...(await keeper(place, raw)),
    ];
    if (process.env["BENCH_KEEP"] === "1") keepResults("dynamodb", raw);
    return rows;
  } finally {
    server.kill();
  }
}

/** @param {Place} place @param {Record<string, unknown>} raw */
async function locks({ url, endpoint, count }, raw) {
  const candidate = createCandidate({ store: dynamodb(url), ttlMs: TTL_MS });
  const client = new DynamoDBClient({ endpoint, region: REGION, credentials: CREDENTIALS, maxAttempts: 1 });
  const withLock = (/** @type {string} */ name) => candidate.withLock(name, async () => {});
  const all = { ours: withLock, minimal: bareLock(client) };
  const { turns, turnMs } = EXTENT;
  const one = await inTurns(all, { names: 1, turns, turnMs, count });
  const many = await inTurns(all, { names: 64, turns, turnMs, count });
  await candidate.close();
  client.destroy();
  Object.assign(raw, { locks: { 1: one, 64: many } });
  return [...lockRows("dynamodb", 1, one, TITLES, []), ...lockRows("dynamodb", 64, many, TITLES, [])];
}

/** @param {DynamoDBClient} client */
function bareLock(client) {
  let bids = 0;
  return async (/** @type {string} */ name) => {
    const bid = { S: `bid.${++bids}` };
    const item = { TableName: TABLE, Key: { key: { S: `bare/${name}` } } };
    const names = { "#bid": "bid", "#token": "token" };
    await client.send(
      new UpdateItemCommand({
        ...item,
        UpdateExpression: "SET #bid = :bid, #token = if_not_exists(#token, :zero) + :one",
        ConditionExpression: "attribute_not_exists(#bid)",
        ExpressionAttributeNames: names,
        ExpressionAttributeValues: { ":bid": bid, ":zero": { N: "0" }, ":one": { N: "1" } },
        ReturnValues: "UPDATED_NEW",
      }),
    );
    await client.send(
      new UpdateItemCommand({
        ...item,
        UpdateExpression: "REMOVE #bid",
        ConditionExpression: "#bid = :bid",
        ExpressionAttributeNames: { "#bid": "bid" },
        ExpressionAttributeValues: { ":bid": bid },
      }),
    );
  };
}

/** @param {Place} place @param {Record<string, unknown>} raw */
async function heldOnes({ url, count }, raw) {
  const forMs = EXTENT.heldMs;
  const names = Array.from({ length: HELD }, (_, index) => `held-${index}`);
  const seen = await held({
    count,
    forMs,
    take: async () => {
      const candidate = createCandidate({ store: dynamodb(url), ttlMs: TTL_MS, drainMs: 100 });
      const terms = await Promise.all(names.map((name) => candidate.election(name).campaign()));
      return async () => {
        if (!terms.every((term) => term.isHeld())) throw new Error("a term was lost while nothing was wrong");
        await candidate.close();
      };
    },
  });
  say(`asked while 1,000 were held for ${forMs / 1000} s: ${wordsFor(seen.by)}`);
  Object.assign(raw, { held: seen });
  return heldRows(`dynamodb, 1,000 leaderships held, ttl ${TTL_MS / 1000} s`, seen);
}

/** @param {Place} place @param {Record<string, unknown>} raw */
async function exits({ url, count }, raw) {
  const ours = await leaving(nodeRecipe("dynamodb", url, "leaving", 60_000), { count, settleMs: SETTLE_MS });
  Object.assign(raw, { leaves: ours });
  return exitRows(
    "dynamodb, after a clean exit: conclave",
    ours,
    ({ BatchGetItem = 0, UpdateItem = 0 }) => BatchGetItem + UpdateItem,
    "",
  );
}

/** @param {Place} place @param {Record<string, unknown>} raw */
async function crashes({ url }, raw) {
  const { pairs, rounds } = EXTENT;
  const options = { how: /** @type {const} */ ("crash"), rounds, settleMs: SETTLE_MS, phaseMs: CRASH_TTL_MS / 3 };
  const ours = await together(pairs, (pair) =>
    takeOver(nodeRecipe("dynamodb", url, `crash-${pair}`, CRASH_TTL_MS), options),
  );
  Object.assign(raw, { crashes: ours });
  return timeRows(`dynamodb, after a crash, ttl ${CRASH_TTL_MS / 1000} s: conclave`, ours, `≤ ${CRASH_BOUND_MS}`);
}

/** Waiters look once a second: no keeper can be quicker than that. @param {Place} place @param {Record<string, unknown>} raw */
async function keeper({ url }, raw) {
  if (!canSupervise()) return [];
  const samples = await supervised(url, EXTENT.supervised);
  Object.assign(raw, { supervised: samples });
  return timeRows("dynamodb, conclave run killed, ttl 60 s, to the next command's first act", samples, "");
}
