// @ts-check
// A stand-in for DynamoDB on loopback: dynalite, from npm. It keeps conditional writes, consistent reads and indexes as the service does; it has neither transactions nor
// time to live, and does not say what stood in the way of a condition. With a table `conclave`, made as `conclave schema dynamodb` says.
import { CreateTableCommand, DescribeTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { freePorts, launch, privateFolder } from "./process.mjs";

/** None: it is among the dependencies for development. @type {string[]} */
export const packages = [];

export const TABLE = "conclave";
/** It takes any. */
export const CREDENTIALS = { accessKeyId: "local", secretAccessKey: "local" };
export const REGION = "local";

const program = createRequire(import.meta.url).resolve("dynalite/cli.js");

/**
 * @param {object} [options]
 * @param {string} [options.folder] of its data and log; a private one if not given
 * @param {number} [options.nodes] there is one
 * @returns {Promise<import("./process.mjs").Servers>}
 */
export async function start({ folder } = {}) {
  const own = folder === undefined ? privateFolder("dynamodb") : undefined;
  const base = folder ?? own?.folder ?? "";
  const [port = 0] = await freePorts(1);
  const endpoint = `http://127.0.0.1:${port}`;
  const node = await launch({
    url: endpoint,
    command: process.execPath,
    args: [
      program,
      "--host",
      "127.0.0.1",
      "--port",
      `${port}`,
      "--path",
      path.join(base, "data"),
      "--createTableMs",
      "0",
    ],
    log: path.join(base, "dynalite.log"),
    ready: async () => (await fetch(endpoint, { signal: AbortSignal.timeout(1_000) })).ok,
  });
  await makeTable(endpoint, TABLE);
  return {
    urls: [urlOf(endpoint, TABLE)],
    nodes: [node],
    version: async () =>
      `(dynalite ${JSON.parse(readFileSync(path.join(path.dirname(program), "package.json"), "utf8")).version})`,
    stop: async () => {
      await node.kill();
      own?.remove();
    },
  };
}

/** @param {string} endpoint @param {string} table */
export function urlOf(endpoint, table) {
  const { accessKeyId, secretAccessKey } = CREDENTIALS;
  return `dynamodb://${accessKeyId}:${secretAccessKey}@${table}?region=${REGION}&endpoint=${endpoint}`;
}

/** A client as a user makes it. @param {string} endpoint */
export function clientOf(endpoint) {
  return new DynamoDBClient({ endpoint, region: REGION, credentials: CREDENTIALS });
}

/** As `conclave schema dynamodb` says. @param {string} endpoint @param {string} table */
export async function makeTable(endpoint, table) {
  const client = clientOf(endpoint);
  try {
    await client.send(
      new CreateTableCommand({
        TableName: table,
        BillingMode: "PAY_PER_REQUEST",
        AttributeDefinitions: [
          { AttributeName: "key", AttributeType: "S" },
          { AttributeName: "heldBy", AttributeType: "S" },
        ],
        KeySchema: [{ AttributeName: "key", KeyType: "HASH" }],
        GlobalSecondaryIndexes: [
          {
            IndexName: "conclave-held",
            KeySchema: [{ AttributeName: "heldBy", KeyType: "HASH" }],
            Projection: { ProjectionType: "KEYS_ONLY" },
          },
        ],
      }),
    );
    for (;;) {
      const { Table: made } = await client.send(new DescribeTableCommand({ TableName: table }));
      if (made?.TableStatus === "ACTIVE") return;
    }
  } finally {
    client.destroy();
  }
}
