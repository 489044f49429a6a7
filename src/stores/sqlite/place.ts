// The state of a name, read from its row (sql/statements.sql, LOOK) and checked: a file can be edited by hand, and no decision may be based on nonsense.
//
// VERSION of a name: the domain of the file, the number of the name's last change, and the state of the seat. It never repeats: the number grows with every
// change of the seat, and while the seat stays as it is, the beat of its session grows with every keep. Another file counts anew. Without the domain,
// a version that a rival has watched in the old file could be that of a living holder in the new one.
//
// `missing`: there is a counter, so somebody has held the name, but there is no seat; or the seat points to a session that is gone, or was ended, without
// giving the seat back. Conclave does none of that (sql/statements.sql), so somebody did it by hand, and the holder learns of it at its next keep: wait as if the seat were held. Also missing is a
// seat that looks vacant, but whose last grants another kernel may not have brought to the disk (blocks.ts).
import path from "node:path";
import { asBid, asVersion, type Bid, type Seat } from "../contract.ts";
import type { Row } from "../../clients/row.ts";
import type { HostKernel } from "./kernel.ts";
import { edited } from "./refusals.ts";

/** The session that holds a seat. */
export interface Sitter {
  readonly session: string;
  readonly candidate: string;
  readonly bid: Bid;
  readonly token: bigint;
  readonly value: string;
  readonly ttlMs: number;
  /** The clock by which the session is judged, and the time until which it holds. */
  readonly boot: string | undefined;
  readonly clock: string | undefined;
  readonly expiresMs: number | undefined;
  /** The socket at which its process listens, and the identity of that file. */
  readonly socket: SocketFile | undefined;
}

export interface SocketFile {
  readonly path: string;
  /** Device and inode of the socket file. */
  readonly file: string;
}

export interface StoredSeat {
  readonly name: string;
  /** The domain of every token in this file. */
  readonly domain: string;
  readonly version: ReturnType<typeof asVersion>;
  readonly state: "vacant" | "held" | "missing";
  readonly lastTtlMs: number | undefined;
  /** The bid of the present or the last holder. */
  readonly lastBid: string | undefined;
  readonly sitter: Sitter | undefined;
}

/** `name` is the name that was asked for; `kernel` is the one of this process; `lifeFolder` is where this process finds the sockets that are beside the database. */
export function readPlace(
  name: string,
  domain: string,
  row: Row,
  lifeFolder: string,
  kernel: HostKernel | undefined,
): StoredSeat {
  const what = `the record of "${name}"`;
  const change = row["change"] === null ? "" : readWhole(row["change"], `${what}, change`);
  const lastTtlMs = row["last_ttl"] === null ? undefined : readTtl(row["last_ttl"], what);
  const place = (state: StoredSeat["state"], version: string, sitter?: Sitter): StoredSeat => ({
    name,
    domain,
    state,
    version: asVersion(`${domain} ${version}`),
    lastTtlMs,
    lastBid: row["bid"] === null ? undefined : readText(row["bid"], `${what}, bid`),
    sitter,
  });
  if (!isTrue(row["present"])) return change === "" ? place("vacant", "never") : place("missing", `${change} gone`);
  if (row["session"] === null)
    return isOfAnotherBoot(row["block_boot"], kernel)
      ? place("missing", `${change} reserved`)
      : place("vacant", `${change} free`);
  if (!isTrue(row["known"])) return place("missing", `${change} orphaned`);
  const beat = readWhole(row["beat"], `${what}, beat`);
  if (isTrue(row["ended"])) return place("missing", `${change} ended ${beat}`);
  return place("held", `${change} held ${beat}`, readSitter(row, what, lifeFolder));
}

/** True if a session under another kernel may still take tokens from a block of the name, or may have done so when the power was cut (blocks.ts). */
function isOfAnotherBoot(boot: unknown, kernel: HostKernel | undefined): boolean {
  return boot !== null && boot !== kernel?.boot;
}

function readSitter(row: Row, what: string, lifeFolder: string): Sitter {
  const { boot, clock, expires } = row;
  return {
    session: readText(row["session"], `${what}, session`),
    candidate: readText(row["candidate"], `${what}, candidate`),
    bid: asBid(readText(row["bid"], `${what}, bid`)),
    token: BigInt(readWhole(row["token"], `${what}, token`)),
    value: readText(row["value"], `${what}, value`),
    ttlMs: readTtl(row["ttl"], what),
    boot: typeof boot === "string" ? boot : undefined,
    clock: typeof clock === "string" ? clock : undefined,
    expiresMs: expires === null ? undefined : readNumber(expires, `${what}, expires`),
    socket: readSocket(row, lifeFolder),
  };
}

function readSocket({ socket, socket_file: file }: Row, lifeFolder: string): SocketFile | undefined {
  return typeof socket === "string" && typeof file === "string"
    ? { path: socketPath(socket, lifeFolder), file }
    : undefined;
}

/** A socket beside the database is recorded by its name alone: in another container the folder may have another path. */
export function socketPath(recorded: string, lifeFolder: string): string {
  return path.resolve(lifeFolder, recorded);
}

export function recordedSocket(place: string, lifeFolder: string): string {
  return path.dirname(place) === lifeFolder ? path.basename(place) : place;
}

/**
 * Shows the seat as the contract does, to a caller on `kernel`. An equal boot id and an equal time namespace mean that holder and caller read one clock, so
 * the instant that the holder recorded can be compared directly. With any other ids the caller judges by silence.
 *
 * Why the holder's belief has ended at `heldUntilMs`: `expires` is `sentAtMs + ttl` of the latest keep that was committed (KEEP_SESSION never lowers
 * it). The machine dates that keep no later than `sentAtMs`, and believes for ttl·(1−ρ)/(1+ρ) − g from there on the same clock (law 1: the deadline counts from the send). So
 * its belief ends g + 2ρ·ttl/(1+ρ) before. A keep committed after this look changes the version, so the claim over this version is beaten. A keep that has no answer
 * yet extends no belief. The machine adds its own grain on top.
 */
export function seatOf(place: StoredSeat, kernel: HostKernel | undefined, isDead: boolean): Seat {
  const { name, domain, version, state, lastTtlMs, sitter } = place;
  if (sitter === undefined)
    return state === "missing" ? { name, version, state, ttlMs: lastTtlMs } : { name, version, state };
  const { candidate, bid, token, value, ttlMs, expiresMs } = sitter;
  const isSameClock = kernel !== undefined && sitter.boot === kernel.boot && sitter.clock === kernel.clock;
  return {
    name,
    version,
    state: isDead ? "abandoned" : "held",
    holder: { candidate, bid, token, domain, value },
    ttlMs,
    ...(isSameClock && expiresMs !== undefined ? { heldUntilMs: expiresMs } : {}),
  };
}

// ---- values, checked

export function isTrue(value: unknown): boolean {
  return value === 1 || value === 1n;
}

export function readText(value: unknown, what: string): string {
  if (typeof value !== "string") throw edited(what, value);
  return value;
}

/** Reads a number of milliseconds or a count, even from a connection that returns bigints. */
export function readNumber(value: unknown, what: string): number {
  const number = typeof value === "bigint" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isSafeInteger(number)) throw edited(what, value);
  return number;
}

export function readTtl(value: unknown, what: string): number {
  const ttlMs = readNumber(value, `${what}, ttl`);
  if (ttlMs <= 0) throw edited(`${what}, ttl`, value);
  return ttlMs;
}

/** Reads the text of a whole number of any size. */
export function readWhole(value: unknown, what: string): string {
  if (typeof value !== "string" || !/^(?:0|[1-9]\d*)$/.test(value)) throw edited(what, value);
  return value;
}
