// dynamodb://[KEY:SECRET@]TABLE[?region=…&endpoint=…]: where a table is. The names of tables have capitals, so this is not read as the address of a host. Credentials
// come as they do for every program on AWS (environment, profile, role); in the URL only for stand-ins on the own machine.
import { problemsOfKeys } from "../../base/option-keys.ts";
import { decode } from "../url-parts.ts";
import type { Connection } from "./client.ts";

export interface TableUrl {
  readonly table: string;
  readonly connection: Connection;
  /** Everything after the question mark. */
  readonly settings: ReadonlyMap<string, string>;
}

/** Names of tables, as AWS allows them. */
export const isTableName = (name: string): boolean => /^[A-Za-z0-9_.-]{3,255}$/.test(name);

/** What is wrong is returned as a sentence, which repeats no secret. */
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
