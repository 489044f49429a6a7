// What goes wrong, and what is then said: a code, what is wrong, what to do; and that nothing was written where it says so.
import { CreateTableCommand, GetItemCommand, PutItemCommand, ScanCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { openStore } from "conclave";
import type { Kept, Refused, Store } from "conclave/stores/contract";
import { dynamodb, dynamodbSchema } from "conclave/stores/dynamodb";
import * as server from "../../../scripts/servers/dynamodb.mjs";
import { useServers } from "../../support/servers.ts";
import { call, claim, open } from "../moves.ts";
import { Middleman, type Treatment } from "./middleman.ts";

const servers = useServers(server);
const endpoint = (): string => servers().nodes[0]?.url ?? "";
let middleman: Middleman;
let client: ReturnType<typeof server.clientOf>;
beforeAll(async () => {
  middleman = await Middleman.before(endpoint());
  client = server.clientOf(endpoint());
});
afterAll(async () => {
  client.destroy();
  await middleman.stop();
});
beforeEach(() => {
  middleman.treat = () => undefined;
  middleman.asked.length = 0;
});

let nonces = 0;
const opening = (store: Store): Promise<Kept> =>
  store.keep({ nonce: `e.${++nonces}`, candidate: "web", ttlMs: 5_000 }, [], call(AbortSignal.timeout(10_000)));

async function refusedBy(store: Store): Promise<Refused> {
  const kept = await opening(store);
  await store.close();
  expect(kept.kind).toBe("refused");
  return kept as Refused;
}

const answering = (treatment: Treatment): Store => {
  middleman.treat = () => treatment;
  return dynamodb(middleman.url());
};

describe("a URL", () => {
  it.each([
    ["dynamodb://", /names no table/],
    ["dynamodb://x", /names no table/],
    ["dynamodb://conclave?reigon=eu", /reigon is not an option.*region/],
    ["dynamodb://conclave?endpoint=127.0.0.1:1", /endpoint .* is not a URL/],
    ["dynamodb://conclave?lookMs=5", /lookMs 5 is not a number of milliseconds from 20 to 60000/],
    ["dynamodb://KEY:50%zz@conclave", /write %25 for the sign itself/],
    ["dynamodb://conclave?lookMs=soon", /lookMs "soon" is not a number/],
  ])("%s is refused with what to write", async (url, message) => {
    await expect(openStore(url)).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringMatching(message),
    });
  });

  it("names a table with capitals, and its secret is not printed with the store", () => {
    const store = dynamodb("dynamodb://KEY:s3cret@My.Table-1?region=eu-central-1");
    expect(JSON.stringify({ ...store })).not.toContain("s3cret");
    expect(store.url).toContain("My.Table-1");
  });

  it("may be a client; anything else is refused", () => {
    expect(() => dynamodb(undefined as unknown as string)).toThrow(/environment variable/);
    expect(() => dynamodb({} as never, { table: "conclave" })).toThrow(/neither a URL nor a DynamoDBClient/);
    expect(() => dynamodb(client, { table: "" })).toThrow(/not the name of a table/);
    expect(() => dynamodb(client, { tabel: "conclave" } as never)).toThrow(/tabel is not an option/);
  });
});

describe("a server", () => {
  it("that is not there cannot be reached: nothing was sent, and it is tried again", async () => {
    const refused = await refusedBy(dynamodb(server.urlOf("http://127.0.0.1:9", "conclave")));
    expect(refused).toMatchObject({ code: "STORE_UNREACHABLE", retryable: true });
    expect(refused.message).toMatch(/http:\/\/127\.0\.0\.1:9 cannot be reached.*ECONNREFUSED/);
  });

  it("without TLS, where TLS was asked for, is said to be that", async () => {
    const refused = await refusedBy(dynamodb(server.urlOf(endpoint().replace("http:", "https:"), "conclave")));
    expect(refused).toMatchObject({ code: "STORE_DENIED", retryable: false });
    expect(refused.message).toMatch(/does not speak TLS as expected \(EPROTO\)\. Write http:/);
  });

  it.each([
    ["UnrecognizedClientException", "STORE_DENIED", false, /does not accept the credentials/],
    ["ExpiredTokenException", "STORE_DENIED", true, /have expired/],
    ["AccessDeniedException", "STORE_DENIED", false, /"Action":\["dynamodb:DescribeTable".*table\/conclave\/index/],
    ["ProvisionedThroughputExceededException", "STORE_UNREACHABLE", true, /no capacity/],
    ["ThrottlingException", "STORE_UNREACHABLE", true, /no capacity/],
  ])("that answers %s was not asked in vain: %s", async (type, code, retryable, message) => {
    const refused = await refusedBy(answering({ status: 400, type }));
    expect(refused).toMatchObject({ code, retryable, message: expect.stringMatching(message) });
  });

  it("that fails, or says nothing, leaves it unknown; and it was asked once", async () => {
    for (const treatment of [{ status: 500, type: "InternalServerError" }, "lost"] as const) {
      const store = answering(treatment);
      expect(await opening(store)).toMatchObject({ kind: "unknown" });
      expect(middleman.verbs()).toEqual(["DescribeTable"]);
      await store.close();
    }
  });

  it("that is never asked, because nobody knows with which credentials, is said to be that", async () => {
    const home = { AWS_SHARED_CREDENTIALS_FILE: "/dev/null", AWS_CONFIG_FILE: "/dev/null" };
    for (const [name, value] of Object.entries({ ...home, AWS_EC2_METADATA_DISABLED: "true", AWS_ACCESS_KEY_ID: "" }))
      vi.stubEnv(name, value);
    const refused = await refusedBy(dynamodb(`dynamodb://conclave?region=local&endpoint=${endpoint()}`));
    expect(refused).toMatchObject({ code: "STORE_DENIED", retryable: false });
    expect(refused.message).toMatch(/has found no credentials.*AWS_PROFILE/);
  });

  it("whose region is not known is never asked", async () => {
    vi.stubEnv("AWS_REGION", "");
    vi.stubEnv("AWS_CONFIG_FILE", "/dev/null");
    const refused = await refusedBy(dynamodb("dynamodb://k:s@conclave"));
    expect(refused.message).toMatch(/no region is known.*\?region=/);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
  });
});

describe("a table", () => {
  it("that is not there is named with the command that makes it", async () => {
    const refused = await refusedBy(dynamodb(server.urlOf(endpoint(), "elsewhere")));
    expect(refused).toMatchObject({ code: "STORE_UNSUPPORTED", retryable: false });
    expect(refused.message).toContain("aws dynamodb create-table --table-name elsewhere --region local");
  });

  it("with another key is somebody else's: nothing was written", async () => {
    await client.send(
      new CreateTableCommand({
        TableName: "orders",
        BillingMode: "PAY_PER_REQUEST",
        AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
        KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
      }),
    );
    const refused = await refusedBy(dynamodb(server.urlOf(endpoint(), "orders")));
    expect(refused).toMatchObject({ code: "STORE_FOREIGN_DATA", retryable: false });
    expect(refused.message).toMatch(/its key is id S.*Nothing was written/);
    await expect.poll(async () => (await client.send(new ScanCommand({ TableName: "orders" }))).Count).toBe(0);
  });

  it.each([{ GlobalTableVersion: "2019.11.21" }, { Replicas: [{ RegionName: "eu-west-1" }] }])(
    "that is a global one is refused before anything is written: %o",
    async (more) => {
      const key = { AttributeName: "key", AttributeType: "S" };
      const Table = { TableId: "t", KeySchema: [{ ...key, KeyType: "HASH" }], AttributeDefinitions: [key], ...more };
      const refused = await refusedBy(answering({ answer: { Table } }));
      expect(refused).toMatchObject({ code: "STORE_UNSUPPORTED", retryable: false });
      expect(refused.message).toMatch(/is a global table.*Nothing was written/);
      expect(middleman.verbs()).toEqual(["DescribeTable"]);
    },
  );

  it("with somebody else's item at the place of a seat: it is left as it is", async () => {
    const item = { key: { S: "seat/theirs" }, price: { N: "3" } };
    await client.send(new PutItemCommand({ TableName: server.TABLE, Item: item }));
    const store = dynamodb(server.urlOf(endpoint(), server.TABLE));
    const session = await open(store);
    const claimed = await claim(store, session, "theirs");
    expect(claimed).toMatchObject({ kind: "refused", code: "STORE_FOREIGN_DATA", retryable: false });
    expect(claimed).toHaveProperty("message", expect.stringMatching(/"seat\/theirs".*Nothing was written/));
    const key = { key: { S: "seat/theirs" } };
    expect((await client.send(new GetItemCommand({ TableName: server.TABLE, Key: key }))).Item).toEqual(item);
    await store.close();
  });

  it("takes no name that is too long, and says so", async () => {
    const store = dynamodb(server.urlOf(endpoint(), server.TABLE));
    const claimed = await claim(store, await open(store), "n".repeat(2_100));
    expect(claimed).toMatchObject({ kind: "refused", code: "STORE_UNSUPPORTED", retryable: false });
    expect(claimed).toHaveProperty("message", expect.stringMatching(/too long/));
    await store.close();
  });

  it("takes no item that is too large, and says so", async () => {
    const store = dynamodb(server.urlOf(endpoint(), server.TABLE));
    const session = await open(store);
    const [claimed] = await store.claim(
      [{ session, name: "large", bid: "large.1" as never, over: "none:" as never, value: "v".repeat(410_000) }],
      call(),
    );
    expect(claimed).toMatchObject({ kind: "refused", code: "STORE_FULL", retryable: false });
    await store.close();
  });
});

describe("dynamodbSchema", () => {
  it("says what the server for tests makes, as a command and as CloudFormation, and which rights are needed", () => {
    const text = dynamodbSchema({ table: "votes" });
    expect(text).toContain("aws dynamodb create-table --table-name votes --billing-mode PAY_PER_REQUEST");
    for (const part of [
      "AttributeName: key,",
      "IndexName: conclave-held",
      "AttributeName: heldBy,",
      "TableName: votes",
    ])
      expect(text).toContain(part);
    expect(text).toContain('"dynamodb:UpdateItem"');
    expect(text.match(/time-to-live-specification \S+|TimeToLiveSpecification: .*/g)).toEqual([
      "time-to-live-specification Enabled=true,AttributeName=goneAt",
      "TimeToLiveSpecification: { AttributeName: goneAt, Enabled: true }",
    ]);
    expect(() => dynamodbSchema({ table: "a b" })).toThrow(/not the name of a table/);
  });
});
