// Reads the parts of a PostgreSQL URL that matter here: the place it leads to, for messages and without its password; and mistakes that make it useless, which are found before anything is opened. A
// client would report such a mistake at every try, in words of its own, and the candidate would try for ever.
import { show } from "../../base/show.ts";
import { looksUnset } from "../../base/url.ts";

/** The parts of the URL up to the query: user and password up to the last @, as clients read it, hosts, database. undefined: it is not a URL of PostgreSQL. */
function partsOf(url: string): { readonly hosts: string; readonly database: string } | undefined {
  const parsed = /^postgres(?:ql)?:\/\/(?:[^/?#]*@)?([^/?#]*)(?:\/([^?#]*))?/i.exec(url);
  return parsed === null ? undefined : { hosts: parsed[1] ?? "", database: parsed[2] ?? "" };
}

/** Returns "db.example:5432/app". undefined: it is not a URL of PostgreSQL. */
export function placeOfUrl(url: string): string | undefined {
  const parts = partsOf(url);
  if (parts === undefined) return undefined;
  const { hosts, database } = parts;
  return `${hosts === "" ? "the local server" : hosts}${database === "" ? "" : `/${database}`}`;
}

/** The returned text repeats only those parts of the URL that cannot be a password. */
export function problemOfUrl(url: string): string | undefined {
  const parts = partsOf(url);
  if (looksUnset(url)) return `${show(url)} is not a URL. Is the environment variable set?`;
  if (parts === undefined) return "what was passed does not begin with postgres:// or postgresql://";
  const [, query = ""] = (url.split("#")[0] ?? "").split("?", 2);
  const { host = "", client_encoding: encoding } = Object.fromEntries(new URLSearchParams(query));
  if (parts.database.includes("@"))
    return "the host of the URL cannot be read. Write a / in a password as %2F, and an @ in it or in the name of a database as %40";
  if (`${parts.hosts}${host}`.includes(","))
    return "the URL names several hosts. Give one address that leads to the primary (a DNS name, a load balancer or a pooler that follows it), or pass a client of yours that finds it";
  if (!hasReadablePort(parts.hosts))
    return "the host and port of the URL cannot be read. Write them as HOST:PORT, [IPv6]:PORT, or %2FFOLDER for a socket";
  if (encoding !== undefined && !/^utf-?8$/i.test(encoding))
    return `client_encoding ${JSON.stringify(encoding)}: names and values are sent as UTF-8. Take it out of the URL`;
  return undefined;
}

function hasReadablePort(hosts: string): boolean {
  const read = /^(?:\[[0-9a-f:.%]+\]|[^:[\]\s]*)(?::(\d*))?$/i.exec(hosts);
  return read !== null && Number(read[1] ?? 0) <= 65_535;
}
