// `redis://` is a store in a Redis (6 or newer) or Valkey that you have anyway; `rediss://` with TLS; several servers in one URL are Redlock. It is UNFENCED, by its
// type: it gives no tokens, and a failover, a restart or a jump of the server's clock may give a name to two. Take it where work that is done twice is only wasteful.
//
// Each call is one script, which is one step at the server. A session is renewed alone, and names point to it; or, with layout "redlock", each name is one key with an expiry, as other
// libraries write it, so that their holders and ours exclude each other. docs/stores/redis.md has in sentences what is promised and what is not.
import { invalidConfig } from "../base/errors.ts";
import { problemsOfKeys, problemsOfSettings } from "../base/option-keys.ts";
import { show } from "../base/show.ts";
import { looksUnset } from "../base/url.ts";
import {
  isClient,
  isCluster,
  placeOfClient,
  portOf,
  type RedisClient,
  type UrlClient,
  UrlPort,
} from "../clients/redis/client.ts";
import type { RedisWhereabouts } from "../clients/redis/errors.ts";
import type { RedisPort } from "../clients/redis/port.ts";
import { parseUrl, placeOf, problemOfUrl, TLS_SETTINGS, tlsOfUrl } from "../clients/redis/url.ts";
import type { Reopenable, UnfencedStore } from "./contract.ts";
import { guaranteeOf, type Layout } from "./redis/guarantee.ts";
import { RedisStore } from "./redis/redis-store.ts";
import { RedlockStore } from "./redis/redlock-store.ts";
import { grantOf } from "./redis/rights.ts";

export type { RedisClient } from "../clients/redis/client.ts";
export type { IoredisClient } from "../clients/redis/ioredis.ts";
export type { NodeRedisClient } from "../clients/redis/node-redis.ts";
export type { Layout } from "./redis/guarantee.ts";

/** Options of `redis`. */
export interface RedisOptions {
  /**
   * "ours": sessions, and names that point to them. "redlock": one key with an expiry for each name, named exactly like it, as the libraries of that name have it, so that a fleet may be
   * mixed; only as safe as the other library. The same for all candidates of an election. @default "ours"
   */
  readonly layout?: Layout | undefined;
  /** What our own keys begin with. @default "{conclave}" */
  readonly prefix?: string | undefined;
  /**
   * The longest ttl of any candidate of the fleet. A server that was started less than this ago grants nothing, because it may have forgotten what it granted before. Needed with several
   * servers; with one, a restart without appendfsync always may give a name to two without it. @default none with one server
   */
  readonly maxTtlMs?: number | undefined;
  /** Of a URL: what it is opened with. A connection of our own needs no client; the others are packages that you install. @default "own" */
  readonly client?: UrlClient | undefined;
}

/**
 * A store in the server at `url`, or behind a client that you have made with ioredis or redis (node-redis); `close()` leaves it open. Several servers in a URL, or several clients, are
 * Redlock. Nothing is opened before the first call.
 */
export function redis(url: string, options?: RedisOptions): UnfencedStore & Reopenable;
export function redis(client: RedisClient | readonly RedisClient[], options?: RedisOptions): UnfencedStore;
export function redis(source: string | RedisClient | readonly RedisClient[], given?: RedisOptions): UnfencedStore {
  const problems = problemsOfKeys(given, Object.keys(OWN_SETTINGS));
  const options = given ?? {};
  if (problems.length > 0) throw invalidConfig("redis", problems);
  if (typeof source === "string") return fromUrl(source, options);
  const clients = (Array.isArray(source) ? source : [source]) as readonly RedisClient[];
  for (const client of clients) refuseOther(client);
  if (new Set(clients).size < clients.length)
    throw invalidConfig("redis", ["one client is passed twice, which would count as two servers"]);
  return storeOf(
    clients.map((client) => ({ port: portOf(client), place: placeOfClient(client) })),
    checked(options, clients.length),
    false,
  );
}

function refuseOther(client: unknown): void {
  if (isCluster(client))
    throw invalidConfig("redis", [
      "a client of a Redis Cluster was passed. A cluster replaces its servers by replicas that may have forgotten a grant: use a server that stands by itself, or several independent ones (Redlock)",
    ]);
  if (!isClient(client))
    throw invalidConfig("redis", [
      `${show(client)} is neither a URL, nor a client of ioredis or redis${looksUnset(client) ? ". Is the environment variable set?" : ""}`,
    ]);
}

const OWN_SETTINGS = {
  layout: "conclave_layout",
  prefix: "conclave_prefix",
  maxTtlMs: "conclave_max_ttl_ms",
  client: "conclave_client",
} as const;

const CLIENTS: readonly UrlClient[] = ["own", "ioredis", "redis"];

interface Checked {
  readonly layout: Layout;
  readonly prefix: string;
  readonly maxTtlMs: number | undefined;
  readonly client: UrlClient | undefined;
}

function fromUrl(url: string, options: RedisOptions): UnfencedStore & Reopenable {
  const problem = problemOfUrl(url);
  if (problem !== undefined) throw invalidConfig("redis", [problem]);
  const { servers, settings } = parseUrl(url);
  const known = [...Object.values(OWN_SETTINGS), ...TLS_SETTINGS];
  const unread = [...problemsOfSettings(settings.keys(), known), ...bareSettings(settings)];
  if (unread.length > 0) throw invalidConfig("redis", unread);
  const maxTtl = settings.get(OWN_SETTINGS.maxTtlMs);
  const own = {
    layout: options.layout ?? ((settings.get(OWN_SETTINGS.layout) ?? undefined) as Layout | undefined),
    prefix: options.prefix ?? settings.get(OWN_SETTINGS.prefix) ?? undefined,
    maxTtlMs: options.maxTtlMs ?? (maxTtl === null ? undefined : Number(maxTtl)),
    client: options.client ?? ((settings.get(OWN_SETTINGS.client) ?? undefined) as UrlClient | undefined),
  };
  const good = checked(own, servers.length);
  const ports = servers.map((server) => ({
    port: new UrlPort(server, good.client),
    place: placeOf(server),
    tls: tlsOfUrl(server),
  }));
  const store = storeOf(ports, good, true);
  const again = reopeningUrl(url, own);
  // It may carry a password: not a field that is printed with the object.
  return Object.defineProperty(store, "url", { value: again, enumerable: false }) as UnfencedStore & Reopenable;
}

/** The URL is read here alone, so an option that is written without its prefix reaches nobody: two candidates could have two layouts, and both lead. */
function bareSettings(settings: URLSearchParams): string[] {
  return Object.entries(OWN_SETTINGS)
    .filter(([option]) => settings.has(option))
    .map(([option, setting]) => `the setting "${option}" is written ${setting} in the URL`);
}

/** With the options in it, so that opening it again gives the same store. */
function reopeningUrl(url: string, own: RedisOptions): string {
  const [base = "", query = ""] = (url.split("#")[0] ?? "").split("?", 2);
  const all = new URLSearchParams(query);
  for (const [option, setting] of Object.entries(OWN_SETTINGS)) {
    const value = own[option as keyof RedisOptions];
    if (value !== undefined) all.set(setting, String(value));
  }
  return all.size === 0 ? base : `${base}?${all.toString()}`;
}

function checked({ layout = "ours", prefix = "{conclave}", maxTtlMs, client }: RedisOptions, servers: number): Checked {
  const problems = [
    ...(layout === "ours" || layout === "redlock" ? [] : [`layout ${show(layout)} is not known: "ours" or "redlock"`]),
    ...(typeof prefix === "string" && prefix !== "" ? [] : [`prefix ${show(prefix)} is not a text`]),
    ...(maxTtlMs === undefined || (Number.isSafeInteger(maxTtlMs) && maxTtlMs >= 200)
      ? []
      : [`maxTtlMs ${show(maxTtlMs)} is not a number of milliseconds from 200 on`]),
    ...(client === undefined || CLIENTS.includes(client)
      ? []
      : [`client ${show(client)} is not known: "own", "ioredis" or "redis"`]),
    ...(servers === 1 ? [] : problemsOfSeveral(servers, maxTtlMs)),
  ];
  if (problems.length > 0) throw invalidConfig("redis", problems);
  return { layout, prefix, maxTtlMs, client };
}

function problemsOfSeveral(servers: number, maxTtlMs: number | undefined): string[] {
  return [
    ...(servers < 3 ? [`${servers} servers have no majority when one is away: pass one, or three or more`] : []),
    ...(maxTtlMs === undefined
      ? [
          "several servers need maxTtlMs, the longest ttl of any candidate of the fleet: a server that has started again votes for nobody for so long, because it may have forgotten for whom it has voted",
        ]
      : []),
  ];
}

function storeOf(
  ports: readonly ({ readonly port: RedisPort } & Pick<RedisWhereabouts, "place" | "tls">)[],
  { layout, prefix, maxTtlMs }: Checked,
  isOwn: boolean,
): UnfencedStore {
  const guarantee = guaranteeOf({ layout, servers: ports.length, maxTtlMs, isOwn });
  const votes = ports.length > 1;
  const shared = { guarantee, layout, prefix, minUptimeMs: maxTtlMs, votes };
  const grant = grantOf(prefix, layout);
  const stores = ports.map(({ port, ...where }) => new RedisStore({ port, where: { ...where, grant }, ...shared }));
  const [only] = stores;
  return only === undefined || votes ? new RedlockStore(stores, guarantee) : only;
}
