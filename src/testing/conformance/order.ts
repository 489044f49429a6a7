// Order: the places of a line, the versions of a race. Each case states the demand on both shapes, and checks the one at hand.
import type { Claimed, Version } from "../../lease/exchange.ts";
import type { Bench, Case } from "./bench.ts";
import { check, checkEqual, checkKind } from "./check.ts";

export const orderCases: readonly Case[] = [
  { name: "rivals are served in turn: by joining in a line, by one swap a version in a race", run: servesInTurn },
  { name: "a look shows where one stands: the place in a line, the version to swap over in a race", run: showsPlace },
  { name: "an older version wins nothing in a race, and a line does not ask for one", run: swapsExactly },
  {
    name: "a session stands once at a name: another bid is a leftover in a line, a new term in a race",
    run: standsOnce,
  },
  {
    name: "a claim that says that it stands is answered as one that does not: waiting, first, and gone in a line; ignored in a race",
    run: answersStanding,
  },
  { name: "versions of a name never repeat: not across release, re-claim and the end of a session", run: neverRepeats },
  { name: "a keep moves the version that a taker watches, and no holder from its place", run: movesByKeep },
];

async function servesInTurn(bench: Bench): Promise<void> {
  const [first, second, third] = [await bench.open(), await bench.open(), await bench.open()];
  const name = bench.name();
  const hold = await bench.win(first, name);
  if (!bench.isLine) {
    await bench.giveBack(first, [hold]);
    const { version } = await bench.seat(name);
    checkKind(
      await bench.claim(third, name, bench.bid(), version),
      "granted",
      "the first swap over the version that stands wins",
    );
    checkKind(await bench.claim(second, name, bench.bid(), version), "beaten", "a version is swapped over once");
    return;
  }
  const [bid2, bid3] = [bench.bid(), bench.bid()];
  const line = "a line serves in the order of joining";
  checkEqual(checkKind(await bench.claim(second, name, bid2), "waiting", line).ahead, 1, line);
  checkEqual(checkKind(await bench.claim(third, name, bid3), "waiting", line).ahead, 2, line);
  await bench.giveBack(first, [hold]);
  checkEqual(checkKind(await bench.claim(third, name, bid3), "waiting", line).ahead, 1, line);
  checkKind(
    await bench.claim(second, name, bid2),
    "granted",
    "a session that becomes the first of its line is granted when it asks again",
  );
  await bench.giveBack(second, [], true);
  checkKind(
    await bench.claim(third, name, bid3),
    "granted",
    "the end of a session takes its entries out of every line",
  );
}

async function showsPlace(bench: Bench): Promise<void> {
  const [first, second, third] = [await bench.open(), await bench.open(), await bench.open()];
  const name = bench.name();
  const hold = await bench.win(first, name);
  if (!bench.isLine) {
    await bench.giveBack(first, [hold]);
    const { version } = await bench.seat(name);
    checkKind(
      await bench.claim(second, name, bench.bid(), version),
      "granted",
      "the version that a look shows is the one to swap over",
    );
    return;
  }
  const bid = bench.bid();
  checkKind(await bench.claim(second, name, bid), "waiting", "a session that joins a line behind another waits");
  const line = "place: whether my entry is there, bound to my session, and how many stand before it";
  checkEqual((await bench.seat(name, { bid: hold.bid, session: first })).place, { present: true, ahead: 0 }, line);
  checkEqual((await bench.seat(name, { bid, session: second })).place, { present: true, ahead: 1 }, line);
  checkEqual(
    (await bench.seat(name, { bid, session: third })).place?.present,
    false,
    `${line}; another session's entry is not mine`,
  );
  checkEqual((await bench.seat(name, { bid: bench.bid(), session: second })).place?.present, false, line);
  await bench.giveBack(first, [hold]);
  checkEqual((await bench.seat(name, { bid, session: second })).place, { present: true, ahead: 0 }, line);
}

async function swapsExactly(bench: Bench): Promise<void> {
  const [first, second] = [await bench.open(), await bench.open()];
  const name = bench.name();
  const { version: older } = await bench.seat(name);
  const hold = await bench.win(first, name);
  await bench.giveBack(first, [hold]);
  const before = await bench.seat(name);
  const claimed = await bench.claim(second, name, bench.bid(), older);
  if (bench.isLine) {
    checkKind(claimed, "granted", "a line ignores `over`: the store judges");
    return;
  }
  const { seat } = checkKind(claimed, "beaten", "a race swaps over exactly `over`");
  checkEqual(seat.version, before.version, "a beaten claim is shown the version that stands");
  checkEqual(await bench.seat(name), before, "a beaten claim changes nothing");
  checkKind(
    await bench.claim(second, name, bench.bid(), undefined),
    "beaten",
    "a claim of a race that names no version swaps over none",
  );
}

async function answersStanding(bench: Bench): Promise<void> {
  const [first, second] = [await bench.open(), await bench.open()];
  const name = bench.name();
  const hold = await bench.win(first, name);
  const bid = bench.bid();
  const again = async (): Promise<Claimed> => {
    const [claimed] = await bench.claims([{ session: second, name, bid, value: "", stands: true }]);
    check(claimed !== undefined, "claim answers every claim", "one answer", claimed);
    return claimed;
  };
  if (!bench.isLine) {
    checkKind(await again(), "beaten", "a race takes no notice of `stands`");
    return;
  }
  checkKind(await bench.claim(second, name, bid), "waiting", "a session that joins a line behind another waits");
  const waits = checkKind(await again(), "waiting", "who stands behind another waits, and joins no second time");
  checkEqual(waits.ahead, 1, "a claim that stands shows its place");
  await bench.giveBack(first, [hold]);
  const [foreign] = await bench.claims([{ session: second, name, bid, value: "", stands: true, witness: "nobody's" }]);
  check(
    foreign?.kind === "granted" && foreign.confirms === undefined,
    "a grant confirms no keep whose witness the store has not given",
    "granted, and nothing confirmed",
    foreign,
  );
  const won = checkKind(await again(), "granted", "who stands, and is the first, is granted").hold;
  checkEqual(won.token?.value, waits.hold.token?.value, "the place that was waited for is the one that is granted");
  await bench.giveBack(second, [won]);
  const anew = checkKind(await again(), "granted", "an entry that is gone joins anew").hold;
  check(
    won.token === undefined || (anew.token?.value ?? 0n) > won.token.value,
    "an entry that joins anew has a greater token",
    "a greater token",
    anew.token?.value,
  );
}

async function standsOnce(bench: Bench): Promise<void> {
  const session = await bench.open();
  const name = bench.name();
  const hold = await bench.win(session, name);
  const claimed = await bench.stand(session, name);
  if (bench.isLine) {
    const { bid } = checkKind(claimed, "leftover", "a session stands in a line once; another bid of it is not applied");
    checkEqual(bid, hold.bid, "a leftover names the bid that stands");
    checkEqual((await bench.kept(session, [hold])).lost, [], "a leftover changes nothing");
    return;
  }
  const next = checkKind(claimed, "granted", "a session may swap over its own record").hold;
  check(
    next.token === undefined || next.token.value > (hold.token?.value ?? 0n),
    "a new bid is a new term with a greater token",
    "a greater token",
    { before: hold.token, after: next.token },
  );
  const kept = await bench.kept(session, [next]);
  checkEqual(
    [kept.lost, kept.strays],
    [[], []],
    "swapping over one's own record does not end one's own session, and leaves no old entry",
  );
}

async function neverRepeats(bench: Bench): Promise<void> {
  const name = bench.name();
  const seen = new Map<Version, string>();
  const note = async (when: string): Promise<void> => {
    const { version } = await bench.seat(name);
    check(
      !seen.has(version),
      "a version of a name never repeats, not even for absence",
      `a version for "${when}" that was not there "${seen.get(version)}"`,
      version,
    );
    seen.set(version, when);
  };
  await note("never held");
  for (const round of ["first", "second", "third"]) {
    const session = await bench.open();
    const hold = await bench.win(session, name);
    await note(`${round} holder`);
    await bench.giveBack(session, [hold]);
    await note(`given back by the ${round}`);
    await bench.win(session, name);
    await note(`${round} holder again`);
    await bench.giveBack(session, [], true);
    await note(`session of the ${round} ended`);
  }
}

async function movesByKeep(bench: Bench): Promise<void> {
  const session = await bench.open();
  const name = bench.name();
  const hold = await bench.win(session, name);
  const seen = [(await bench.seat(name)).version];
  for (let keep = 0; keep < 3; keep++) {
    await bench.kept(session, [hold]);
    const { version } = await bench.seat(name);
    check(
      !bench.isTaken || !seen.includes(version),
      "every keep of the holder changes the version",
      "a version that was not there before",
      version,
    );
    seen.push(version);
  }
  if (bench.isTaken) {
    const claimed = await bench.claim(await bench.open(), name, bench.bid(), seen[0]);
    checkKind(claimed, "beaten", "a taker that watched an older beat is beaten: the holder is alive");
  }
  await bench.checkHeldBy(name, session, "a keep moves no holder from its place");
}
