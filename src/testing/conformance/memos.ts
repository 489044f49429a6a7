// Memos are written only for the term in the seat, once, in order; anybody may read them. A store without memos declares none and has no methods for them.
import type { Hold, StoredMemo, MemoWrite, MemoWritten, Session, Version } from "../../lease/exchange.ts";
import { type KeepsMemos, keepsMemos } from "../../stores/contract.ts";
import type { Bench, Case } from "./bench.ts";
import { check, checkEqual, checkKind } from "./check.ts";

export const memoCases: readonly Case[] = [
  { name: "memos are kept exactly if the guarantee says how many and how large", run: declares },
  { name: "a memo is read as it was written, and outlives its term", run: whereKept(outlives) },
  { name: "a memo is written only for the session, bid and token in the seat", run: whereKept(isGuarded) },
  { name: "a memo that is sent again is written once", run: whereKept(isIdempotent) },
  { name: "a memo that comes late changes nothing", run: whereKept(isOrdered) },
  { name: "memos of other names and other keys are other memos", run: whereKept(areApart) },
  { name: "a memo that is too large, or one too many, is refused and changes nothing", run: whereKept(isBounded) },
  { name: "a memo moves no version and extends nothing", run: whereKept(extendsNothing) },
  { name: "a reader of a memo is woken by its change, or the guarantee says poll", run: whereKept(wakesReader) },
];

const HINT_WITHIN_MS = 3_000;

async function declares(bench: Bench): Promise<void> {
  const { memos, fencing } = bench.guarantee;
  const line = "a store has writeMemo and readMemos if it declares memos, which need tokens";
  if (memos === undefined) return;
  check(keepsMemos(bench.store) && fencing === "fenced", line, "both methods, and tokens", Object.keys(bench.store));
  check(memos.keys >= 1 && memos.bytes >= 1, "some memos are kept", "at least one key and one byte", memos);
}

function whereKept(run: (desk: MemoDesk) => Promise<void>): Case["run"] {
  return async (bench) => {
    const { store } = bench;
    if (!keepsMemos(store)) return;
    const session = await bench.open();
    await run(new MemoDesk(bench, store, session, await bench.win(session, bench.name())));
  };
}

/** A holder that writes memos. */
class MemoDesk {
  readonly bench: Bench;
  readonly store: KeepsMemos;
  readonly session: Session;
  readonly hold: Hold;

  constructor(bench: Bench, store: KeepsMemos, session: Session, hold: Hold) {
    this.bench = bench;
    this.store = store;
    this.session = session;
    this.hold = hold;
  }

  write(write: Partial<MemoWrite> = {}): Promise<MemoWritten> {
    const { session, hold } = this;
    const whole = { session, hold, key: "k", value: "a", n: 1, over: undefined, ...write };
    return this.store.writeMemo(whole, this.bench.call());
  }

  async written(write: Partial<MemoWrite> = {}): Promise<Version> {
    const line = "a memo of the term in the seat is written over what stands there";
    return checkKind(await this.write(write), "written", line).version;
  }

  /** Reads one key, or all. */
  async read(key = "k"): Promise<readonly StoredMemo[]> {
    const line = "readMemos shows what stands";
    const asked = key === "all" ? undefined : key;
    return checkKind(await this.store.readMemos(this.hold.name, asked, this.bench.call()), "memos", line).memos;
  }

  async checkValue(value: string | undefined, line: string): Promise<void> {
    checkEqual((await this.read())[0]?.value, value, line);
  }
}

async function outlives(desk: MemoDesk): Promise<void> {
  const { bench, hold, session } = desk;
  checkEqual(await desk.read(), [], "nothing stands where nothing was written");
  const value = `{"day":"2026-11-16","text":"ä 漢 🎉 ' \\" \\\\ %"}\n`;
  const version = await desk.written({ value });
  const memo: StoredMemo = { key: "k", value, token: hold.token as NonNullable<Hold["token"]>, n: 1, version };
  checkEqual(await desk.read(), [memo], "a memo is read as it was written, with its token and n");
  checkEqual(await desk.read("all"), [memo], "without a key, all memos of the name are read");
  await bench.giveBack(session, [hold], true);
  checkEqual(await desk.read(), [memo], "a memo outlives its term and its session");
  const next = await bench.open();
  const successor = await bench.win(next, hold.name);
  await desk.written({ session: next, hold: successor, value: "b", over: version });
  const [after] = await desk.read();
  checkEqual([after?.value, after?.token], ["b", successor.token], "the next term writes over it");
}

async function isGuarded(desk: MemoDesk): Promise<void> {
  const { bench, hold, session } = desk;
  const line = "a memo is written only if the seat shows this session, bid and token";
  const version = await desk.written();
  const rest = { n: 2, over: version, value: "stale" };
  const token = hold.token as NonNullable<Hold["token"]>;
  const bid = bench.bid();
  const older = { ...hold, token: { ...token, value: token.value - 1n } };
  const newer = { ...hold, token: { ...token, value: token.value + 1n } };
  // In a line the token is the revision of one entry, so it already identifies the bid.
  const ofAnother = bench.isLine ? [] : [{ ...hold, bid, token: { ...token, bid } }];
  for (const other of [older, newer, ...ofAnother])
    checkKind(await desk.write({ ...rest, hold: other }), "seat-lost", line);
  const rival = await bench.open();
  checkKind(await desk.write({ ...rest, session: rival }), "seat-lost", line);
  const spent = await bench.open();
  await bench.giveBack(spent, [], true);
  const over = (await desk.write({ ...rest, session: spent })).kind;
  check(over === "session-lost" || over === "seat-lost", "a session that is over writes nothing", "a loss", over);
  await desk.checkValue("a", "what is refused changes nothing");
  await bench.giveBack(session, [hold]);
  checkKind(await desk.write(rest), "seat-lost", "a term that was given back writes nothing");
  const again = await bench.win(session, hold.name);
  checkKind(await desk.write(rest), "seat-lost", "the session's next term is another one");
  await desk.written({ hold: again, over: version, value: "b" });
  await desk.checkValue("b", "the term in the seat writes");
}

async function isIdempotent(desk: MemoDesk): Promise<void> {
  const version = await desk.written();
  const line = "a memo with the token and n of what stands is the same write, sent again";
  checkEqual(await desk.write(), { kind: "written", version }, line);
  const [stands] = await desk.read();
  const answer = await desk.write({ value: "of a copy" });
  checkEqual(answer, { kind: "conflict", memo: stands }, "another value under the same token and n is no re-send");
  await desk.checkValue("a", "a conflict changes nothing");
}

async function isOrdered(desk: MemoDesk): Promise<void> {
  const first = await desk.written();
  const second = await desk.written({ n: 2, value: "b", over: first });
  const [stands] = await desk.read();
  const line = "a memo that comes late finds another version, and changes nothing";
  checkEqual(await desk.write(), { kind: "conflict", memo: stands }, line);
  checkEqual(await desk.write({ n: 2, value: "b", over: first }), { kind: "written", version: second }, line);
  checkEqual(await desk.write({ n: 3, value: "c", over: first }), { kind: "conflict", memo: stands }, line);
  checkEqual((await desk.write({ key: "l", over: first })).kind, "conflict", "a key that is not there has no version");
  checkEqual(await desk.read(), [stands], line);
}

async function areApart(desk: MemoDesk): Promise<void> {
  const { bench, hold } = desk;
  const keys = ["K", "_", "k", "k%2Fa", "k'", "k/", "k/a", "ä"];
  for (const key of keys) await desk.written({ key, value: `of ${key}` });
  const session = await bench.open();
  const below = await bench.win(session, `${hold.name}/k`);
  await desk.written({ session, hold: below, key: "a", value: "of another name" });
  const read = new Map((await desk.read("all")).map(({ key, value }) => [key, value]));
  checkEqual([...read.keys()].toSorted(), keys, "all memos of the name are read, and no other");
  for (const key of keys) checkEqual(read.get(key), `of ${key}`, "each key of a name has a value of its own");
  for (const key of keys) checkEqual((await desk.read(key)).length, 1, "one memo of one key is read");
}

async function isBounded(desk: MemoDesk): Promise<void> {
  const { keys = 0, bytes = 0 } = desk.bench.guarantee.memos ?? {};
  const fits = "é".repeat(bytes / 2);
  await desk.written({ key: "0", value: fits });
  checkEqual((await desk.read("0"))[0]?.value, fits, "a value of the declared size is kept whole");
  const large = checkKind(await desk.write({ value: `${fits}é` }), "refused", "a value that is too large is refused");
  checkEqual([large.code, large.retryable], ["STORE_FULL", false], "too large is STORE_FULL");
  for (let key = 1; key < keys; key++) await desk.written({ key: `${key}`, value: "" });
  const many = checkKind(await desk.write(), "refused", "one key more than declared is refused");
  checkEqual([many.code, many.retryable], ["STORE_FULL", false], "too many is STORE_FULL");
  checkEqual((await desk.read("all")).length, keys, "what is refused changes nothing");
  const [last] = await desk.read("0");
  await desk.written({ key: "0", n: 2, over: last?.version, value: "still" });
}

async function extendsNothing(desk: MemoDesk): Promise<void> {
  const { bench, hold } = desk;
  const before = await bench.seat(hold.name);
  await desk.written();
  const after = await bench.seat(hold.name);
  checkEqual(after.version, before.version, "a memo is no sign of life: the version of the seat stays");
  checkEqual(after.heldUntilMs, before.heldUntilMs, "a memo extends nothing");
}

async function wakesReader(desk: MemoDesk): Promise<void> {
  const { bench, hold } = desk;
  const controller = new AbortController();
  const hints = bench.hints({ name: hold.name, memo: "k" }, controller.signal);
  const first = hints.next();
  await bench.sleep(20);
  await desk.written();
  const isPoll = bench.guarantee.wakes === "poll";
  const woken = await bench.within(first, isPoll ? 0 : HINT_WITHIN_MS);
  controller.abort();
  const line = "where the guarantee says watch, the change of a memo is hinted at";
  const isWoken = woken !== "too late" && woken.done !== true && woken.value.name === hold.name;
  check(isPoll || isWoken, line, `a hint within ${HINT_WITHIN_MS} ms`, woken);
}
