// @ts-check
// `dynamodb:` on one dynalite, beside the fewest correct requests on the bare client: locks taken and given back, 1,000 leaderships held, and leaders that crash or leave.
// Requests are those that the server counts. dynalite is a stand-in on the same machine: the numbers of requests are those of the service, the times are not.
//
// The fewest correct requests write the seat without a look, by one condition, and give it back by another; each has a timeout. They know of no session, so that every lock that is held would be
// renewed by itself, and they cannot tell that their process was declared dead. Ours is as many for a name that the same process has given back; the first time it reads.
import { DynamoDBClient, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createCandidate } from "conclave";
import { dynamodb } from "conclave/stores/dynamodb";
import { leaving, nodeRecipe } from "./networked/failover.mjs";
import { crashOurs, holdMany, killRun, SETTLE_MS } from "./networked/ours.mjs";
import { exitRows, EXTENT, lockRows, say } from "./networked/rows.mjs";
import { difference, inTurns, wordsFor } from "./networked/turns.mjs";
import { keepResults } from "./results/keep.mjs";
import { CREDENTIALS, makeTable, REGION, TABLE, urlOf } from "../scripts/servers/dynamodb.mjs";
import { freePorts } from "../scripts/servers/process.mjs";

const TTL_MS = 15_000;
const OURS = { store: "dynamodb", many: 1_000, ttlMs: TTL_MS };
const ANSWER_WITHIN_MS = 5_000;
const CRASH_TTL_MS = 2_000;
/** Silence as the taker counts it (ttl · (1 + 2ρ) and a grain), and a look every tenth of the ttl; each look is two requests. */
const CRASH_BOUND_MS = Math.ceil(CRASH_TTL_MS * 1.01 + 5 + CRASH_TTL_MS / 10 + 100);
/** What a takeover within 250 ms costs: so often a waiter asks. */
const LOOK_MS = 50;
/** Of one name, in one process; at a ttl at which dynalite can answer them all when they begin at once. */
const CROWD = 500;
const CROWD_TTL_MS = 60_000;
const CROWD_MS = 10_000;
const CROWD_WITHIN_MS = 120_000;
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
      ...(await holdMany({ ...OURS, open: () => dynamodb(place.url), count }, raw)),
      ...(await locks(place, raw)),
      ...(await exits(place, raw)),
      ...(await crashOurs("dynamodb", place.url, CRASH_TTL_MS, CRASH_BOUND_MS, raw)),
      ...(await crowd(place, raw)),
      // A scout looks ten times a second, or each waiter as often as the URL says: no keeper can be quicker than that.
      ...(await killRun("dynamodb", place.url, raw)),
      ...(await killRun("dynamodb", `${place.url}&lookMs=${LOOK_MS}`, raw, { more: `, lookMs ${LOOK_MS}` })),
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
  // Without a timeout a lost answer would be waited for for ever. AWS's client has one as a setting, which costs less than a signal for each request.
  const client = new DynamoDBClient({
    endpoint,
    region: REGION,
    credentials: CREDENTIALS,
    maxAttempts: 1,
    requestHandler: { requestTimeout: ANSWER_WITHIN_MS, throwOnRequestTimeout: true },
  });
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

/** How many wait for one name, each as a process of its own would; what they ask in a second, and how many lead when the leader leaves. @param {Place} place @param {Record<string, unknown>} raw */
async function crowd({ url, count }, raw) {
  const waiting = new Set();
  let [errors, led] = [0, 0];
  const candidates = Array.from({ length: CROWD + 1 }, (_, index) =>
    createCandidate({
      store: dynamodb(url),
      ttlMs: CROWD_TTL_MS,
      drainMs: 100,
      onEvent: ({ type }) => {
        if (type === "waiting") waiting.add(index);
        if (type === "error") errors++;
      },
    }),
  );
  const [first, ...others] = candidates;
  const term = await first?.election("crowd").campaign();
  const next = others.map((each) => each.election("crowd").campaign());
  for (const each of next) each.then(() => led++).catch(() => {}); // closed
  const begun = performance.now();
  while (waiting.size < CROWD && performance.now() - begun < CROWD_WITHIN_MS) await sleep(100);
  const tookMs = performance.now() - begun;
  await sleep(SETTLE_MS);
  const before = await count();
  await sleep(CROWD_MS);
  const { by, total } = difference(before, await count());
  say(`asked while ${CROWD} waited for ${CROWD_MS / 1000} s: ${wordsFor(by)}; errors: ${errors}`);
  const leftAt = performance.now();
  await term?.resign();
  await Promise.race(next);
  const nextMs = performance.now() - leftAt;
  await sleep(SETTLE_MS);
  Object.assign(raw, { crowd: { tookMs, by, errors, nextMs, led, waiting: waiting.size } });
  await Promise.all(candidates.map((each) => each.close()));
  const what = `dynamodb, ${CROWD} candidates wait for one name`;
  return [
    { name: `${what}: all wait after`, value: tookMs, unit: "ms", goal: "" },
    { name: `${what}: requests at the store`, value: (total / CROWD_MS) * 1000, unit: "/s", goal: "" },
    { name: `${what}: errors`, value: errors, unit: "", goal: "≤ 0" },
    { name: `${what}: the next one leads after`, value: nextMs, unit: "ms", goal: "" },
    { name: `${what}: lead then`, value: led, unit: "", goal: "≤ 1" },
  ];
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
