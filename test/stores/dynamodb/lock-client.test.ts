// The layout of the Amazon DynamoDB Lock Client: against the contract, as far as a layout without sessions can keep it; and in one election with candidates that write what
// the Java client writes, request by request: items in its format, under its conditions. The client itself is Java, and is not run here.
import {
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createCandidate, openStore } from "conclave";
import { dynamodb, lockClient } from "conclave/stores/dynamodb";
import { storeConformance } from "conclave/testing";
import * as server from "../../../scripts/servers/dynamodb.mjs";
import { nowMs, sleep, Stage } from "../../support/processes.ts";
import { useServers } from "../../support/servers.ts";
import { call, claim, hold, open } from "../moves.ts";

const servers = useServers(server);
const url = (): string => servers().urls[0] ?? "";
const NO_SESSION = "the layout has no sessions: a session is a nonce, which nothing knows and nothing ends";
const SKIPPED: readonly (readonly [name: string, reason: string])[] = [
  ["a keep of a session that was never opened answers session-lost", NO_SESSION],
  ["a keep of an ended session answers session-lost", NO_SESSION],
  ["opening again with the nonce of an ended session answers session-lost", NO_SESSION],
  ["a claim by an ended session is not applied", NO_SESSION],
  ["a keep reports what stands in its session and was not sent along", NO_SESSION],
  ["a session that names no beats is kept and ended as ever", NO_SESSION],
  [
    "claims of one batch are answered in their order, each for itself",
    `one of its claims is by an ended session; ${NO_SESSION}`,
  ],
  ["versions of a name never repeat: not across release, re-claim and the end of a session", NO_SESSION],
  ["ending a session frees all that it held", NO_SESSION],
  ["an ended session has nothing left in flight: its claims are refused wherever they were aimed", NO_SESSION],
];

describe("the layout lock-client", () => {
  const skip = SKIPPED.map(([name, reason]) => ({ name, reason }));
  for (const { name, run } of storeConformance(async () => lockClient(url()), { skip })) it(name, run, 60_000);

  it("is opened by a URL that says so, and by no function that promises tokens", async () => {
    const store = await openStore(`${url()}&layout=lock-client`);
    expect(store.guarantee.fencing).toBe("unfenced");
    expect(() => dynamodb(`${url()}&layout=lock-client`)).toThrow(/lockClient\(url\)/);
    expect(() => dynamodb(`${url()}&layout=other`)).toThrow(/native or lock-client/);
    expect(lockClient(url(), { partitionKey: "id" }).url).toContain("layout=lock-client&partitionKey=id");
    await store.close();
  });

  it("takes no item whose holder has renewed between the taker's read and its write", async () => {
    const client = server.clientOf(servers().nodes[0]?.url ?? "");
    const store = lockClient(client, { table: server.TABLE });
    const [holder, taker] = [await open(store), await open(store)];
    const mine = await hold(store, holder, "overtaken");
    const meddled = lockClient(
      {
        send: async (command, options) => {
          if ((command as object).constructor.name === "PutItemCommand") await store.keep(holder, [mine], call());
          return await client.send(command, options);
        },
      },
      { table: server.TABLE },
    );
    expect(await claim(meddled, taker, "overtaken")).toMatchObject({
      kind: "beaten",
      seat: { holder: { bid: mine.bid } },
    });
    expect(await store.keep(holder, [mine], call())).toMatchObject({ kind: "kept", lost: [] });
    client.destroy();
  });

  it("must be accepted as unfenced: the compiler says so, and so does the candidate", () => {
    // @ts-expect-error a store without tokens needs unfenced: true
    expect(() => createCandidate({ store: lockClient(url()) })).toThrow(/cannot fence/);
  });
});

/** As the Java client asks, with its defaults: it deletes what it releases, unless told otherwise. */
class Theirs {
  readonly #client: DynamoDBClient;
  readonly #name: string;
  readonly #owner: string;
  readonly #leaseMs: number;
  #mine: string | undefined;
  #seen: { readonly rvn: string; readonly atMs: number } | undefined;

  constructor(client: DynamoDBClient, name: string, owner: string, leaseMs: number) {
    this.#client = client;
    this.#name = name;
    this.#owner = owner;
    this.#leaseMs = leaseMs;
  }

  get #table(): { readonly TableName: string } {
    return { TableName: server.TABLE };
  }

  /** One round of its loop. */
  async tryAcquire(): Promise<boolean> {
    const { Item: item } = await this.#client.send(
      new GetItemCommand({ ...this.#table, Key: { key: { S: this.#name } }, ConsistentRead: true }),
    );
    if (item === undefined) return await this.#put("attribute_not_exists(#pk)", {});
    if (item["isReleased"] !== undefined)
      return await this.#put("attribute_exists(#pk) AND #ir = :ir", { ":ir": { S: "1" } }, { "#ir": "isReleased" });
    const rvn = item["recordVersionNumber"]?.S ?? "";
    if (this.#seen?.rvn !== rvn) this.#seen = { rvn, atMs: performance.now() };
    if (performance.now() - this.#seen.atMs < Number(item["leaseDuration"]?.S)) return false;
    return await this.#put(
      "attribute_exists(#pk) AND #rvn = :rvn",
      { ":rvn": { S: rvn } },
      { "#rvn": "recordVersionNumber" },
    );
  }

  async #put(
    condition: string,
    values: Record<string, { S: string }>,
    names: Record<string, string> = {},
  ): Promise<boolean> {
    const rvn = randomUUID();
    const written = await this.#client
      .send(
        new PutItemCommand({
          ...this.#table,
          Item: {
            key: { S: this.#name },
            ownerName: { S: this.#owner },
            leaseDuration: { S: `${this.#leaseMs}` },
            recordVersionNumber: { S: rvn },
          },
          ConditionExpression: condition,
          ExpressionAttributeNames: { "#pk": "key", ...names },
          ...(Object.keys(values).length === 0 ? {} : { ExpressionAttributeValues: values }),
        }),
      )
      .catch(unlessBeaten);
    if (written !== undefined) this.#mine = rvn;
    return written !== undefined;
  }

  async heartbeat(): Promise<boolean> {
    const next = randomUUID();
    const values = { ":ld": { S: `${this.#leaseMs}` }, ":newRvn": { S: next }, ...this.#isMine };
    const written = await this.#client
      .send(
        new UpdateItemCommand({
          ...this.#table,
          Key: { key: { S: this.#name } },
          UpdateExpression: "SET #ld = :ld, #rvn = :newRvn",
          ConditionExpression: "attribute_exists(#pk) AND #rvn = :rvn AND #on = :on",
          ExpressionAttributeNames: {
            "#pk": "key",
            "#ld": "leaseDuration",
            "#rvn": "recordVersionNumber",
            "#on": "ownerName",
          },
          ExpressionAttributeValues: values,
        }),
      )
      .catch(unlessBeaten);
    if (written !== undefined) this.#mine = next;
    return written !== undefined;
  }

  get #isMine(): Record<string, { S: string }> {
    return { ":rvn": { S: this.#mine ?? "" }, ":on": { S: this.#owner } };
  }

  async release(isKept = false): Promise<void> {
    const condition = {
      ...this.#table,
      Key: { key: { S: this.#name } },
      ConditionExpression: "attribute_exists(#pk) AND #rvn = :rvn AND #on = :on",
    };
    const names = { "#pk": "key", "#rvn": "recordVersionNumber", "#on": "ownerName" };
    if (isKept)
      await this.#client.send(
        new UpdateItemCommand({
          ...condition,
          UpdateExpression: "SET #ir = :ir",
          ExpressionAttributeNames: { ...names, "#ir": "isReleased" },
          ExpressionAttributeValues: { ...this.#isMine, ":ir": { S: "1" } },
        }),
      );
    else
      await this.#client.send(
        new DeleteItemCommand({
          ...condition,
          ExpressionAttributeNames: names,
          ExpressionAttributeValues: this.#isMine,
        }),
      );
  }
}

function unlessBeaten(error: Error): undefined {
  if (error.name !== "ConditionalCheckFailedException") throw error;
}

describe("in one election with the Java client's requests", () => {
  let client: DynamoDBClient;
  let names = 0;
  let name = "";
  beforeAll(() => {
    client = server.clientOf(servers().nodes[0]?.url ?? "");
  });
  afterAll(() => client.destroy());
  beforeEach(() => {
    name = `mixed-${++names}`;
  });
  const candidate = (ttlMs = 1_500) => createCandidate({ store: lockClient(url()), unfenced: true, ttlMs, id: "ours" });
  const item = async () =>
    (
      await client.send(
        new GetItemCommand({ TableName: server.TABLE, Key: { key: { S: name } }, ConsistentRead: true }),
      )
    ).Item;

  it("ours leads with an item as theirs, theirs waits, and leads when ours resigns", async () => {
    await using ours = candidate();
    const term = await ours.election(name).campaign();
    expect(await item()).toEqual({
      key: { S: name },
      ownerName: { S: expect.stringMatching(/^ours_.+#.+$/) },
      leaseDuration: { S: "1500" },
      recordVersionNumber: { S: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    });
    const theirs = new Theirs(client, name, "java", 1_500);
    const until = performance.now() + 3_000;
    while (performance.now() < until) {
      expect(await theirs.tryAcquire()).toBe(false);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(term.isHeld()).toBe(true); // two ttls later
    await term.resign();
    expect(await theirs.tryAcquire()).toBe(true);
    expect(await item()).toMatchObject({ ownerName: { S: "java" } });
  }, 20_000);

  it.each([
    ["deletes its item", false],
    ["marks its item as released", true],
  ])(
    "theirs leads and ours waits; theirs %s, and ours leads",
    async (_, isKept) => {
      const theirs = new Theirs(client, name, "java", 1_500);
      expect(await theirs.tryAcquire()).toBe(true);
      await using ours = candidate();
      let isElected = false;
      const campaign = ours
        .election(name)
        .campaign()
        .then((term) => ((isElected = true), term));
      for (let beats = 0; beats < 6; beats++) {
        await new Promise((resolve) => setTimeout(resolve, 500));
        expect(await theirs.heartbeat()).toBe(true);
        expect(isElected).toBe(false);
      }
      await theirs.release(isKept);
      expect((await campaign).isHeld()).toBe(true);
      expect(await theirs.heartbeat()).toBe(false);
    },
    20_000,
  );

  it("theirs dies, and ours waits for its lease of silence, not for its own", async () => {
    const theirs = new Theirs(client, name, "java", 3_000);
    expect(await theirs.tryAcquire()).toBe(true);
    await using ours = candidate(1_000);
    const from = performance.now();
    await ours.election(name).campaign();
    expect(performance.now() - from).toBeGreaterThan(3_000);
    expect(await theirs.heartbeat()).toBe(false);
  }, 20_000);

  it("ours is killed, and theirs leads after our lease of silence, not before", async () => {
    const stage = new Stage();
    try {
      const ttlMs = 3_000;
      const store = lockClient(url()).url;
      const ours = await stage.start({ store, id: "ours", name, ttlMs, unfenced: true });
      await ours.hears("elected", 0, 30_000);
      const theirs = new Theirs(client, name, "java", ttlMs);
      await ours.kill();
      // Theirs counts from its own first look at what it found.
      const fromMs = nowMs();
      while (!(await theirs.tryAcquire())) await sleep(50);
      expect(nowMs() - fromMs).toBeGreaterThan(ttlMs - 100);
    } finally {
      await stage.end();
    }
  }, 60_000);

  it("ours loses its term when theirs has taken the item, within one renewal", async () => {
    await using ours = candidate(1_000);
    const term = await ours.election(name).campaign();
    await client.send(new DeleteItemCommand({ TableName: server.TABLE, Key: { key: { S: name } } }));
    expect(await new Theirs(client, name, "java", 5_000).tryAcquire()).toBe(true);
    await expect.poll(() => term.isHeld(), { timeout: 5_000 }).toBe(false);
  }, 20_000);
});
