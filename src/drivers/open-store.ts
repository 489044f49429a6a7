// A store from a URL: the scheme chooses the driver, which is loaded only then. A URL may carry a password: no message repeats more of it than its
// scheme, and that only where it cannot be taken for anything else.
import { ConclaveError } from "../base/errors.ts";
import type { Store } from "../stores/contract.ts";
import { driverOf, DRIVERS } from "./registry.ts";
import { schemeOf } from "../base/url.ts";

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
  const driver = driverOf(url);
  if (driver === undefined) throw noDriver(url, schemeOf(url));
  return await driver.open(url);
}

function noDriver(url: string, scheme: string | undefined): ConclaveError {
  const known = DRIVERS.flatMap(({ schemes }) => schemes)
    .map((name) => `${name}:`)
    .join(", ");
  const what =
    scheme === undefined || !(PLANNED.has(scheme) || url.slice(scheme.length).startsWith("://"))
      ? "the URL begins with no known scheme"
      : PLANNED.has(scheme)
        ? `this version has no driver for ${scheme}`
        : `${scheme}: is not the scheme of a store`;
  return new ConclaveError("CONFIG_INVALID", `openStore: ${what}. Known here: ${known}`);
}
