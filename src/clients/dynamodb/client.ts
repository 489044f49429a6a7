// A client of DynamoDB with as much as the driver needs: one table, whose items are found by a text key. It knows nothing of elections.
//
// The requests are sent by AWS's own client (`@aws-sdk/client-dynamodb`, an optional peer), which is loaded at first use. A client that we make sends each request once: a request that is sent again
// after a lost answer would be answered as a conflict with itself. A client that the user has made may try again, so a caller that writes must recognise its own write in a conflict (`Written`,
// `conflict`).
// Every read is consistent. No request has a timeout of its own: the caller's signal ends it, and then its outcome is not known. Its connection is then closed, and so are the idle connections, which may
// be just as dead: they would be tried one after the other, and each try would cost the time limit of a request.
import type { Agent } from "node:http";
import { Recent } from "../../base/recent.ts";
import { Refusal } from "../../base/refusal.ts";
import { loadPeer } from "../load-peer.ts";
import type { StopSignal } from "../stop-signal.ts";
import { hearsStop, type SdkClient, withStop } from "./stop.ts";

/** A client of DynamoDB that the user has made: `DynamoDBClient` (or `DynamoDB`) of @aws-sdk/client-dynamodb 3. */
export interface DynamoClient {
  send(command: never, options?: { readonly abortSignal?: AbortSignal }): Promise<unknown>;
}

/** A value as DynamoDB writes it. */
export interface Attribute {
  readonly S?: string | undefined;
  readonly N?: string | undefined;
  readonly BOOL?: boolean | undefined;
  readonly B?: Uint8Array | undefined;
  readonly M?: Item | undefined;
}

export type Item = Readonly<Record<string, Attribute>>;

/** A write of one item under a condition. In the expressions `#a` is the attribute `a`, unless `names` says otherwise. */
export interface Change {
  readonly key: string;
  readonly condition: string;
  readonly update: string;
  readonly values: Item;
  readonly names?: Readonly<Record<string, string>> | undefined;
}

/** `conflict`: the condition did not hold; `item` is the item that is in the table. */
export type Written = { readonly kind: "written" } | { readonly kind: "conflict"; readonly item: Item | undefined };

/** The properties of a table that are checked before it is used. */
export interface TableShape {
  readonly id: string | undefined;
  /** The names of the attributes that are the table's key, with their types: "key S". */
  readonly keys: readonly string[];
  /** The table is copied to other regions. */
  readonly isGlobal: boolean;
  readonly indexes: readonly string[];
}

/** The place that a client of our own connects to. The AWS client finds out the fields that are undefined as it always does: from the environment, a profile or a role. */
export interface DynamoPlace {
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined;
}

const PEER = "@aws-sdk/client-dynamodb";
/** DynamoDB takes this many keys in one BatchGetItem. */
const KEYS_PER_READ = 100;

type Commands = Readonly<Record<string, new (input: object) => object>>;
type Agents = Readonly<Record<"httpAgent" | "httpsAgent", Agent>>;
type SdkInput = Readonly<Record<string, unknown>>;

/** A loose read costs half, and may show the item as it was a moment ago: it is for hints alone. */
export type Consistency = "consistent" | "loose";

export class DynamoTable {
  readonly table: string;
  /** The attribute that is the table's key. */
  readonly keyName: string;
  /** The client was made here: it tries nothing twice, and it is closed here. */
  readonly isOwn: boolean;
  readonly #connection: DynamoPlace;
  #client: DynamoClient | undefined;
  /** Only a client that was made here has them. */
  #agents: Agents | undefined;
  #commands: Commands | undefined;

  constructor(table: string, keyName: string, source: DynamoClient | DynamoPlace) {
    this.table = table;
    this.keyName = keyName;
    this.isOwn = !("send" in source);
    this.#client = "send" in source ? source : undefined;
    this.#connection = "send" in source ? {} : source;
  }

  /** Returns one place for each key, in the order of the keys; it is undefined where there is no item. Throws `Throttled` if the table has no capacity left for some of them. */
  async read(
    keys: readonly string[],
    signal: StopSignal,
    consistency: Consistency = "consistent",
  ): Promise<readonly (Item | undefined)[]> {
    const ConsistentRead = consistency === "consistent";
    const wanted = [...new Set(keys)];
    const found = new Map<string, Item>();
    const [only] = wanted;
    if (wanted.length === 1 && only !== undefined) {
      const { Item: item } = await this.#send("GetItemCommand", { Key: this.#key(only), ConsistentRead }, signal);
      return keys.map(() => item as Item | undefined);
    }
    const chunks = Array.from({ length: Math.ceil(wanted.length / KEYS_PER_READ) }, (_, index) =>
      wanted.slice(index * KEYS_PER_READ, (index + 1) * KEYS_PER_READ),
    );
    await Promise.all(chunks.map((chunk) => this.#readChunk(chunk, found, ConsistentRead, signal)));
    return keys.map((key) => found.get(key));
  }

  /** Keys that did not fit into one answer are asked for again, as long as each answer brings something. */
  async #readChunk(
    keys: readonly string[],
    found: Map<string, Item>,
    ConsistentRead: boolean,
    signal: StopSignal,
  ): Promise<void> {
    let left: readonly SdkInput[] = keys.map((key) => this.#key(key));
    while (left.length > 0) {
      const request = { RequestItems: { [this.table]: { Keys: left, ConsistentRead } } };
      const answer = await this.#send("BatchGetItemCommand", request, signal, false);
      const items = ((answer["Responses"] ?? {}) as Record<string, Item[]>)[this.table] ?? [];
      for (const item of items) found.set(item[this.keyName]?.S ?? "", item);
      const rest = (answer["UnprocessedKeys"] ?? {}) as Record<string, { readonly Keys?: readonly SdkInput[] }>;
      const unread = rest[this.table]?.Keys ?? [];
      if (unread.length === left.length) throw new Throttled();
      left = unread;
    }
  }

  /** Replaces the whole item. */
  async put(
    key: string,
    item: Item,
    when: Pick<Change, "condition" | "values" | "names">,
    signal: StopSignal,
  ): Promise<Written> {
    const { condition, values, names } = when;
    const request = {
      Item: { ...item, ...this.#key(key) },
      ConditionExpression: condition,
      ExpressionAttributeNames: namesIn(condition, names),
      ...(Object.keys(values).length === 0 ? {} : { ExpressionAttributeValues: values }),
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    };
    return await this.#write("PutItemCommand", key, request, signal);
  }

  async change({ key, condition, update, values, names }: Change, signal: StopSignal): Promise<Written> {
    const request = {
      Key: this.#key(key),
      UpdateExpression: update,
      ConditionExpression: condition,
      ExpressionAttributeNames: namesIn(`${condition} ${update}`, names),
      ExpressionAttributeValues: values,
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    };
    return await this.#write("UpdateItemCommand", key, request, signal);
  }

  async #write(verb: string, key: string, request: SdkInput, signal: StopSignal): Promise<Written> {
    try {
      await this.#send(verb, request, signal);
      return { kind: "written" };
    } catch (error) {
      if ((error as { readonly name?: unknown }).name !== "ConditionalCheckFailedException") throw error;
      return { kind: "conflict", item: await this.#standing(error, key, signal) };
    }
  }

  /** Some servers (older ones, stand-ins for tests) do not say which item stood there: they are asked for it. Without that answer it is not known whose write was in the way. */
  async #standing(conflict: unknown, key: string, signal: StopSignal): Promise<Item | undefined> {
    const { Item: item } = conflict as { readonly Item?: Item };
    if (item !== undefined) return item;
    try {
      return (await this.read([key], signal))[0];
    } catch (cause) {
      throw new Error("the condition of a write did not hold, and it could not be read what stands there", { cause });
    }
  }

  /** The keys of an index whose own key is `value`. The index may be late. */
  async keysOf(index: string, attribute: string, value: string, signal: StopSignal): Promise<readonly string[]> {
    const keys: string[] = [];
    for (let from: unknown; ;) {
      const answer = await this.#send(
        "QueryCommand",
        {
          IndexName: index,
          KeyConditionExpression: `#${attribute} = :value`,
          ExpressionAttributeNames: { [`#${attribute}`]: attribute },
          ExpressionAttributeValues: { ":value": { S: value } },
          ...(from === undefined ? {} : { ExclusiveStartKey: from }),
        },
        signal,
      );
      for (const item of (answer["Items"] ?? []) as Item[]) keys.push(item[this.keyName]?.S ?? "");
      from = answer["LastEvaluatedKey"];
      if (from === undefined) return keys;
    }
  }

  /** Returns every key that begins with `prefix`. It reads the whole table, page by page. */
  async *keysFrom(prefix: string, signal: StopSignal): AsyncGenerator<string> {
    for (let from: unknown; ;) {
      const answer = await this.#send(
        "ScanCommand",
        {
          ConsistentRead: true,
          ProjectionExpression: "#k",
          FilterExpression: "begins_with(#k, :prefix)",
          ExpressionAttributeNames: { "#k": this.keyName },
          ExpressionAttributeValues: { ":prefix": { S: prefix } },
          ...(from === undefined ? {} : { ExclusiveStartKey: from }),
        },
        signal,
      );
      for (const item of (answer["Items"] ?? []) as Item[]) yield item[this.keyName]?.S ?? "";
      from = answer["LastEvaluatedKey"];
      if (from === undefined) return;
    }
  }

  async describe(signal: StopSignal): Promise<TableShape> {
    const { Table: table } = await this.#send("DescribeTableCommand", {}, signal);
    const shape = (table ?? {}) as {
      readonly TableId?: string;
      readonly KeySchema?: readonly { readonly AttributeName: string }[];
      readonly AttributeDefinitions?: readonly { readonly AttributeName: string; readonly AttributeType: string }[];
      readonly Replicas?: readonly unknown[];
      readonly GlobalTableVersion?: string;
      readonly GlobalSecondaryIndexes?: readonly { readonly IndexName: string }[];
    };
    const types = new Map(shape.AttributeDefinitions?.map((each) => [each.AttributeName, each.AttributeType]));
    return {
      id: shape.TableId,
      keys: (shape.KeySchema ?? []).map((each) => `${each.AttributeName} ${types.get(each.AttributeName) ?? ""}`),
      isGlobal: shape.GlobalTableVersion !== undefined || (shape.Replicas?.length ?? 0) > 0,
      indexes: (shape.GlobalSecondaryIndexes ?? []).map((each) => each.IndexName),
    };
  }

  /** Closes the client if it was made here. */
  close(): void {
    if (this.isOwn) (this.#client as { destroy?: () => void } | undefined)?.destroy?.();
  }

  #key(key: string): SdkInput {
    return { [this.keyName]: { S: key } };
  }

  async #send(verb: string, input: SdkInput, signal: StopSignal, isOfTable = true): Promise<SdkInput> {
    if (signal.aborted) throw signal.reason;
    this.#commands ??= loadCommands();
    if (this.#client === undefined) {
      this.#agents = makeAgents();
      this.#client = makeClient(this.#commands, this.#connection, this.#agents);
    }
    const Command = this.#commands[verb];
    if (Command === undefined) throw tooOld(verb);
    const whole = isOfTable ? { TableName: this.table, ...input } : input;
    try {
      if (this.isOwn) return (await this.#client.send(new Command(withStop(whole, signal)) as never)) as SdkInput;
      return (await this.#client.send(new Command(whole) as never, { abortSignal: abortSignalOf(signal) })) as SdkInput;
    } catch (error) {
      if (signal.aborted) closeIdle(this.#agents);
      throw error;
    }
  }
}

function closeIdle(agents: Agents | undefined): void {
  for (const { freeSockets } of Object.values(agents ?? {}))
    for (const sockets of Object.values(freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

/** The server has answered that it has no capacity for this request now: nothing was done. */
export class Throttled extends Error {
  override readonly name = "ThrottlingException";

  constructor() {
    super("the table left every key of a read unprocessed");
  }
}

/** The names in expressions of late: nearly all requests of a process have the same few expressions. */
const namesKnown = new Recent<string, Readonly<Record<string, string>>>(100);

function namesIn(expression: string, given?: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (given !== undefined) return readNames(expression, given);
  const known = namesKnown.get(expression);
  if (known !== undefined) return known;
  const names = readNames(expression, {});
  namesKnown.set(expression, names);
  return names;
}

function readNames(expression: string, given: Readonly<Record<string, string>>): Record<string, string> {
  const names: Record<string, string> = {};
  for (const [, name = ""] of expression.matchAll(/#(\w+)/g)) names[`#${name}`] = given[`#${name}`] ?? name;
  return names;
}

/** Loads the package that the first request would load. */
export function loadDynamoClient(): void {
  loadPeer(PEER);
}

function loadCommands(): Commands {
  const peer = loadPeer(PEER);
  if (peer === undefined)
    throw new Refusal("STORE_UNSUPPORTED", `dynamodb: ${PEER} is not installed. Run: npm install ${PEER}`);
  return peer as Commands;
}

function tooOld(what: string): Refusal {
  return new Refusal("STORE_UNSUPPORTED", `dynamodb: the ${PEER} that is installed has no ${what}. Install version 3.`);
}

const CONNECTS_WITHIN_MS = 5_000;

/** The agents are like those that the AWS client makes for itself: many connections, which stay open. The endpoint decides which of the two is used. */
function makeAgents(): Agents {
  const settings = { keepAlive: true, maxSockets: 50 };
  return {
    httpAgent: new (process.getBuiltinModule("node:http").Agent)(settings),
    httpsAgent: new (process.getBuiltinModule("node:https").Agent)(settings),
  };
}

function makeClient(commands: Commands, { region, endpoint, credentials }: DynamoPlace, agents: Agents): DynamoClient {
  const { DynamoDBClient } = commands;
  if (DynamoDBClient === undefined) throw tooOld("DynamoDBClient");
  const client = new DynamoDBClient({
    maxAttempts: 1,
    cacheMiddleware: true, // otherwise it sorts some thirty functions anew for every request, which takes as long as our part of it
    requestHandler: { connectionTimeout: CONNECTS_WITHIN_MS, ...agents },
    ...(region === undefined ? {} : { region }),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(credentials === undefined ? {} : { credentials }),
  }) as DynamoClient & SdkClient;
  hearsStop(client);
  return client;
}

/** A client of the user gets a real one: nobody knows what it does with it. */
function abortSignalOf(signal: StopSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  const controller = new AbortController();
  signal.addEventListener("abort", () => controller.abort(signal.reason), { once: true });
  return controller.signal;
}
