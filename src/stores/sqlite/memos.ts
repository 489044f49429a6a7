// The memos of a file. One transaction reads session, seat and memo, and writes. BEGIN IMMEDIATE makes it the only writer before it reads, so no claim comes
// between: a memo of a term that was replaced finds another token in the seat, and is not written. The write is synced before it is answered, as a grant is.
import type { Row } from "../../clients/row.ts";
import type { PreparedConnection } from "../../clients/sqlite/binding.ts";
import { transact } from "../../clients/sqlite/transaction.ts";
import { asBid, type StoredMemo, type MemoWrite, type MemoWritten, type Name } from "../contract.ts";
import { ownNode } from "../../lease/ban-rule.ts";
import type { SqliteBans } from "./bans.ts";
import { MEMOS, memoVersion, tooLarge, tooMany } from "../memos.ts";
import { isTrue, readNumber, readText, readWhole } from "./place.ts";
import * as sql from "./schema.ts";

export class SqliteMemos {
  readonly #connection: PreparedConnection;
  readonly #domain: string;
  readonly #bans: SqliteBans;
  #isThere = false;

  constructor(connection: PreparedConnection, domain: string, bans: SqliteBans) {
    this.#bans = bans;
    this.#connection = connection;
    this.#domain = domain;
  }

  write(write: MemoWrite): MemoWritten {
    return (
      ownNode("sqlite", write.session, write.ban) ??
      tooLarge("sqlite", write, MEMOS) ??
      transact(this.#connection, "lasting", () => this.#write(write))
    );
  }

  #write({ session, hold, key, value, n, over, ban }: MemoWrite): MemoWritten {
    const { name, bid, token } = hold;
    const known = this.#connection.all(sql.READ_SESSION, session.id)[0];
    if (known === undefined || isTrue(known["ended"]) || this.#bans.isBanned(session)) return { kind: "session-lost" };
    if (token === undefined || this.#connection.all(sql.IS_HELD, name, session.id, bid, `${token.value}`).length === 0)
      return { kind: "seat-lost" };
    const refused = ban && this.#bans.objection(ban, name);
    if (refused !== undefined) return refused;
    if (!this.#hasTable()) this.#connection.exec(sql.CREATE_MEMOS);
    const stands = this.read(name, key)[0];
    const version = memoVersion(token, n);
    if (stands?.version === version && stands.value === value) return { kind: "written", version };
    if (stands?.version !== over) return { kind: "conflict", memo: stands };
    if (stands === undefined && this.#count(name) >= MEMOS.keys) return tooMany("sqlite", name, MEMOS);
    this.#connection.run(sql.WRITE_MEMO, name, key, value, `${token.value}`, bid, n);
    if (ban !== undefined) this.#bans.change(ban, name);
    return { kind: "written", version };
  }

  read(name: Name, key: string | undefined): readonly StoredMemo[] {
    if (!this.#hasTable()) return [];
    const rows =
      key === undefined ? this.#connection.all(sql.READ_MEMOS, name) : this.#connection.all(sql.READ_MEMO, name, key);
    return rows.map((row) => this.#memoOf(name, row));
  }

  #memoOf(name: Name, row: Row): StoredMemo {
    const key = readText(row["key"], `a memo of "${name}", key`);
    const what = `the memo "${key}" of "${name}"`;
    const bid = asBid(readText(row["bid"], `${what}, bid`));
    const token = { domain: this.#domain, value: BigInt(readWhole(row["token"], `${what}, token`)), bid };
    const n = readNumber(row["n"], `${what}, n`);
    return { key, value: readText(row["value"], what), token, n, version: memoVersion(token, n) };
  }

  #count(name: Name): number {
    return readNumber(this.#connection.all(sql.COUNT_MEMOS, name)[0]?.["memos"], "the number of memos");
  }

  /** A file of an older version has no such table before its first memo. */
  #hasTable(): boolean {
    this.#isThere ||= this.#connection.all(sql.HAS_MEMOS).length > 0;
    return this.#isThere;
  }
}
