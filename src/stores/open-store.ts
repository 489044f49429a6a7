// A store from a URL: the scheme chooses the driver, which is loaded only then. A URL may carry a password: no message repeats more of it than its
// scheme, and that only where it cannot be taken for anything else.
import { ConclaveError } from "../base/errors.ts";
import type { Store } from "./contract.ts";

type Open = (url: string) => Promise<Store>;

const DRIVERS: ReadonlyMap<string, Open> = new Map<string, Open>([
  ["etcd", async (url) => (await import("./etcd.ts")).etcd(url)],
  ["etcds", async (url) => (await import("./etcd.ts")).etcd(url)],
  ["memory", async (url) => (await import("./memory.ts")).memory(url)],
  ["postgres", async (url) => (await import("./postgres.ts")).postgres(url)],
  ["postgresql", async (url) => (await import("./postgres.ts")).postgres(url)],
  ["sqlite", async (url) => (await import("./sqlite.ts")).sqlite(url)],
]);

/** Agreed names of drivers that are still to come. */
const PLANNED: ReadonlySet<string> = new Set([
  "consul",
  "dynamodb",
  "kubernetes",
  "mysql",
  "nats",
  "redis",
  "zookeeper",
]);

/** Rejects `CONFIG_INVALID` for a scheme without a driver. */
export async function openStore(url: string): Promise<Store> {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
  const open = DRIVERS.get(scheme ?? "");
  if (open === undefined) throw noDriver(url, scheme);
  return await open(url);
}

function noDriver(url: string, scheme: string | undefined): ConclaveError {
  const known = [...DRIVERS.keys()].map((name) => `${name}:`).join(", ");
  const what =
    scheme === undefined || !(PLANNED.has(scheme) || url.slice(scheme.length).startsWith("://"))
      ? "the URL begins with no known scheme"
      : PLANNED.has(scheme)
        ? `this version has no driver for ${scheme}`
        : `${scheme}: is not the scheme of a store`;
  return new ConclaveError("CONFIG_INVALID", `openStore: ${what}. Known here: ${known}`);
}
