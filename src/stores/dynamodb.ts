// `dynamodb://TABLE` is a store in one table of DynamoDB. A race in session layout: a session item that is renewed alone, seats that point to it and carry the token.
// Rivals take over after a ttl without a renewal, on their own clocks; no wall clock decides, and no time to live of the table.
//
// Every write has a condition, and every read is consistent. Not promised: a global table (refused), a table that is deleted and made anew.
// docs/stores/dynamodb.md has it in sentences.
import { invalidConfig } from "../base/errors.ts";
import { problemsOfKeys } from "../base/option-keys.ts";
import { show } from "../base/show.ts";
import { looksUnset } from "../base/url.ts";
import type { FencedStore, Reopenable, UnfencedStore } from "./contract.ts";
import { type DynamoClient, DynamoTable } from "../clients/dynamodb/client.ts";
import { isTableName, readUrl, type TableUrl } from "../clients/dynamodb/url.ts";
import { DynamoStore } from "./dynamodb/dynamodb-store.ts";
import { LockClientStore } from "./dynamodb/lock-client-store.ts";
import { policyOf } from "./dynamodb/refusals.ts";
import { KEY, templateText } from "./dynamodb/schema.ts";

const LOCK_CLIENT = "lock-client";
const NATIVE = "native";

export type { DynamoClient } from "../clients/dynamodb/client.ts";

/** Options of `dynamodb` with a client of your own. */
export interface DynamoOptions {
  /** The name of the table. `conclave schema dynamodb` prints how it is made. */
  readonly table: string;
  /**
   * How often each candidate that waits looks, from 20 to 60,000: each look is a request. @default 1000, and ten times in a ttl at least; and one of those who wait for a name looks
   * every 100 ms
   */
  readonly lookMs?: number | undefined;
}

/** Options of `lockClient`. */
export interface LockClientOptions {
  /** The name of the table, with a client of your own. */
  readonly table?: string | undefined;
  /** The attribute that is the table's key, as the Java candidates have it. @default "key" */
  readonly partitionKey?: string | undefined;
  /** How often a candidate that waits looks, from 20 up: each look is a request. @default 1000, and ten times in a ttl at least */
  readonly lookMs?: number | undefined;
}

/**
 * A store in the table at `url` (dynamodb://TABLE?region=REGION), or in a table behind a `DynamoDBClient` that you have made; `close()` leaves that one open.
 * Nothing is opened before the first call. The table must be there.
 */
export function dynamodb(url: string): FencedStore & Reopenable;
export function dynamodb(client: DynamoClient, options: DynamoOptions): FencedStore;
export function dynamodb(source: string | DynamoClient, options?: DynamoOptions): FencedStore {
  if (typeof source !== "string") {
    const table = tableFor("dynamodb", source, options ?? {}, ["table", "lookMs"]);
    const lookMs = looksFor("dynamodb", options?.lookMs);
    return new DynamoStore(new DynamoTable(table, KEY, source), { table, isBorrowed: true }, { lookMs });
  }
  const { table, connection, settings } = urlFor("dynamodb", source);
  const layout = settings.get("layout") ?? NATIVE;
  if (layout !== NATIVE)
    throw invalidConfig("dynamodb", [
      layout === LOCK_CLIENT
        ? "the layout lock-client has no tokens: open it with lockClient(url), or with openStore"
        : `layout ${show(layout)} is not known: native or lock-client`,
    ]);
  const { region, endpoint } = connection;
  const where = { table, region, endpoint, isBorrowed: false };
  const lookMs = looksFor("dynamodb", settings.get("lookMs"));
  return new UrlStore(source, new DynamoTable(table, KEY, connection), where, { lookMs });
}

/**
 * A store in the layout of the Amazon DynamoDB Lock Client, for a fleet in which Java candidates stand for the same names: at `url`
 * (dynamodb://TABLE?region=REGION&layout=lock-client), or behind a `DynamoDBClient` that you have made. It has no tokens, and is as safe as the Java client.
 */
export function lockClient(url: string, options?: LockClientOptions): UnfencedStore & Reopenable;
export function lockClient(client: DynamoClient, options: LockClientOptions): UnfencedStore;
export function lockClient(source: string | DynamoClient, given?: LockClientOptions): UnfencedStore {
  const options = given ?? {};
  if (typeof source !== "string") {
    const table = tableFor("lockClient", source, options, ["table", "partitionKey", "lookMs"]);
    const keyName = keyFor(options.partitionKey);
    const lookMs = looksFor("lockClient", options.lookMs);
    return new LockClientStore(new DynamoTable(table, keyName, source), { table, isBorrowed: true }, lookMs);
  }
  const problems = problemsOfKeys(options, ["partitionKey", "lookMs"]);
  if (problems.length > 0) throw invalidConfig("lockClient", problems);
  const { table, connection, settings } = urlFor("lockClient", source);
  const keyName = keyFor(options.partitionKey ?? settings.get("partitionKey"));
  const { region, endpoint } = connection;
  const where = { table, region, endpoint, isBorrowed: false };
  const lookMs = looksFor("lockClient", options.lookMs ?? settings.get("lookMs"));
  const again = reopeningUrl(source, { layout: LOCK_CLIENT, partitionKey: keyName, lookMs });
  return new UrlLocks(again, new DynamoTable(table, keyName, connection), where, lookMs);
}

function tableFor(
  call: string,
  client: DynamoClient,
  options: { readonly table?: string | undefined },
  known: string[],
): string {
  if (typeof (client as DynamoClient | undefined)?.send !== "function")
    throw invalidConfig(call, [
      `${show(client)} is neither a URL nor a DynamoDBClient${looksUnset(client) ? ". Is the environment variable set?" : ""}`,
    ]);
  const problems = problemsOfKeys(options, known);
  const { table } = options;
  if (typeof table !== "string" || !isTableName(table))
    problems.push(`table ${show(table)} is not the name of a table`);
  if (problems.length > 0 || table === undefined) throw invalidConfig(call, problems);
  return table;
}

function urlFor(call: string, url: string): TableUrl {
  const read = readUrl(url, ["layout", "partitionKey", "lookMs"]);
  if (typeof read === "string") throw invalidConfig(call, [read]);
  return read;
}

function keyFor(partitionKey: string = KEY): string {
  if (typeof partitionKey === "string" && partitionKey.length > 0 && partitionKey.length <= 255) return partitionKey;
  throw invalidConfig("lockClient", [`partitionKey ${show(partitionKey)} is not the name of an attribute`]);
}

const QUICKEST_LOOK_MS = 20;
const SLOWEST_LOOK_MS = 60_000;

function looksFor(call: string, asked: number | string | undefined): number | undefined {
  const lookMs = typeof asked === "string" && /^\d{1,6}$/.test(asked) ? Number(asked) : asked;
  if (lookMs === undefined) return undefined;
  if (typeof lookMs === "number" && lookMs >= QUICKEST_LOOK_MS && lookMs <= SLOWEST_LOOK_MS) return lookMs;
  throw invalidConfig(call, [
    `lookMs ${show(lookMs)} is not a number of milliseconds from ${QUICKEST_LOOK_MS} to ${SLOWEST_LOOK_MS}`,
  ]);
}

/** With all settings in it, so that opening it again gives the same store. */
function reopeningUrl(url: string, given: Readonly<Record<string, string | number | undefined>>): string {
  const [base = "", query = ""] = (url.split("#")[0] ?? "").split("?", 2);
  const settings = new URLSearchParams(query);
  for (const [key, value] of Object.entries(given)) if (value !== undefined) settings.set(key, `${value}`);
  return `${base}?${settings.toString()}`;
}

/** How the table is made, as `conclave schema dynamodb` prints it: CloudFormation, with the command of the aws tool and the rights of a candidate as comments. */
export function dynamodbSchema(options: { readonly table?: string | undefined } = {}): string {
  const { table = "conclave" } = options ?? {};
  if (!isTableName(table)) throw invalidConfig("dynamodb", [`table ${show(table)} is not the name of a table`]);
  return templateText(table, policyOf(table));
}

class UrlStore extends DynamoStore implements Reopenable {
  readonly #url: string;

  constructor(url: string, ...parts: ConstructorParameters<typeof DynamoStore>) {
    super(...parts);
    this.#url = url;
  }

  /** It may carry a secret: not a field, so that it is not printed with the object. */
  get url(): string {
    return this.#url;
  }
}

class UrlLocks extends LockClientStore implements Reopenable {
  readonly #url: string;

  constructor(url: string, ...parts: ConstructorParameters<typeof LockClientStore>) {
    super(...parts);
    this.#url = url;
  }

  get url(): string {
    return this.#url;
  }
}
