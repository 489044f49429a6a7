// The conformance suite on dynalite: from a URL, whose client tries nothing twice, and with a client as a user makes it, which does.
import { storeConformance } from "conclave/testing";
import { dynamodb } from "conclave/stores/dynamodb";
import { afterAll, describe, expect, it } from "vitest";
import * as server from "../../../scripts/servers/dynamodb.mjs";
import { useServers } from "../../support/servers.ts";

const servers = useServers(server);
const closing: (() => void)[] = [];
afterAll(() => closing.forEach((close) => close()));

describe("dynamodb, from a URL", () => {
  for (const { name, run } of storeConformance(async () => dynamodb(servers().urls[0] ?? ""))) it(name, run, 60_000);
});

describe("dynamodb, with a client that the user has made", () => {
  const open = async () => {
    const client = server.clientOf(servers().nodes[0]?.url ?? "");
    closing.push(() => client.destroy());
    return dynamodb(client, { table: server.TABLE });
  };
  for (const { name, run } of storeConformance(open)) it(name, run, 60_000);

  it("stays open when the store is closed", async () => {
    const client = server.clientOf(servers().nodes[0]?.url ?? "");
    await dynamodb(client, { table: server.TABLE }).close();
    const { ListTablesCommand } = await import("@aws-sdk/client-dynamodb");
    expect((await client.send(new ListTablesCommand({}))).TableNames).toContain(server.TABLE);
    client.destroy();
  });
});
