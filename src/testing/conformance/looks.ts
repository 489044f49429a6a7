// Looks are in order, complete, and exact for any names and values that people choose.
import type { Bench, Case } from "./bench.ts";
import { check, checkEqual } from "./check.ts";

export const lookCases: readonly Case[] = [
  { name: "a look answers in the order of its questions, and a name never held is vacant", run: answersInOrder },
  { name: "a look shows who holds a name: candidate, bid, value and ttl", run: showsHolder },
  { name: "a value of 64 KiB comes back as it was", run: carriesLargeValues },
  { name: "odd names are kept apart and come back as they were", run: carriesOddNames },
  { name: "an aborted call throws nothing in the caller's face", run: toleratesAbort },
];

async function answersInOrder(bench: Bench): Promise<void> {
  const session = await bench.open();
  const names = [bench.name(), bench.name(), bench.name()];
  await bench.win(session, names[1] ?? "");
  const seats = await bench.seats([...names, ...names.toReversed()].map((name) => ({ name })));
  const shown = seats.map(({ name, state }) => [name, state]);
  const [a, b, c] = names;
  const forth = [
    [a, "vacant"],
    [b, "held"],
    [c, "vacant"],
  ];
  checkEqual(
    shown,
    [...forth, ...forth.toReversed()],
    "look answers in the order of its questions; a name never held is vacant",
  );
}

async function showsHolder(bench: Bench): Promise<void> {
  const session = await bench.open(bench.spec(undefined, "web-1_ünïcode"));
  const hold = await bench.win(session, bench.name(), bench.bid(), "http://10.0.0.1:3000");
  const { holder, ttlMs } = await bench.seat(hold.name);
  checkEqual(holder?.candidate, "web-1_ünïcode", "a seat shows the candidate that holds it");
  checkEqual(holder?.value, "http://10.0.0.1:3000", "a seat shows the value that was recorded");
  check(
    holder?.bid === undefined || holder.bid === hold.bid,
    "a seat shows the bid that holds it",
    hold.bid,
    holder?.bid,
  );
  check(
    !bench.isTaken || ttlMs !== undefined,
    "where a taker judges, a seat shows its holder's ttl",
    `${session.ttlMs}`,
    ttlMs,
  );
  check(
    ttlMs === undefined || ttlMs === session.ttlMs,
    "a seat shows its holder's ttl as granted",
    `${session.ttlMs}`,
    ttlMs,
  );
}

async function carriesLargeValues(bench: Bench): Promise<void> {
  const session = await bench.open();
  const value = "0123456789abcde\n".repeat(4096);
  const hold = await bench.win(session, bench.name(), bench.bid(), value);
  check(
    (await bench.seat(hold.name)).holder?.value === value,
    "a value is recorded as it is",
    "the 65536 characters of the claim",
    "something else",
  );
}

const ODD = [
  "ünïcödé 選挙 🗳",
  " spaces  within ",
  "a/b//c/../d",
  `'single' "double" \`back\``,
  "semi;colon -- drop",
  "%25 %s {0} $1 \\n",
  "UPPER",
  "upper",
  "x".repeat(120),
];

async function carriesOddNames(bench: Bench): Promise<void> {
  const session = await bench.open();
  const names = ODD.map((odd) => bench.name(odd).padEnd(200, "z").slice(0, 200));
  const holds = [];
  for (const name of names) holds.push(await bench.win(session, name, bench.bid(), name));
  const seats = await bench.seats(names.map((name) => ({ name })));
  checkEqual(
    seats.map(({ name, holder }) => [name, holder?.value]),
    names.map((name) => [name, name]),
    "a name is any text of up to 200 characters, and each is its own",
  );
  const kept = await bench.kept(session, holds);
  checkEqual([kept.lost, kept.strays], [[], []], "a hold is known again by its name");
  await bench.giveBack(session, holds.slice(0, 1));
  const after = await bench.seats(names.map((name) => ({ name })));
  checkEqual(
    after.map(({ state }) => state),
    names.map((_, index) => (index === 0 ? "vacant" : "held")),
    "releasing one name leaves the others",
  );
}

async function toleratesAbort(bench: Bench): Promise<void> {
  const session = await bench.open();
  const name = bench.name();
  const { version } = await bench.seat(name);
  const call = { signal: AbortSignal.abort(new Error("the caller has given up")), sentAtMs: bench.nowMs() };
  const { store } = bench;
  const calls: readonly (readonly [method: string, start: () => Promise<unknown>])[] = [
    ["keep", () => store.keep(session, [], call)],
    ["claim", () => store.claim([{ session, name, bid: bench.bid(), over: version, value: "" }], call)],
    ["look", () => store.look([{ name }], call)],
    ["release", () => store.release({ session, holds: [], endSession: false }, call)],
  ];
  for (const [method, start] of calls) {
    const answer = begin(method, start);
    check(answer instanceof Promise, "an aborted call is answered by a promise", `a promise from ${method}`, answer);
    await answer.catch(() => "a rejection counts as unknown");
  }
}

function begin(method: string, start: () => Promise<unknown>): Promise<unknown> {
  try {
    return start();
  } catch (error) {
    check(
      false,
      "an aborted call is answered, or rejects; it does not throw",
      `a promise from ${method}`,
      String(error),
    );
  }
}
