// Bans (lease/ban-rule.ts): from the step that writes a ban, nothing is granted to a session of that node. A store that keeps no bans declares none, and refuses nothing because of one.
import type { BanChange, Hold, MemoWrite, MemoWritten, Session, SessionSpec, Version } from "../../lease/exchange.ts";
import { type KeepsMemos, keepsBans, showsNodeless } from "../../stores/contract.ts";
import type { Bench, Case } from "./bench.ts";
import { check, checkEqual, checkKind } from "./check.ts";

export const banCases: readonly Case[] = [
  { name: "bans are kept only where memos are", run: declares },
  { name: "a banned node is granted nothing: no opening, no claim, no keep, no memo", run: whereKept(grantsNothing) },
  { name: "a ban ends nothing early", run: whereKept(endsNothing) },
  { name: "a banned node that waits is not granted what becomes free", run: whereKept(passesOver) },
  { name: "a ban is written only for the session, bid and token in the seat", run: whereKept(isGuarded) },
  { name: "a ban that comes late, after its lift, changes nothing", run: whereKept(isOrdered) },
  { name: "a node is banned while the ban of any election stands, and no longer", run: whereKept(isCounted) },
  { name: "a ban is of one node, whatever is in its name", run: whereKept(areApart) },
  { name: "a term cannot ban its own node", run: whereKept(sparesItself) },
  {
    name: "the sessions of a banned node that is off end at once, and what they held is free",
    run: whereKept(endsAll),
  },
  { name: "no session of a node is ended unless its ban stands in that step", run: whereKept(endsOnlyBanned) },
  { name: "two machines cannot have one node's name at once", run: whereKept(tellsTwins) },
  { name: "candidates whose session speaks for no node are shown, whether they lead or wait", run: showsStrangers },
];

/** Only a store that can show them is checked. */
async function showsStrangers(bench: Bench): Promise<void> {
  const { store } = bench;
  if (!showsNodeless(store) || !keepsBans(store)) return;
  const range = new Range(bench, store);
  const what = "whose session speaks for no node";
  const shown = async (name: string): Promise<readonly string[]> =>
    checkKind(await store.showNodeless(name, bench.call()), "nodeless", what).candidates;
  const name = bench.name();
  checkEqual(await shown(name), [], what);
  await range.lead(await range.open(range.node("leads")), name);
  checkEqual(await shown(name), [], what);
  if (bench.isLine) {
    await bench.stand(await range.open(range.node("waits")), name);
    checkEqual(await shown(name), [], what);
    const stranger = await bench.open();
    await bench.stand(stranger, name);
    checkEqual(await shown(name), [stranger.candidate], what);
  }
  const other = bench.name("other");
  await bench.win(await bench.open(), other);
  checkEqual((await shown(other)).length, 1, what);
}

async function declares({ guarantee, store }: Bench): Promise<void> {
  if (guarantee.bans === undefined) return;
  check(keepsBans(store), "a store that keeps bans keeps memos", "memos", guarantee.memos);
}

function whereKept(run: (range: Range) => Promise<void>): Case["run"] {
  return async (bench) => {
    const { store } = bench;
    if (!keepsBans(store)) return;
    const range = new Range(bench, store);
    await run(range);
  };
}

interface WonSeat {
  readonly session: Session;
  readonly hold: Hold;
}

/** A firing range: the nodes that ban, and the nodes that are banned. */
class Range {
  readonly bench: Bench;
  readonly store: KeepsMemos;
  #last: Version | undefined;
  #n = 0;

  constructor(bench: Bench, store: KeepsMemos) {
    this.bench = bench;
    this.store = store;
  }

  /** The version of the last ban or lift. */
  get last(): Version | undefined {
    return this.#last;
  }

  node(label = "node"): string {
    return this.bench.name(label).replaceAll(" ", "-");
  }

  spec(node: string, machine = "m1", ttlMs?: number): SessionSpec {
    return { ...this.bench.spec(ttlMs), node: { name: node, machine } };
  }

  /** Opens a session as the machine does: the session carries its node. */
  async open(node: string, machine = "m1", ttlMs?: number): Promise<Session> {
    return { ...(await this.bench.open(this.spec(node, machine, ttlMs))), node };
  }

  async lead(session: Session, name = this.bench.name()): Promise<WonSeat> {
    return { session, hold: await this.bench.win(session, name) };
  }

  /** A leader on a node of its own. */
  async shooter(): Promise<WonSeat> {
    return await this.lead(await this.open(this.node("shooter")));
  }

  write(
    { session, hold }: WonSeat,
    node: string,
    stands: boolean,
    over: Partial<MemoWrite> = {},
  ): Promise<MemoWritten> {
    const value = JSON.stringify({ stands, why: "" });
    const ban: BanChange = { node, stands };
    const write = { session, hold, key: `conclave/ban/${node}`, value, n: this.#n + 1, over: this.#last, ban, ...over };
    return this.store.writeMemo(write, this.bench.call());
  }

  async ban(term: WonSeat, node: string, stands = true): Promise<Version> {
    const written = await this.write(term, node, stands);
    this.#n++;
    this.#last = checkKind(written, "written", "the term in the seat bans a node, and lifts its ban").version;
    return this.#last;
  }

  /** The machine of the node was verified to be off. */
  end(term: WonSeat, node: string, over: Partial<MemoWrite> = {}): Promise<MemoWritten> {
    return this.write(term, node, true, { ban: { node, stands: true, endsSessions: true }, ...over });
  }

  /** Begins with another key, or another election, where nothing of ours is written. */
  anew(): void {
    this.#n = 0;
    this.#last = undefined;
  }

  async checkBanned(node: string, line: string): Promise<void> {
    const kept = checkKind(await this.bench.keep(this.spec(node)), "refused", line);
    checkEqual([kept.code, kept.retryable], ["NODE_BANNED", true], line);
  }

  async checkFree(node: string): Promise<void> {
    const line = "to a node without a ban everything is granted";
    const session = await this.open(node);
    checkKind(await this.bench.stand(session, this.bench.name()), "granted", line);
    checkKind(await this.bench.keep(session), "kept", line);
  }
}

async function grantsNothing(range: Range): Promise<void> {
  const { bench } = range;
  const node = range.node();
  const [idle, busy, shooter] = [
    await range.open(node),
    await range.lead(await range.open(node)),
    await range.shooter(),
  ];
  const spec = range.spec(node);
  await bench.open(spec);
  await range.ban(shooter, node);
  await range.checkBanned(node, "no session is opened for a banned node");
  const again = (await bench.keep(spec)).kind;
  check(again === "refused" || again === "session-lost", "nor is one opened again", "a refusal", again);
  for (const session of [idle, busy.session]) {
    const claimed = await bench.stand(session, bench.name());
    checkKind(claimed, "session-lost", "a claim of a banned node is not granted");
  }
  const own = { ...busy, n: 1, over: undefined, key: "k", value: "v" };
  const held = await bench.claim(busy.session, busy.hold.name, busy.hold.bid, undefined, "announced");
  checkKind(held, "session-lost", "nor is a claim of what it holds already");
  checkKind(await bench.keep(busy.session, [busy.hold]), "session-lost", "a keep of a banned node is session-lost");
  checkKind(await range.store.writeMemo(own, bench.call()), "session-lost", "a memo of a banned node is session-lost");
  await range.ban(shooter, node, false);
  await range.checkFree(node);
}

async function endsNothing(range: Range): Promise<void> {
  const { bench } = range;
  const node = range.node();
  const target = await range.lead(await range.open(node));
  const before = await bench.seat(target.hold.name);
  await range.ban(await range.shooter(), node);
  const line = "a ban frees no seat: its holder may believe until its own deadline";
  await bench.checkHeldBy(target.hold.name, target.session, line);
  await bench.keep(target.session, [target.hold]);
  await bench.checkHeldBy(target.hold.name, target.session, line);
  const after = await bench.seat(target.hold.name);
  checkEqual(after.version, before.version, "a ban, and a keep that it refuses, are no sign of life");
}

async function endsAll(range: Range): Promise<void> {
  const { bench } = range;
  const node = range.node();
  const other = await range.lead(await range.open(range.node("other")));
  const [one, two] = [await range.lead(await range.open(node)), await range.lead(await range.open(node))];
  const shooter = await range.shooter();
  await range.ban(shooter, node);
  const ended = await range.end(shooter, node);
  checkKind(ended, "written", "the term that has banned a node ends its sessions");
  checkEqual(await range.end(shooter, node), ended, "sent again, it is one");
  const successor = await bench.open();
  for (const { session, hold } of [one, two]) {
    const line = "what a node held whose sessions are ended is free at once";
    checkEqual((await bench.seat(hold.name)).state, "vacant", line);
    checkKind(await bench.stand(successor, hold.name), "granted", line);
    checkKind(await bench.keep(session, [hold]), "session-lost", "a session that was ended stays so");
  }
  checkKind(await bench.keep(other.session, [other.hold]), "kept", "sessions of other nodes go on");
  checkKind(
    await bench.keep(shooter.session, [shooter.hold]),
    "kept",
    "and so does that of the term that asked for it",
  );
  await range.checkBanned(node, "the ban stands on");
}

async function endsOnlyBanned(range: Range): Promise<void> {
  const { bench } = range;
  const node = range.node();
  const [shooter, rival] = [await range.shooter(), await range.shooter()];
  const check = async (target: WonSeat, line: string): Promise<void> =>
    void checkKind(await bench.keep(target.session, [target.hold]), "kept", line);
  const early = await range.lead(await range.open(node));
  const refused = checkKind(await range.end(shooter, node), "refused", "nothing ends of a node that is not banned");
  checkEqual([refused.code, refused.retryable], ["STORE_DENIED", false], "that is denied");
  await check(early, "nothing was ended");
  await range.checkFree(node);
  await range.ban(shooter, node);
  const others = { n: 1, over: undefined };
  checkKind(await range.end(rival, node, others), "refused", "the ban of another election is not enough");
  const token = shooter.hold.token as NonNullable<Hold["token"]>;
  const stale = { ...shooter, hold: { ...shooter.hold, token: { ...token, value: token.value - 1n } } };
  checkKind(await range.end(stale, node), "seat-lost", "a term that is not in the seat ends nothing");
  await bench.checkHeldBy(early.hold.name, early.session, "and what the node held is held");
  const first = { n: 2, over: range.last };
  await range.ban(shooter, node, false);
  const later = await range.lead(await range.open(node));
  const late = (await range.end(shooter, node, first)).kind;
  const line = "what comes after the lift ends nothing: the node may have opened a session since";
  if (late !== "refused") checkEqual(late, "conflict", line);
  await check(later, line);
  const fresh = checkKind(await range.end(shooter, node), "refused", line);
  checkEqual(fresh.code, "STORE_DENIED", line);
  await check(later, line);
}

async function passesOver(range: Range): Promise<void> {
  const { bench } = range;
  const node = range.node();
  const [waiter, shooter] = [await range.open(node), await range.shooter()];
  const holder = await range.lead(await bench.open());
  const bid = bench.bid();
  if (bench.isLine)
    checkKind(await bench.stand(waiter, holder.hold.name, bid), "waiting", "who comes second in a line waits");
  await range.ban(shooter, node);
  await bench.giveBack(holder.session, [holder.hold]);
  const line = "the step that would grant what became free finds the ban";
  const claimed = bench.isLine
    ? (await bench.claims([{ session: waiter, name: holder.hold.name, bid, stands: true, value: "" }]))[0]
    : await bench.stand(waiter, holder.hold.name, bench.bid());
  checkEqual(claimed?.kind, "session-lost", line);
}

async function isGuarded(range: Range): Promise<void> {
  const { bench } = range;
  const node = range.node();
  const shooter = await range.shooter();
  const token = shooter.hold.token as NonNullable<Hold["token"]>;
  const stale = { ...shooter, hold: { ...shooter.hold, token: { ...token, value: token.value - 1n } } };
  checkKind(await range.write(stale, node, true), "seat-lost", "a ban of another token is not written");
  const rival = { session: await bench.open(), hold: shooter.hold };
  checkKind(await range.write(rival, node, true), "seat-lost", "a ban of another session is not written");
  await bench.giveBack(shooter.session, [shooter.hold]);
  checkKind(await range.write(shooter, node, true), "seat-lost", "a term that is over bans nobody");
  await range.checkFree(node);
}

async function isOrdered(range: Range): Promise<void> {
  const node = range.node();
  const shooter = await range.shooter();
  const first = { n: 1, over: undefined };
  const banned = await range.ban(shooter, node);
  checkEqual(
    await range.write(shooter, node, true, first),
    { kind: "written", version: banned },
    "sent again, it is one",
  );
  await range.ban(shooter, node, false);
  const late = await range.write(shooter, node, true, first);
  checkKind(late, "conflict", "a ban that comes after its lift is not written");
  await range.checkFree(node);
}

async function isCounted(range: Range): Promise<void> {
  const node = range.node();
  const [one, other] = [await range.shooter(), await range.shooter()];
  const first = await range.ban(one, node);
  range.anew();
  await range.ban(other, node);
  await range.ban(other, node, false);
  await range.checkBanned(node, "the lift of one election leaves the ban of another");
  const lift = await range.write(one, node, false, { n: 2, over: first });
  checkKind(lift, "written", "its own term lifts it");
  await range.checkFree(node);
}

async function areApart(range: Range): Promise<void> {
  const base = range.node();
  const names = [base, `${base}/`, `${base}/m1`, `${base}%2F`, `${base}'`, `${base}ä`, base.toUpperCase()];
  const shooter = await range.shooter();
  for (const name of names) {
    range.anew();
    await range.ban(shooter, name);
    for (const other of names) if (other !== name) await range.open(other);
    await range.checkBanned(name, "a ban holds for the name that it names");
    await range.ban(shooter, name, false);
  }
}

async function sparesItself(range: Range): Promise<void> {
  const shooter = await range.shooter();
  const own = shooter.session.node ?? "";
  const refused = checkKind(await range.write(shooter, own, true), "refused", "a term cannot ban its own node");
  checkEqual([refused.code, refused.retryable], ["STORE_DENIED", false], "that is denied");
  checkKind(await range.bench.keep(shooter.session, [shooter.hold]), "kept", "and nothing has changed");
}

async function tellsTwins(range: Range): Promise<void> {
  const { bench } = range;
  const node = range.node();
  const first = await range.open(node);
  await range.open(node);
  const twin = checkKind(await bench.keep(range.spec(node, "m2")), "refused", "another machine is refused the name");
  checkEqual([twin.code, twin.retryable], ["NODE_DUPLICATE", true], "that is NODE_DUPLICATE");
  const lone = range.node();
  const gone = await range.open(lone);
  await bench.giveBack(gone, [], true);
  await range.open(lone, "m2");
  checkKind(await bench.keep(first), "kept", "who was there first is not disturbed");
}
