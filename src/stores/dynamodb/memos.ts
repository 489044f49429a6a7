// Memos in DynamoDB: in the seat's own item, so that one conditional write compares session, bid, token and what stands at the key, and writes.
//
// The session is read before. Between that read and the write it may be ended by a taker, which has not written the seat yet: then the memo is that of the last term,
// written before the next one began. After the taker has written the seat, its session, bid and token are others, and the write is refused.
// A memo draws no stamp: it is no sign of life.
import type { Call, StoredMemo, MemosRead, MemoWrite, MemoWritten, Name } from "../contract.ts";
import type { MemoBounds } from "../../lease/guarantee.ts";
import { memoVersion, tooLarge, tooMany } from "../memos.ts";
import type { Desk } from "./desk.ts";
import { flag, memoItem, readMemosOf, readSeat, readSession, seatKey, sessionKey, text, whole } from "./items.ts";

/** An item has at most 400 KB: all memos of a name, and its seat. */
export const MEMOS: MemoBounds = { keys: 16, bytes: 20_480 };

export async function writeMemo(desk: Desk, write: MemoWrite, call: Call): Promise<MemoWritten> {
  const large = tooLarge("dynamodb", write, MEMOS);
  if (large !== undefined) return large;
  const { session, hold, key, value, n, over } = write;
  const { name, bid, token } = hold;
  if (token === undefined) return { kind: "seat-lost" };
  const mine = readSession(await desk.readOne(sessionKey(session.id), call), desk.where);
  if (mine === undefined || mine.ended) return { kind: "session-lost" };
  const stands = over === undefined ? "attribute_not_exists(#memos.#memo)" : "#memos.#memo.#version = :over";
  const written = await desk.note(
    {
      key: seatKey(name),
      condition: `#session = :session AND #bid = :bid AND #token = :token AND #domain = :domain AND #vacant = :false AND ${stands} AND (attribute_exists(#memos.#memo) OR size(#memos) < :keys)`,
      update: "SET #memos.#memo = :memo",
      names: { "#memo": key },
      values: {
        ":session": text(session.id),
        ":bid": text(bid),
        ":token": whole(token.value),
        ":domain": text(token.domain),
        ":false": flag(false),
        ":keys": whole(MEMOS.keys),
        ":memo": memoItem(token, n, value),
        ...(over === undefined ? {} : { ":over": text(over) }),
      },
    },
    call,
  );
  if (written.kind === "written") return { kind: "written", version: memoVersion(token, n) };
  const seat = readSeat(written.item, desk.where);
  const isMine = seat !== undefined && !seat.vacant && seat.session === session.id && seat.bid === bid;
  if (!isMine || seat.token !== token.value || seat.domain !== token.domain) return { kind: "seat-lost" };
  return refusedBy(write, readMemosOf(written.item, desk.where), name);
}

/** The seat is this term's, so the condition on the memos failed. A write that finds its own token, n and value was applied before. */
function refusedBy({ hold, key, value, n, over }: MemoWrite, memos: readonly StoredMemo[], name: Name): MemoWritten {
  const memo = memos.find((each) => each.key === key);
  const version = hold.token && memoVersion(hold.token, n);
  if (memo !== undefined && memo.version === version && memo.value === value) return { kind: "written", version };
  if (memo === undefined && over === undefined) return tooMany("dynamodb", name, MEMOS);
  return { kind: "conflict", memo };
}

export async function readMemos(desk: Desk, name: Name, key: string | undefined, call: Call): Promise<MemosRead> {
  const memos = readMemosOf(await desk.readOne(seatKey(name), call), desk.where);
  return { kind: "memos", memos: memos.filter((memo) => key === undefined || memo.key === key) };
}
