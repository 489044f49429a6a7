// dynamodb://[KEY:SECRET@]TABLE[?region=…&endpoint=…] says where a table is. The names of tables may have capitals, so the table is not read as the name of a host. Credentials come as they do for every
// program on AWS (environment, profile, role); credentials in the URL are only for stand-ins on the developer's own machine.
import { problemsOfKeys } from "../../base/option-keys.ts";
import { decode } from "../url-parts.ts";
import type { DynamoPlace } from "./client.ts";

export interface TableUrl {
  readonly table: string;
  readonly connection: DynamoPlace;
  /** Everything after the question mark. */
  readonly settings: ReadonlyMap<string, string>;
}

/** Checks a name by AWS's rules for the names of tables. */
export const isTableName = (name: unknown): name is string =>
  typeof name === "string" && /^[A-Za-z0-9_.-]{3,255}$/.test(name);

/** Returns a sentence if something is wrong with the URL. The sentence repeats no secret. */
export function readUrl(url: string, known: readonly string[]): TableUrl | string {
  const [, key, secret, table = "", query = ""] =
    /^dynamodb:(?:\/\/)?(?:([^:@/?#]*):([^@/?#]*)@)?([^@/?#]*)\/?(?:\?([^#]*))?(?:#.*)?$/i.exec(url) ?? [];
  if (!isTableName(table))
    return "the URL names no table. Write dynamodb://TABLE?region=REGION; a table's name has 3 to 255 letters, digits, _, - and dots";
  const settings = new Map(new URLSearchParams(query));
  const [problem] = problemsOfKeys(Object.fromEntries(settings), ["region", "endpoint", ...known]);
  if (problem !== undefined) return problem;
  const endpoint = settings.get("endpoint");
  if (endpoint !== undefined && !/^https?:\/\/[^\s/]+/.test(endpoint))
    return `endpoint ${JSON.stringify(endpoint)} is not a URL that begins with http:// or https://`;
  const credentials =
    key === undefined || secret === undefined
      ? undefined
      : { accessKeyId: decode("dynamodb", key), secretAccessKey: decode("dynamodb", secret) };
  return { table, connection: { region: settings.get("region"), endpoint, credentials }, settings };
}
