// A chunk: the assignments of some partitions, as they stand in one memo, and as text. Pure.
//
// Each partition lies in exactly one chunk, so that chunks need no common transaction: all that is said of a partition is said by one memo, whose writes are ordered.
//
// An entry names a session, never a member: the term of the member's own seat (id, token) and a mark of its bid. A member that was restarted has another token, and inherits nothing.
//   no owner             nobody; the partition may be assigned
//   owner                assigned to that session, under the epoch
//   owner and revokedAt  that session is asked to stop; nobody else may begin before it has said that it stopped, or is over
import { ConclaveError } from "../base/errors.ts";
import type { ControllerTerm, Revision } from "./revision.ts";

/** One term of one member's own seat. Compared by `key`. */
export interface SessionRef {
  readonly key: string;
  readonly id: string;
  readonly token: bigint;
  /** A mark of the bid. Two terms of one number, granted by a store that has forgotten, are different sessions. */
  readonly mark: string;
}

/** Who leads a partition. */
export interface ChunkEntry {
  readonly owner: SessionRef | undefined;
  /** The epoch of the last assignment; undefined: never assigned. */
  readonly epoch: Revision | undefined;
  readonly revokedAt: Revision | undefined;
}

export interface Chunk {
  readonly revision: Revision;
  readonly entries: readonly ChunkEntry[];
}

export const UNASSIGNED: ChunkEntry = { owner: undefined, epoch: undefined, revokedAt: undefined };

export function sessionRef(id: string, token: bigint, mark: string): SessionRef {
  return { key: `${id}\n${token}\n${mark}`, id, token, mark };
}

const VERSION = 1;
const BASE = 36;

/** JSON, with tables of terms and sessions, so that an entry is a few characters. */
export function formatChunk({ revision, entries }: Chunk): string {
  const terms = new Table<ControllerTerm>(({ token, bid }) => `${token} ${bid}`);
  const sessions = new Table<SessionRef>(({ key }) => key);
  terms.place(revision.term);
  const at = ({ term, n }: Revision): string => `${number(terms.place(term))}.${number(n)}`;
  const texts = entries.map(({ owner, epoch, revokedAt }) => {
    if (epoch === undefined) return "-";
    const whose = owner === undefined ? "" : number(sessions.place(owner));
    return `${whose}.${at(epoch)}${revokedAt === undefined ? "" : `~${at(revokedAt)}`}`;
  });
  return JSON.stringify({
    v: VERSION,
    n: revision.n,
    terms: terms.rows.map(({ token, bid }) => [token.toString(BASE), bid]),
    sessions: sessions.rows.map(({ id, token, mark }) => [id, token.toString(BASE), mark]),
    entries: texts.join(" "),
  });
}

interface Written {
  readonly v: number;
  readonly n: number;
  readonly terms: readonly (readonly [string, string])[];
  readonly sessions: readonly (readonly [string, string, string])[];
  readonly entries: string;
}

/** Throws STORE_FOREIGN_DATA for a text that `formatChunk` did not write. */
export function parseChunk(text: string): Chunk {
  try {
    return readChunk(JSON.parse(text) as Written);
  } catch (cause) {
    throw foreign(`a chunk of assignments cannot be read: ${text.slice(0, 80)}`, cause);
  }
}

function readChunk(written: Written): Chunk {
  if (written.v !== VERSION) throw new RangeError(`version ${written.v} is not known`);
  const terms = written.terms.map(([token, bid]) => ({ token: parseBig(token), bid }));
  const sessions = written.sessions.map(([id, token, mark]) => sessionRef(id, parseBig(token), mark));
  const at = (term: string | undefined, n: string | undefined): Revision => ({ term: row(terms, term), n: parse(n) });
  const readEntry = (entry: string): ChunkEntry => {
    if (entry === "-") return UNASSIGNED;
    const [, whose = "", term, n, since, sinceN] = ENTRY.exec(entry) ?? [];
    return {
      owner: whose === "" ? undefined : row(sessions, whose),
      epoch: at(term, n),
      revokedAt: since === undefined ? undefined : at(since, sinceN),
    };
  };
  const [first] = terms;
  if (first === undefined || !Number.isSafeInteger(written.n)) throw new RangeError("no revision");
  const entries = written.entries.split(" ").map(readEntry);
  return { revision: { term: first, n: written.n }, entries };
}

const ENTRY = /^([0-9a-z]*)\.([0-9a-z]+)\.([0-9a-z]+)(?:~([0-9a-z]+)\.([0-9a-z]+))?$/;

function row<T>(rows: readonly T[], text: string | undefined): T {
  const found = rows[parse(text)];
  if (found === undefined) throw new RangeError(`there is no row ${text}`);
  return found;
}

function number(value: number): string {
  return value.toString(BASE);
}

function parse(text: string | undefined): number {
  const value = Number.parseInt(text ?? "", BASE);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is no number`);
  return value;
}

function parseBig(text: string): bigint {
  if (!/^[0-9a-z]+$/.test(text)) throw new RangeError(`${text} is no number`);
  let value = 0n;
  for (const digit of text) value = value * BigInt(BASE) + BigInt(Number.parseInt(digit, BASE));
  return value;
}

export function foreign(what: string, cause: unknown): ConclaveError {
  const message = `${what}. It was written by hand, or by a newer version of conclave. Nothing was changed.`;
  return new ConclaveError("STORE_FOREIGN_DATA", message, { cause });
}

/** Rows in the order in which they were first placed. */
class Table<T> {
  readonly rows: T[] = [];
  readonly #places = new Map<string, number>();
  readonly #keyOf: (row: T) => string;

  constructor(keyOf: (row: T) => string) {
    this.#keyOf = keyOf;
  }

  place(item: T): number {
    const key = this.#keyOf(item);
    const present = this.#places.get(key);
    if (present !== undefined) return present;
    this.rows.push(item);
    this.#places.set(key, this.rows.length - 1);
    return this.rows.length - 1;
  }
}
