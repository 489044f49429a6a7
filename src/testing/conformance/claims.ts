// Claims: one attempt per bid, one winner per name, answers in order.
import { VACANT } from "../../lease/exchange.ts";
import type { Bench, Case } from "./bench.ts";
import { check, checkEqual, checkKind } from "./check.ts";

export const claimCases: readonly Case[] = [
  { name: "a claim sent again with its bid is the same grant", run: isIdempotent },
  { name: "a claim by the bid that holds the name records its value and nothing else", run: announces },
  { name: "a held name is not granted to a rival: it waits in a line, and is beaten in a race", run: excludes },
  { name: "of rivals that claim at once exactly one is granted", run: grantsOne },
  { name: "claims of one batch are answered in their order, each for itself", run: answersInOrder },
  {
    name: "a claim that did not win is the same claim when sent again: one place in a line, beaten for good in a race",
    run: staysUnsuccessful,
  },
  { name: "a claim over VACANT is granted where the seat is vacant, to one, and nowhere else", run: asksForVacant },
];

async function isIdempotent(bench: Bench): Promise<void> {
  const session = await bench.open();
  const name = bench.name();
  const bid = bench.bid();
  const { version } = await bench.seat(name);
  const line = "a claim sent again with its bid is answered as it stands";
  const first = checkKind(
    await bench.claim(session, name, bid, version),
    "granted",
    "a name that is free is granted",
  ).hold;
  const again = checkKind(await bench.claim(session, name, bid, version), "granted", line).hold;
  checkEqual(again, first, line);
  await bench.kept(session, [first]);
  const late = checkKind(await bench.claim(session, name, bid, version), "granted", `${line}, also after a keep`).hold;
  checkEqual(late, first, line);
}

async function announces(bench: Bench): Promise<void> {
  const session = await bench.open();
  const name = bench.name();
  const hold = await bench.win(session, name, bench.bid(), "before");
  checkEqual((await bench.seat(name)).holder?.value, "before", "a claim records its value");
  const again = checkKind(
    await bench.claim(session, name, hold.bid, undefined, "after"),
    "granted",
    "a bid that holds the name is answered as it stands",
  ).hold;
  checkEqual(again, hold, "a new value is no new term");
  checkEqual(
    (await bench.seat(name)).holder?.value,
    "after",
    "a claim of the bid that holds the name changes its value",
  );
}

async function excludes(bench: Bench): Promise<void> {
  const [holder, rival] = [await bench.open(), await bench.open()];
  const name = bench.name();
  const { version } = await bench.seat(name);
  const hold = await bench.win(holder, name);
  const claimed = await bench.claim(rival, name, bench.bid(), version);
  if (bench.isLine)
    checkEqual(
      checkKind(claimed, "waiting", "a session that joins a line behind another waits").ahead,
      1,
      "ahead counts who stands before",
    );
  else {
    const { seat } = checkKind(claimed, "beaten", "a swap over another version than the one that stands is beaten");
    checkEqual([seat.name, seat.state], [name, "held"], "a beaten claim is shown the seat as it stands");
  }
  await bench.checkHeldBy(name, holder, "a claim that was not granted changes no holder");
  checkEqual((await bench.kept(holder, [hold])).lost, [], "a claim that was not granted takes nothing away");
}

async function grantsOne(bench: Bench): Promise<void> {
  const name = bench.name();
  const { version } = await bench.seat(name);
  const sessions = await Promise.all(Array.from({ length: 8 }, () => bench.open()));
  const claimed = await Promise.all(sessions.map((session) => bench.claim(session, name, bench.bid(), version)));
  const kinds = claimed.map(({ kind }) => kind).toSorted();
  const others = Array.from({ length: 7 }, () => (bench.isLine ? "waiting" : "beaten"));
  checkEqual(
    kinds,
    [...others, "granted"].toSorted(),
    "one conditional write per name: of those that claim at once one wins",
  );
}

async function answersInOrder(bench: Bench): Promise<void> {
  const [mine, other, over] = [await bench.open(), await bench.open(), await bench.open()];
  await bench.giveBack(over, [], true);
  const names = [bench.name(), bench.name(), bench.name(), bench.name()];
  const seats = await bench.seats(names.map((name) => ({ name })));
  await bench.win(other, names[1] ?? "");
  const sessions = [mine, mine, over, mine];
  const claims = names.map((name, index) => ({
    session: sessions[index] ?? mine,
    name,
    bid: bench.bid(),
    over: seats[index]?.version,
    value: "",
  }));
  const claimed = await bench.claims(claims);
  const expected = ["granted", bench.isLine ? "waiting" : "beaten", "session-lost", "granted"];
  checkEqual(
    claimed.map(({ kind }) => kind),
    expected,
    "claim answers in the order of its claims, each for itself",
  );
  claimed.forEach((answer, index) => {
    if (answer.kind === "granted")
      checkEqual(
        [answer.hold.name, answer.hold.bid],
        [names[index], claims[index]?.bid],
        "a grant is for the name and bid of its claim",
      );
  });
}

async function staysUnsuccessful(bench: Bench): Promise<void> {
  const [holder, rival, third] = [await bench.open(), await bench.open(), await bench.open()];
  const name = bench.name();
  const { version } = await bench.seat(name);
  const hold = await bench.win(holder, name);
  const bid = bench.bid();
  const first = await bench.claim(rival, name, bid, version);
  const again = await bench.claim(rival, name, bid, version);
  checkEqual(again.kind, first.kind, "a claim sent again is answered as it stands");
  if (bench.isLine) {
    checkEqual(again, first, "a claim sent again stands in the line once");
    checkEqual(
      checkKind(await bench.claim(third, name, bench.bid()), "waiting", "a line grows at its end").ahead,
      2,
      "a claim sent again stands in the line once",
    );
    return;
  }
  await bench.giveBack(holder, [hold]);
  const late = checkKind(
    await bench.claim(rival, name, bid, version),
    "beaten",
    "a beaten bid never wins: the version has moved for good",
  );
  check(late.seat.state === "vacant", "a beaten claim is shown the seat as it stands", "a vacant seat", late.seat);
  await bench.checkVacant(name, "a beaten claim changes nothing");
}

/** A store may always answer `beaten`, with the present seat: then a claim over that version follows. */
async function asksForVacant(bench: Bench): Promise<void> {
  if (bench.isLine) return;
  const [first, rival] = [await bench.open(), await bench.open()];
  const name = bench.name();
  const attempts = [first, rival].map((session) => ({ session, name, bid: bench.bid(), over: VACANT, value: "" }));
  const claimed = await Promise.all(attempts.map(async (attempt) => (await bench.claims([attempt]))[0]));
  const granted = attempts.filter((_, index) => claimed[index]?.kind === "granted");
  check(granted.length <= 1, "of those that claim what is vacant one wins", "one grant at most", claimed);
  const { session, bid } = granted[0] ?? { session: first, ...(await bench.win(first, name)) };
  const hold = { name, bid };
  const { seat } = checkKind(
    await bench.claim(rival, name, bench.bid(), VACANT),
    "beaten",
    "a claim over VACANT takes nothing from a holder",
  );
  checkEqual(seat.state, "held", "a beaten claim is shown the seat as it stands");
  checkEqual((await bench.kept(session, [hold])).lost, [], "a claim that was not granted takes nothing away");
  await bench.giveBack(session, [hold]);
  checkKind(
    await bench.claim(session, name, bid, VACANT),
    "beaten",
    "a claim that was granted, given back, and comes once more is not granted again",
  );
  await bench.checkVacant(name, "a beaten claim changes nothing");
}
