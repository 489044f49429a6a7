// What the driver sends to the database, and what it makes of an answer that does not fit: the database is in the hand of the test, so that no server is needed.
import { expect, it } from "vitest";
import { asBid, asVersion, type Call, type Claim, VACANT } from "conclave/stores/contract";
import type { Database } from "../../../src/clients/postgres/database.ts";
import { guaranteeOf } from "../../../src/stores/postgres/guarantee.ts";
import { PostgresStore } from "../../../src/stores/postgres/postgres-store.ts";

const session = { id: "s", candidate: "c", ttlMs: 4000 };
const claimOf = (name: string, bid = `${name}.1`, over: Claim["over"] = VACANT): Claim => ({
  session,
  name,
  bid: asBid(bid),
  over,
  value: "",
});
const call = (signal = new AbortController().signal): Call => ({ signal, sentAtMs: 0 });

/** Answers each call by the name of its function. */
function stage(answer: (verb: string, asked: string) => unknown, expiry: "silence" | "database-clock" = "silence") {
  const [asked, doubts]: [string[], string[]] = [[], []];
  const database = {
    call: async (name: string, words: readonly string[]) => {
      const verb = name.replace("conclave.", "");
      asked.push(verb);
      const said = await answer(verb, words.join(" "));
      return typeof said === "object" && said !== null ? JSON.stringify(said) : said;
    },
    doubt: () => doubts.push("doubted"),
  } as unknown as Database;
  const where = { place: "db.example", schema: "conclave" };
  const store = new PostgresStore({ database, where, guarantee: guaranteeOf(expiry), createTables: false });
  return { store, asked, doubts };
}

const granted = (token: string): object => ({ verdict: "granted", token, seat: null });

it("the short claim judges no clock, so it is asked only where rivals judge silence, and for one name that was looked at", async () => {
  const taken = { kind: "taken", token: "7", domain: "d" };
  const claimed = { kind: "claimed", domain: "d", claimed: [granted("7")] };
  const answer = (verb: string): object => (verb === "take" ? taken : claimed);
  const [bySilence, byClock] = [stage(answer), stage(answer, "database-clock")];
  for (const { store } of [bySilence, byClock])
    expect(await store.claim([claimOf("x")], call())).toMatchObject([
      { kind: "granted", hold: { token: { value: 7n } } },
    ]);
  await bySilence.store.claim([{ ...claimOf("x"), over: undefined }], call());
  expect([bySilence.asked, byClock.asked]).toEqual([["take", "claim"], ["claim"]]);
});

it("a name that comes twice is claimed in turn: one statement would tell both that it is theirs", async () => {
  const beaten = { name: "x", version: "1", state: "vacant" };
  const answers = [
    { kind: "taken", token: "7", domain: "d" },
    { kind: "claimed", domain: "d", claimed: [{ verdict: "beaten", seat: beaten }] },
  ];
  const { store, asked } = stage(() => answers.shift());
  const claimed = await store.claim([claimOf("x", "first"), claimOf("x", "second", asVersion("0"))], call());
  expect(claimed.map(({ kind }) => kind)).toEqual(["granted", "beaten"]);
  expect(asked).toEqual(["take", "take"]);
});

it("an answer that has not one answer for each claim says nothing of any: they may have been granted", async () => {
  for (const claimed of [[granted("7")], [granted("7"), granted("8"), granted("9")], null, {}]) {
    const { store } = stage(() => ({ kind: "claimed", domain: "d", claimed }));
    const answers = await store.claim([claimOf("x"), claimOf("y")], call());
    expect(answers.map(({ kind }) => kind)).toEqual(["unknown", "unknown"]);
  }
});

it("a call that is given up has an unknown outcome, and its connection is doubted; one that was given up before is not sent", async () => {
  const over = new AbortController();
  const { store, asked, doubts } = stage(() => new Promise(() => {}));
  const claiming = store.claim([claimOf("x")], call(over.signal));
  over.abort(new Error("late"));
  expect(await claiming).toMatchObject([{ kind: "unknown" }]);
  expect([asked, doubts]).toEqual([["take"], ["doubted"]]);
  expect(await store.claim([claimOf("x")], call(over.signal))).toMatchObject([{ kind: "unknown" }]);
  expect(asked).toEqual(["take"]);
});

it("an answer that is none is unknown: what was asked may have been done", async () => {
  for (const said of ["", "no JSON", "null", "7", 7, null, undefined]) {
    const { store } = stage(() => said);
    const [claimed] = await store.claim([claimOf("x")], call());
    expect(claimed?.kind, JSON.stringify(said)).toBe("unknown");
  }
});
