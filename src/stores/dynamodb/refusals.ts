// Errors of DynamoDB and its client, in words that a reader can act on: what is wrong, why, what to do next; and what is then known of a request.
//
// An error of the service that it gives before it writes (no capacity, no right, no table, a request that makes no sense) means: not applied. A connection that could not
// be made carried nothing. Everything else is unknown: a timeout, a reset, an internal error of the service.
// A client that tries again by itself tells only of its last try. An earlier try may have been applied, so the outcome is unknown, whatever the last error is.
import type { RefusalCode, Refused, Unknown } from "../../base/outcome.ts";
import { unknown } from "../../base/outcome.ts";
import { Refusal } from "../../base/refusal.ts";
import { makingCommand } from "./schema.ts";
import { unreachedText } from "../../clients/connect-reasons.ts";
import { isDistrusted } from "../../clients/distrusted.ts";
import { plainCause } from "../../clients/plain-cause.ts";

/** Where the table is, for messages. There is no secret in it. */
export interface DynamoWhereabouts {
  readonly table: string;
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
  /** Whether the user made the client: it may try again by itself. */
  readonly isBorrowed: boolean;
}

type Ruling = readonly [code: RefusalCode, message: string, retryable: boolean];

interface Trouble {
  readonly name: string;
  readonly code: string;
  readonly text: string;
  readonly tries: number | undefined;
}

export function outcomeOf(error: unknown, where: DynamoWhereabouts): Refused | Unknown {
  if (error instanceof Refusal) return error.refused;
  const trouble = troubleOf(error);
  const isLastOfMany = where.isBorrowed && (trouble.tries ?? 2) > 1;
  const ruling =
    ofConfig(trouble) ??
    (isLastOfMany ? undefined : (ofConnection(trouble, where) ?? ofAccess(trouble, where) ?? ofTable(trouble, where)));
  const cause = causeOf(error);
  if (ruling === undefined) return unknown(cause);
  const [code, message, retryable] = ruling;
  return { kind: "refused", code, message: `dynamodb: ${message}`, retryable, cause };
}

/** AWS asks for the id of a request when it is asked for help. */
function causeOf(error: unknown): unknown {
  const cause = plainCause(error);
  const { httpStatusCode, requestId } =
    (error as { readonly $metadata?: Record<string, unknown> } | undefined)?.$metadata ?? {};
  return requestId === undefined ? cause : Object.assign(cause as Error, { httpStatusCode, requestId });
}

function troubleOf(error: unknown): Trouble {
  const { name, code, message, $metadata } = (error ?? {}) as Record<string, unknown>;
  const { attempts } = ($metadata ?? {}) as { readonly attempts?: unknown };
  return {
    name: typeof name === "string" ? name : "",
    code: typeof code === "string" ? code : "",
    text: typeof message === "string" && message !== "" ? message : String(error),
    tries: typeof attempts === "number" ? attempts : undefined,
  };
}

/** "table conclave in eu-central-1", "table conclave at http://127.0.0.1:4567". */
export function placeOf({ table, region, endpoint }: DynamoWhereabouts): string {
  return `table ${table}${endpoint !== undefined ? ` at ${endpoint}` : region !== undefined ? ` in ${region}` : ""}`;
}

const NOT_CONNECTED = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

const NO_CREDENTIALS = new Set(["CredentialsProviderError", "TokenProviderError"]);

/** The client cannot send anything, however often it tries. */
function ofConfig({ name, text }: Trouble): Ruling | undefined {
  if (/region is missing|region not accepted/i.test(text))
    return [
      "STORE_UNSUPPORTED",
      "no region is known. Write dynamodb://TABLE?region=REGION, or set AWS_REGION. Nothing was sent.",
      false,
    ];
  if (NO_CREDENTIALS.has(name))
    return [
      "STORE_DENIED",
      `the AWS client has found no credentials (${text}). Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give the process a role. Nothing was sent.`,
      false,
    ];
  return undefined;
}

/** Nothing was ever sent. */
function ofConnection({ code, text }: Trouble, where: DynamoWhereabouts): Ruling | undefined {
  const place = where.endpoint ?? `DynamoDB${where.region === undefined ? "" : ` in ${where.region}`}`;
  if (NOT_CONNECTED.has(code))
    return [
      "STORE_UNREACHABLE",
      `${place} ${unreachedText(code, text)}. Check region, endpoint and network. It is tried again.`,
      true,
    ];
  if (isDistrusted(code) || code === "EPROTO")
    return [
      "STORE_DENIED",
      `${place} does not speak TLS as expected (${code}). Write http:// in the endpoint where the server has no TLS, or let Node trust its certificate (NODE_EXTRA_CA_CERTS).`,
      false,
    ];
  return undefined;
}

const WRONG_CREDENTIALS = new Set([
  "UnrecognizedClientException",
  "InvalidSignatureException",
  "IncompleteSignatureException",
  "MissingAuthenticationTokenException",
  "MissingAuthenticationToken",
  "InvalidClientTokenId",
  "SignatureDoesNotMatch",
]);

function ofAccess({ name, text }: Trouble, where: DynamoWhereabouts): Ruling | undefined {
  if (WRONG_CREDENTIALS.has(name))
    return [
      "STORE_DENIED",
      `AWS does not accept the credentials (${text}). Check them, and the clock of this host.`,
      false,
    ];
  if (name === "ExpiredTokenException" || name === "ExpiredToken")
    return ["STORE_DENIED", `the credentials have expired (${text}). Renew them. It is tried again.`, true];
  if (name === "AccessDeniedException")
    return [
      "STORE_DENIED",
      `a right is missing at ${placeOf(where)} (${text}). Attach to the role or user: ${JSON.stringify(policyOf(where.table))}`,
      false,
    ];
  return undefined;
}

/** Everything that a candidate sends. */
const ACTIONS = [
  "dynamodb:DescribeTable",
  "dynamodb:GetItem",
  "dynamodb:BatchGetItem",
  "dynamodb:UpdateItem",
  "dynamodb:Query",
  "dynamodb:Scan",
];

/** The IAM policy that lets a candidate take part in elections. */
export function policyOf(table: string): object {
  const arn = `arn:aws:dynamodb:*:*:table/${table}`;
  const statement = { Effect: "Allow", Action: ACTIONS, Resource: [arn, `${arn}/index/*`] };
  return { Version: "2012-10-17", Statement: [statement] };
}

const BUSY = new Set([
  "ProvisionedThroughputExceededException",
  "ThrottlingException",
  "Throttling",
  "RequestLimitExceeded",
  "LimitExceededException",
  "TransactionConflictException",
]);

function ofTable({ name, text }: Trouble, where: DynamoWhereabouts): Ruling | undefined {
  const place = placeOf(where);
  if (BUSY.has(name))
    return [
      "STORE_UNREACHABLE",
      `${place} has no capacity for more requests at the moment (${text}). Raise its capacity, or use on-demand. It is tried again.`,
      true,
    ];
  if (name === "ResourceNotFoundException")
    return [
      "STORE_UNSUPPORTED",
      `there is no ${place} (${text}). Make it once: ${makingCommand(where)} (npx conclave schema dynamodb prints it as CloudFormation too)`,
      false,
    ];
  if (
    name === "ItemCollectionSizeLimitExceededException" ||
    (name === "ValidationException" && /item size/i.test(text))
  )
    return [
      "STORE_FULL",
      `an item would be larger than DynamoDB keeps, which is 400 KB (${text}). Announce a shorter value, or keep fewer memos. Nothing was written.`,
      false,
    ];
  if (name === "ValidationException" && /hashkey|hash primary key|size limit of ?2048/i.test(text))
    return [
      "STORE_UNSUPPORTED",
      `a name or id is too long for DynamoDB, which takes about 2000 bytes (${text}). Choose a shorter one.`,
      false,
    ];
  if (name === "ValidationException" && /does not match the schema/i.test(text)) return otherTable(text, where);
  return undefined;
}

function otherTable(text: string, where: DynamoWhereabouts): Ruling {
  return [
    "STORE_FOREIGN_DATA",
    `${placeOf(where)} is not one of conclave's (${text}). Nothing was written. Use a table of its own: ${makingCommand(where)}`,
    false,
  ];
}

export function foreignTable(text: string, where: DynamoWhereabouts): Refusal {
  const [code, message] = otherTable(text, where);
  return new Refusal(code, `dynamodb: ${message}`);
}

export function globalTable(where: DynamoWhereabouts): Refusal {
  return new Refusal(
    "STORE_UNSUPPORTED",
    `dynamodb: ${placeOf(where)} is a global table: each region grants by itself, and the last writer wins, so that two would lead. Nothing was written. Use a table in one region: ${makingCommand(where)}`,
  );
}

/** An item at one of our keys that none of our writes has left. */
export function foreignItem(key: string, what: string, where: DynamoWhereabouts): Refusal {
  return new Refusal(
    "STORE_FOREIGN_DATA",
    `dynamodb: the item ${JSON.stringify(key)} of ${placeOf(where)} is not one of conclave's, or was edited (${what}). Nothing was written. Put it right while no candidate runs, or use another table.`,
  );
}

/** Another write of the same seat came between. */
export function overtaken(name: string): Refusal {
  const message = `dynamodb: the seat of "${name}" was changed while its value was to be written. It is tried again.`;
  return new Refusal("STORE_UNREACHABLE", message, { retryable: true });
}
