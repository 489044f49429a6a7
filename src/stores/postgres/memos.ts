// Memos in PostgreSQL, by two functions of the database; sql/memos.sql has the argument. This file makes the requests, and reads and checks the answers.
import { unbannedNode } from "../../lease/ban-rule.ts";
import { asBid, type StoredMemo, type MemosRead, type MemoWrite, type MemoWritten } from "../contract.ts";
import { memoVersion, MEMOS, tooMany } from "../memos.ts";
import { type AnswerRow, readText, readToken } from "./answers.ts";
import { edited, type PostgresWhereabouts } from "./refusals.ts";

/** The argument of the function `write_memo`. */
export function wishOf({ session, hold, key, value, n, over, ban }: MemoWrite): object {
  const { name, bid, token } = hold;
  return { name, session: session.id, bid, token: `${token?.value}`, key, value, n, over, ban, keys: MEMOS.keys };
}

export function readWritten({ hold, n, ban }: MemoWrite, answer: AnswerRow, where: PostgresWhereabouts): MemoWritten {
  const { name, token } = hold;
  switch (answer["kind"]) {
    case "session-lost":
    case "seat-lost":
      return { kind: answer["kind"] };
    case "unbanned":
      return unbannedNode("postgres", ban?.node ?? "");
    case "full":
      return tooMany("postgres", name, MEMOS);
    case "conflict":
      return { kind: "conflict", memo: readStanding(name, answer["memo"], token?.domain ?? "", where) };
    case "written":
      if (token !== undefined) return { kind: "written", version: memoVersion(token, n) };
  }
  throw edited("the answer to a memo", answer["kind"], where);
}

export function readMemos(name: string, { memos, domain }: AnswerRow, where: PostgresWhereabouts): MemosRead {
  if (!Array.isArray(memos)) throw edited("a list of memos", memos, where);
  const origin = readText(domain, "the token domain", where);
  return { kind: "memos", memos: memos.map((memo) => readMemo(name, memo as AnswerRow, origin, where)) };
}

function readStanding(name: string, memo: unknown, domain: string, where: PostgresWhereabouts): StoredMemo | undefined {
  return memo === null ? undefined : readMemo(name, memo as AnswerRow, domain, where);
}

function readMemo(name: string, memo: AnswerRow, domain: string, where: PostgresWhereabouts): StoredMemo {
  const key = readText(memo["key"], `a memo of "${name}", key`, where);
  const what = `the memo "${key}" of "${name}"`;
  const bid = asBid(readText(memo["bid"], `${what}, bid`, where));
  const token = { domain, value: readToken(memo["token"], what, where), bid };
  const n = memo["n"];
  if (typeof n !== "number" || !Number.isSafeInteger(n)) throw edited(`${what}, n`, n, where);
  return { key, value: readText(memo["value"], what, where), token, n, version: memoVersion(token, n) };
}
