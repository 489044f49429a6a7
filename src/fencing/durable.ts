// durableFence: like memoryFence, for a server that may restart. What it remembers is on the disk before an operation with a new token begins, in one small
// file for each resource. A restart reads it back, so an old leader that slept through the restart is still refused.
//
// For one process at a time: operations in flight are counted in this process. If several serve one resource, fence where they meet (sqliteFence, fileFence).
// Raising a token writes synchronously, once per term. This takes a few milliseconds, and makes judging, remembering and counting one step.
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ConclaveError } from "../base/errors.ts";
import { show } from "../base/show.ts";
import { fileNameOf } from "./disk.ts";
import { Flights, type GuardNotebook } from "./flights.ts";
import type { TokenMark, Remembered } from "./guard.ts";
import { folderOf } from "./input.ts";
import { type Fence, fenceOver } from "./memory.ts";
import { verifierOf, type Verifying } from "./signed.ts";
import type { Fenced, Signed } from "./token.ts";

/** The same as the other form, for signed tokens. */
export function durableFence(folder: string, options: Verifying): Fence<Signed>;
/** Keeps its files in `folder`, which is made if it is not there. */
export function durableFence(folder: string): Fence;
export function durableFence(folder: string, options?: Verifying): Fence<Fenced | Signed> {
  const verifier = verifierOf("durableFence", options, []);
  return fenceOver(new Flights(new FolderNotebook(folderOf("durableFence", folder)), verifier));
}

/** File systems take names of 255 bytes, and the temporary file has 15 more than this. */
const NAME_MAX = 240;

/** The file of one resource. Values are texts, because JSON numbers lose digits. */
interface Note {
  readonly domain: string;
  readonly mark?: { readonly value: string; readonly bid?: string | undefined } | undefined;
  readonly left: readonly (readonly [domain: string, value: string | null])[];
}

class FolderNotebook implements GuardNotebook {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  recall(resource: string): Remembered | undefined {
    const file = this.#file(resource);
    const text = readIfThere(file);
    if (text === undefined) return undefined;
    try {
      return fromNote(JSON.parse(text) as Note);
    } catch (cause) {
      const message = `${file} is not what durableFence wrote there. Put the right file back, or find out the newest token: without it an old leader would pass.`;
      throw new ConclaveError("STORE_FOREIGN_DATA", message, { cause });
    }
  }

  note(resource: string, remembered: Remembered): void {
    const file = this.#file(resource);
    const temporary = `${file}.tmp`;
    writeSynced(temporary, JSON.stringify(toNote(remembered)));
    renameSync(temporary, file);
    if (process.platform !== "win32") syncPath(this.#folder);
  }

  #file(resource: string): string {
    const name = fileNameOf(resource);
    if (name.length > NAME_MAX)
      throw new ConclaveError(
        "CONFIG_INVALID",
        `durableFence: ${show(resource)} is too long for the name of a file. Nothing was written.`,
      );
    return path.join(this.#folder, `${name}.fence.json`);
  }
}

function toNote({ domain, mark, left }: Remembered): Note {
  return {
    domain,
    mark: mark && { value: `${mark.value}`, bid: mark.bid },
    left: [...left].map(([former, value]) => [former, value === undefined ? null : `${value}`]),
  };
}

function fromNote({ domain, mark, left }: Note): Remembered {
  if (typeof domain !== "string") throw new TypeError("no domain");
  return {
    domain,
    mark: mark && markOf(mark),
    left: new Map(left.map(([former, value]) => [former, value === null ? undefined : BigInt(value)])),
  };
}

function markOf({ value, bid }: NonNullable<Note["mark"]>): TokenMark {
  if (!/^[0-9]{1,39}$/.test(value) || (bid !== undefined && typeof bid !== "string")) throw new TypeError("no token");
  return { value: BigInt(value), bid };
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function writeSynced(file: string, text: string): void {
  const descriptor = openSync(file, "w");
  try {
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function syncPath(folder: string): void {
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
