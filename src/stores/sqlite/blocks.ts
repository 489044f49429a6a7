// Blocks of tokens: a session that takes the same lock many times in quick succession need not wait for the disk each time. One commit that is synced reserves 64 tokens of the name for the session: it
// raises the counter to the last of them, and writes a row of conclave_block. The first token is granted in that commit. The others are granted one by one in commits that are not synced.
//
// Why no token is granted twice, and tokens grow, though the power is cut: a token is taken from the block only while the counter stands at the end of the block. All commits that raise a counter are
// synced before they are answered, as before. So the counter on the disk is never less than a token that was told, and every token that comes from the counter is greater than the whole block. As
// soon as anybody else has taken one from there, the block ends where the counter no longer stands, and is never used again, because a counter only grows. That includes an earlier version of Conclave, which
// does not know of blocks. What remains of a block when its process ends or the power is cut is not used at all: a token is taken only by the connection that was granted the token before it.
//
// Why at most one holds the name:
//   While the host runs, all its processes see the same commits, synced or not. A grant from a block is made inside BEGIN IMMEDIATE over a seat that is vacant, like every other grant.
//   A cut of the power ends every process of the host. What is found afterwards is a prefix of the commits (../../clients/sqlite/transaction.ts), which has the reservation. A grant that is lost was
//   believed in by a process that is gone. Assumption: nothing that was written, and can still be read by the processes of this host, is lost while they run. (A disk that loses such pages after an error has
//   broken this before, for releases.)
//   If the disk is taken away from a host that goes on running, and is attached to another, that other host may find a seat vacant that is held from a block. So a seat whose name has a block of another
//   boot, at whose end the counter stands, counts as missing: a rival waits until it has seen no change for a ttl (place.ts). The holder believes in no term beyond the ttl of its last renewal, counted from its send.
//   While its session has a block, or holds something, each renewal is synced, and one from before was committed before the block was reserved, which was synced. So the last one that was answered was
//   sent before the disk was taken away, and the belief has ended when the rival's wait ends. After a commit that has failed, nothing is taken from a block.
import type { PreparedConnection } from "../../clients/sqlite/binding.ts";
import { transactIfPassing } from "../../clients/sqlite/transaction.ts";
import { Recent } from "../../base/recent.ts";
import { type Claim, type Claimed, type Hold, type Name, VACANT } from "../contract.ts";
import { markOf } from "../mark.ts";
import type { HostKernel } from "./kernel.ts";
import { readWhole } from "./place.ts";
import * as sql from "./schema.ts";

/** Tokens of one block: 63 of 64 grants do not wait. More would save little, and each block may leave a gap in the tokens that is as wide. */
const BLOCK_TOKENS = 64;

/** A block is reserved for a lock that was taken so many times in a row by one session, and each time so soon after the time before. */
const GRANTS_BEFORE = 8;
const SOON_MS = 250;

/** What is forgotten costs a few commits that are synced. */
const NAMES_REMEMBERED = 1_000;

/** Grants of one name to one session, each with the token after that of the one before. */
interface Run {
  session: string;
  token: bigint;
  grants: number;
  lastAtMs: number;
}

export class TokenBlocks {
  readonly #connection: PreparedConnection;
  readonly #domain: string;
  readonly #boot: string | undefined;
  readonly #runs = new Recent<Name, Run>(NAMES_REMEMBERED);

  /** Without a boot id rivals could not tell whether a block is of before a power cut. Where every commit is synced, a block would save nothing. */
  constructor(connection: PreparedConnection, domain: string, kernel: HostKernel | undefined) {
    this.#connection = connection;
    this.#domain = domain;
    this.#boot = connection.isAlwaysSynced ? undefined : kernel?.boot;
  }

  /** True if the session takes this lock so often that the claim is to be granted from a block, or with a new one. Only a claim for which the quick way is open can be (shelf.ts, #grantIfFree). */
  isFrequent({ name, session, over }: Claim, sentAtMs: number): boolean {
    if (this.#boot === undefined || over !== VACANT || session.node !== undefined) return false;
    const run = this.#runs.get(name);
    return run !== undefined && run.session === session.id && run.grants >= GRANTS_BEFORE && isSoon(run, sentAtMs);
  }

  /** Grants all of them from blocks, without a sync. If that is not possible, nothing is done, and this returns undefined. */
  claim(claims: readonly Claim[], sentAtMs: number): readonly Claimed[] | undefined {
    if (!claims.every((claim) => this.isFrequent(claim, sentAtMs))) return undefined;
    return transactIfPassing(this.#connection, () => {
      const granted = claims.flatMap((claim) => this.grant(claim) ?? []);
      return granted.length === claims.length ? granted : undefined;
    });
  }

  /** Inside a transaction: grants the seat with the next token of the block. If that is not possible, nothing is written, and this returns undefined. */
  grant(claim: Claim): Claimed | undefined {
    const { name, bid, value, session } = claim;
    const last = this.#runs.get(name)?.token;
    if (last === undefined) return undefined;
    const seat = [session.id, bid, markOf(claim), value, name, bid, `${last}`, session.id, session.id] as const;
    const row = this.#connection.all(sql.TAKE_SEAT_FROM_BLOCK, ...seat)[0];
    if (row === undefined) return undefined;
    const token = BigInt(readWhole(row["token"], `the seat of "${name}", token`));
    return { kind: "granted", hold: { name, bid, token: { domain: this.#domain, value: token, bid } } };
  }

  /** Reserves a block in the transaction of this grant, which is synced, if nobody else has taken a token of the name since the last grant here. */
  reserve({ name, session }: Claim, { token }: Hold): void {
    if (this.#boot === undefined || token === undefined || token.value - 1n !== this.#runs.get(name)?.token) return;
    const more = `${BLOCK_TOKENS - 1}`;
    const row = this.#connection.all(sql.RAISE_COUNTER, more, name, more)[0];
    if (row === undefined) return;
    const last = readWhole(row["last"], `the counter of "${name}"`);
    this.#connection.run(sql.RESERVE_BLOCK, name, session.id, last, this.#boot);
  }

  /** To be called when the claims are committed. */
  note(claims: readonly Claim[], claimed: readonly Claimed[], sentAtMs: number): void {
    for (const [index, { name, session }] of claims.entries()) {
      const answer = claimed[index];
      const token = answer?.kind === "granted" ? answer.hold.token?.value : undefined;
      if (token === undefined) this.#runs.delete(name);
      else this.#extend(name, session.id, token, sentAtMs);
    }
  }

  #extend(name: Name, session: string, token: bigint, sentAtMs: number): void {
    const run = this.#runs.get(name);
    const goesOn = run !== undefined && run.session === session && run.token + 1n === token && isSoon(run, sentAtMs);
    this.#runs.set(name, { session, token, grants: goesOn ? run.grants + 1 : 1, lastAtMs: sentAtMs });
  }

  /** If the work fails, such as a sync, no token is taken from any block that was reserved before. */
  forgetIfFailed<R>(work: () => R): R {
    try {
      return work();
    } catch (error) {
      this.#runs.clear();
      throw error;
    }
  }
}

function isSoon({ lastAtMs }: Run, sentAtMs: number): boolean {
  return sentAtMs - lastAtMs <= SOON_MS;
}
