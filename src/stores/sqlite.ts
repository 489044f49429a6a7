// `sqlite:` is a store in one file on one host: many processes elect a leader with nothing else installed. A race in session layout: a session row that
// is renewed alone, seats that point to it, a counter per name. WAL, one IMMEDIATE transaction per call; grants
// and renewals of a holder wait for the disk (synchronous = FULL), giving back does not.
//
// Clock: a holder records when its ttl runs out on CLOCK_MONOTONIC, which all processes of one kernel and time namespace share; rivals there compare
// directly, anybody else watches silence (law 2). Death: the kernel says so, by a socket (sqlite/probe.ts); a stopped process is not dead.
// Not promised: anything beyond one host, and a file that is restored from a backup. docs/stores/sqlite.md has it in sentences.
import { homedir } from "node:os";
import path from "node:path";
import { type ConclaveError, invalidConfig } from "../base/errors.ts";
import { problemsOfKeys } from "../base/option-keys.ts";
import { show } from "../base/show.ts";
import { flawOf } from "../base/text.ts";
import type { FencedStore, Reopenable, ShowsLife } from "./contract.ts";
import { BINDINGS, type BindingName, type SqliteDatabase } from "../clients/sqlite/binding.ts";
import { guaranteeOf } from "./sqlite/guarantee.ts";
import { readKernel } from "./sqlite/kernel.ts";
import { MEMORY, pathOf } from "./sqlite/open-file.ts";
import { SqliteStore } from "./sqlite/sqlite-store.ts";

export type { SqliteDatabase } from "../clients/sqlite/binding.ts";

/** Options of `sqlite`. */
export interface SqliteOptions {
  /** Which binding opens the path. @default the first that is there: node:sqlite, better-sqlite3, libsql */
  readonly binding?: BindingName | undefined;
}

const OPTIONS = ["binding"] satisfies (keyof SqliteOptions)[];

/**
 * A store in the file at `path` (or of a URL `sqlite:PATH`); without one in the user's state directory; `:memory:` for tests. Or in a database that you
 * have opened: it is switched to WAL and synchronous = FULL, and `close()` leaves it open. Nothing is opened before the first call.
 */
export function sqlite(
  source?: string | SqliteDatabase,
  options: SqliteOptions = {},
): FencedStore & Reopenable & ShowsLife {
  const problems = problemsOfKeys(options, OPTIONS);
  if (problems.length > 0) throw invalidConfig("sqlite", problems);
  if (typeof source === "object") return fromDatabase(source);
  if (source !== undefined && typeof source !== "string") throw noSource();
  const asked = source?.toLowerCase().startsWith("sqlite:") === true ? parseUrl(source) : { path: source ?? "" };
  const binding = options?.binding ?? ("binding" in asked ? asked.binding : undefined);
  checkBinding(binding);
  const flaw = flawOf(asked.path);
  if (flaw !== undefined) throw invalidConfig("sqlite", [`${show(asked.path)} is not the path of a file: ${flaw}`]);
  if (asked.path === MEMORY) return inMemory({ path: MEMORY, binding, makeFolder: false });
  const makeFolder = asked.path === "";
  const file = path.resolve(makeFolder ? defaultPath() : asked.path);
  return fromFile({ path: file, binding, makeFolder }, file, urlOf(file, binding));
}

function fromDatabase(database: SqliteDatabase): SqliteStore {
  if (typeof database?.prepare !== "function" || typeof database.exec !== "function") throw noSource();
  const file = pathOf(database);
  return file === undefined ? inMemory({ database }) : fromFile({ database }, file, urlOf(file, undefined));
}

function noSource(): ConclaveError {
  return invalidConfig("sqlite", [
    "what was passed is neither a path nor an open database of node:sqlite, better-sqlite3 or libsql",
  ]);
}

function fromFile(
  source: ConstructorParameters<typeof SqliteStore>[0]["source"],
  place: string,
  url: string,
): SqliteStore {
  const kernel = readKernel();
  return new SqliteStore({
    source,
    url,
    place,
    kernel,
    guarantee: guaranteeOf(kernel === undefined ? "silence" : "kernel"),
  });
}

function inMemory(source: ConstructorParameters<typeof SqliteStore>[0]["source"]): SqliteStore {
  const guarantee = guaranteeOf("memory");
  return new SqliteStore({ source, url: `sqlite:${MEMORY}`, place: MEMORY, kernel: undefined, guarantee });
}

/** Where nothing was said. */
function defaultPath(): string {
  const state = process.env["XDG_STATE_HOME"];
  const folder =
    state !== undefined && path.isAbsolute(state)
      ? state
      : process.platform === "darwin"
        ? path.join(homedir(), "Library", "Application Support")
        : process.platform === "win32"
          ? (process.env["LOCALAPPDATA"] ?? path.join(homedir(), "AppData", "Local"))
          : path.join(homedir(), ".local", "state");
  return path.join(folder, "conclave", "conclave.db");
}

function parseUrl(url: string): { readonly path: string; readonly binding: BindingName | undefined } {
  const [, file = "", query = ""] = /^sqlite:(?:\/\/(?=\/))?([^?]*)\??(.*)$/is.exec(url) ?? [];
  const { binding, ...others } = Object.fromEntries(new URLSearchParams(query)) as Record<string, string>;
  const unknowns = Object.keys(others);
  if (unknowns.length > 0)
    throw invalidConfig("sqlite", [
      `${unknowns.map((key) => JSON.stringify(key)).join(", ")} is not a setting of it: binding is`,
    ]);
  return { path: decode(file), binding: binding as BindingName | undefined };
}

function decode(file: string): string {
  try {
    return decodeURIComponent(file);
  } catch {
    throw invalidConfig("sqlite", [
      "a % in the path of a URL begins an escape of two hexadecimal digits; write %25 for the sign itself",
    ]);
  }
}

function urlOf(file: string, binding: BindingName | undefined): string {
  const query = binding === undefined ? "" : `?binding=${encodeURIComponent(binding)}`;
  return `sqlite:${file.split(path.sep).map(encodeURIComponent).join("/")}${query}`;
}

function checkBinding(binding: BindingName | undefined): void {
  if (binding === undefined || BINDINGS.includes(binding)) return;
  throw invalidConfig("sqlite", [`binding ${JSON.stringify(binding)} is not known: ${BINDINGS.join(", ")}`]);
}
