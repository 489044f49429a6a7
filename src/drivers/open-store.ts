// Opens a store from a URL: the scheme chooses the driver, which is loaded only then. A URL may carry a password: no message repeats more of it than its scheme, and that only where it cannot be taken
// for anything else.
import { ConclaveError } from "../base/errors.ts";
import { show } from "../base/show.ts";
import { flawOf } from "../base/text.ts";
import type { Store } from "../stores/contract.ts";
import { driverOf, DRIVERS, PLANNED } from "./registry.ts";
import { looksUnset, schemeOf } from "../base/url.ts";

/** Rejects `CONFIG_INVALID` for a scheme without a driver. */
export async function openStore(url: string): Promise<Store> {
  if (typeof url !== "string" || looksUnset(url)) throw noUrl(url);
  const flaw = flawOf(url.replaceAll("%00", "\0"));
  if (flaw !== undefined) throw new ConclaveError("CONFIG_INVALID", `openStore: the URL is no text: ${flaw}`);
  const driver = driverOf(url);
  if (driver === undefined) throw noDriver(url, schemeOf(url));
  return await driver.open(url);
}

/** For a process that stands by: loads the modules that a store of this URL needs, so that its first request need not wait for them. Asks no server. */
export async function readyStore(url: string): Promise<void> {
  await openStore(url);
  await driverOf(url)?.loadClient?.(url);
}

/** Mostly an environment variable is not set. */
function noUrl(url: unknown): ConclaveError {
  const message = `openStore: ${show(url)} is not a URL. Is the environment variable set? Known here: ${knownSchemes()}`;
  return new ConclaveError("CONFIG_INVALID", message);
}

function knownSchemes(): string {
  return DRIVERS.flatMap(({ schemes }) => schemes)
    .map((name) => `${name}:`)
    .join(", ");
}

function noDriver(url: string, scheme: string | undefined): ConclaveError {
  const what =
    scheme === undefined || !(PLANNED.has(scheme) || url.slice(scheme.length).startsWith("://"))
      ? "the URL begins with no known scheme"
      : PLANNED.has(scheme)
        ? `this version has no driver for ${scheme}`
        : `${scheme}: is not the scheme of a store`;
  return new ConclaveError("CONFIG_INVALID", `openStore: ${what}. ${hint(url, scheme)}Known here: ${knownSchemes()}`);
}

/** Suggests the URL that was probably meant. Repeats nothing of the URL. */
function hint(url: string, scheme: string | undefined): string {
  if (scheme === "http") return "Write etcd:// where etcd's own tools have http://. ";
  if (scheme === "https") return "Write etcds:// where etcd's own tools have https://. ";
  if (scheme === "file" || /^\.{0,2}\/|\.(?:db|sqlite3?)$/i.test(url)) return "A file is written as sqlite:PATH. ";
  return "";
}
