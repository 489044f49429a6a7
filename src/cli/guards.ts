// The guards that a command can reach, by their URL: a table in SQLite or PostgreSQL, keys in etcd, or a folder (file:FOLDER). Guards in memory, and
// durableFence, can be reached only by the process that guards.
import { existsSync } from "node:fs";
import path from "node:path";
import type { FencingGuard, FencingGuardOptions } from "../drivers/driver.ts";
import { driverOf, DRIVERS } from "../drivers/registry.ts";
import { fileOf, schemeOf } from "../base/url.ts";
import { fileFence } from "../fencing/index.ts";
import { UsageError } from "./command.ts";

/** Which options fit which guard. */
const FITTING: Readonly<Record<keyof FencingGuardOptions, readonly string[]>> = {
  table: ["sqlite", "postgres"],
  prefix: ["etcd"],
};

export async function guardAt(url: string, options: FencingGuardOptions): Promise<FencingGuard> {
  const driver = driverOf(url);
  const name = schemeOf(url) === "file" ? "file" : driver?.name;
  for (const [option, names] of Object.entries(FITTING))
    if (options[option as keyof FencingGuardOptions] !== undefined && !names.includes(name ?? ""))
      throw new UsageError(`--${option} goes with a guard in ${names.join(" or ")}`);
  if (name === "file") return inFolder(fileOf(url));
  if (driver?.guard === undefined) throw new UsageError(`--guard: ${noGuard(driver?.name)}`);
  return await driver.guard(url, options);
}

function noGuard(name: string | undefined): string {
  const known = DRIVERS.flatMap(({ guard, schemes }) => (guard === undefined ? [] : schemes)).map((each) => `${each}:`);
  const what =
    name === undefined ? "the URL begins with none of the known schemes" : `no command reaches one in ${name}`;
  return `${what}. A guard is at ${[...known, "file:"].join(", ")}`;
}

function inFolder(folder: string): FencingGuard {
  const place = path.resolve(folder);
  return { place, isMissing: !existsSync(place), adopt: (name, move) => fileFence(place, name).adopt(move) };
}
