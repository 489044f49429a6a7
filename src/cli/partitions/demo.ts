// `conclave partitions demo`: real processes share partitions on a sqlite: store, or another one. One is killed, and the others lead what it led; one is stopped past its ttl, and wakes to find that
// it leads nothing; one is cut off from its store, where that is reached over a network, and must stop by itself. Then the controller itself is stopped, and the one after it is killed. Between these the group
// comes to rest: every partition is led, the loads are even, and nothing has moved for a ttl. What is measured is the time until the partitions of the one that is gone are led by others, and what
// moves beside them. Exits 0 only if, by what the members noted themselves, no partition was held by two at one instant, epochs grew, every partition was led again, and no other member gave one up.
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { isConclaveError } from "../../index.ts";
import { groupStatus } from "../../partitions/admin.ts";
import { requirePartitions } from "../../partitions/options.ts";
import { INTERRUPTED, NO, UNKNOWN, UsageError, YES } from "../command.ts";
import { readCount, readDuration } from "../flags.ts";
import { chooseStore, refuseTtl } from "../store.ts";
import { Hand } from "./crew.ts";
import { judgePartitions, type PartitionsVerdict } from "./judge.ts";
import { Relay, whyNoRelay } from "./relay.ts";
import { demoGroup, nowMs } from "./messages.ts";

const BLOCK_MS = 400;
const ANSWERS_WITHIN_MS = 10_000;
const WITHIN_MS = 120_000;
/** Ten thousand partitions come to rest in about a minute on a busy machine. */
const RESTS_WITHIN_MS = 300_000;
/** Members whose way to the store leads through this process. Two, because one of them may be the controller. */
const RELAYED = 2;
/** After so long without a word it says what it waits for. */
const SAYS_AFTER_MS = 15_000;
/** A share of the even load: the group has come to rest when no member is further from the even load than this. */
const UNEVEN = 0.1;
const TTL_LEAST_MS = 1000;
/** A candidate renews at least so often in a ttl. */
const RENEWALS = 3;

export interface DemoFlags {
  readonly json: boolean;
  readonly members?: string | undefined;
  readonly partitions?: string | undefined;
  readonly ttl?: string | undefined;
  readonly store?: string | undefined;
}

interface Act {
  readonly what: "begun" | "killed" | "stopped" | "resumed" | "cut" | "mended";
  readonly who: string;
  /** How many partitions it led. */
  readonly led: number;
  /** The time until others led all of them; for a member that comes back, until it leads something. */
  readonly ms: number;
  /** The time until the controller had a proof that the member is over: the store's part of `ms`. */
  readonly provenMs?: number | undefined;
  /** Whether it was the controller. */
  readonly controlled: boolean;
  /** Whether one member was the controller for all that time. */
  readonly keptController: boolean;
  /** What is promised for `ms`, but for the requests: one ttl and one renewal interval while the controller stays, two ttls and one renewal interval else. */
  readonly boundMs?: number | undefined;
  /** How many partitions the other members gave up meanwhile; undefined: one of them lost its own session, so that it is not judged. */
  readonly moved?: number | undefined;
}

export async function runPartitionsDemo(flags: DemoFlags, extra: string | undefined, program: URL): Promise<number> {
  if (extra !== undefined) throw new UsageError(`conclave partitions demo takes no group: ${extra}`);
  if (process.platform === "win32") {
    process.stderr.write("conclave partitions demo: Windows cannot stop a process and let it go on\n");
    return UNKNOWN;
  }
  const members = readCount("--members", flags.members ?? "5", 3);
  const partitions = readCount("--partitions", flags.partitions ?? "100", 1);
  const ttlMs = readDuration("--ttl", flags.ttl ?? "2s");
  if (ttlMs < TTL_LEAST_MS) throw new UsageError(`--ttl ${flags.ttl}: at least 1s`);
  const say = (line: string): void => void (flags.json || process.stdout.write(`${line}\n`));
  if (flags.store !== undefined) await checkStore(flags.store, partitions, ttlMs);
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-partitions-"));
  const store = flags.store ?? `sqlite:${path.join(folder, "store.db")}`;
  const play = await Play.of(program, { members, partitions, ttlMs, store, folder }, say);
  const stop = (): void => play.interrupt();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(name, stop);
  process.stdout.on("error", stop); // nobody reads any more what it shows
  try {
    await play.perform();
  } catch (error) {
    process.stderr.write(`conclave partitions demo: ${error instanceof Error ? error.message : String(error)}\n`);
    return error instanceof Interruption ? INTERRUPTED : UNKNOWN;
  } finally {
    await play.end();
  }
  return conclude(play.acts, play.judge(), folder, flags.json, say);
}

/** What cannot work is said before processes are started. */
async function checkStore(url: string, partitions: number, ttlMs: number): Promise<void> {
  const store = await chooseStore(url);
  const call = { signal: AbortSignal.timeout(ANSWERS_WITHIN_MS), sentAtMs: 0 };
  try {
    if (store.guarantee.scope === "process") throw new UsageError(`--store ${url}: processes cannot share it`);
    requirePartitions(store);
    await refuseTtl(store, ttlMs);
    await groupStatus(store, demoGroup(partitions), call).catch((error: unknown) => {
      // There are no tables yet. The first member makes them.
      if (!isConclaveError(error) || error.code !== "STORE_UNSUPPORTED") throw error;
    });
  } finally {
    await store.close();
  }
}

function conclude(
  acts: readonly Act[],
  verdict: PartitionsVerdict,
  folder: string,
  isJson: boolean,
  say: (line: string) => void,
): number {
  const { terms, overlaps, regressions, unread } = verdict;
  const moves = acts.filter(({ moved = 0 }) => moved > 0);
  const problems = [
    ...overlaps,
    ...regressions,
    ...unread.map((line) => `this line cannot be read: ${line}`),
    ...moves.map(({ who, what, moved }) => `when ${who} was ${what}, ${moved} partitions of the others moved`),
  ];
  const ok = problems.length === 0 && terms > 0;
  const gaps = gapsOf(acts);
  const summary = `${overlaps.length} overlaps in ${terms} leaderships, judged from the members' own notes: ${folder}`;
  const shown = { ok, acts, gaps, terms, overlaps: overlaps.length, problems, summary, folder };
  if (isJson) process.stdout.write(`${JSON.stringify(shown)}\n`);
  for (const problem of problems.slice(0, 10)) say(`NOT TRUE: ${problem}`);
  for (const { boundMs, longestMs, led } of gaps)
    say(`longest time that a partition had no leader: ${longestMs} ms of ${boundMs} ms (${led} partitions)`);
  say(summary);
  return ok ? YES : NO;
}

/** The longest time that a partition of a member that was gone had no leader, for each bound that is promised. */
interface Gap {
  readonly boundMs: number;
  readonly longestMs: number;
  /** How many partitions had to be led again. */
  readonly led: number;
}

function gapsOf(acts: readonly Act[]): readonly Gap[] {
  const bounds = new Set(acts.flatMap(({ boundMs }) => boundMs ?? []));
  return [...bounds].map((boundMs) => {
    const bound = acts.filter((act) => act.boundMs === boundMs);
    const led = bound.reduce((sum, act) => sum + act.led, 0);
    return { boundMs, longestMs: Math.max(...bound.map(({ ms }) => ms)), led };
  });
}

/** Somebody has pressed Ctrl-C, or the terminal is gone. */
class Interruption extends Error {}

interface PlayOptions {
  readonly members: number;
  readonly partitions: number;
  readonly ttlMs: number;
  readonly store: string;
  readonly folder: string;
}

class Play {
  readonly #options: PlayOptions;
  readonly #say: (line: string) => void;
  readonly #hands: readonly Hand[];
  readonly #relays: readonly Relay[];
  readonly acts: Act[] = [];
  #wake: () => void = () => {};
  #isInterrupted = false;
  #hasChangedController = false;

  private constructor(program: URL, options: PlayOptions, relays: readonly Relay[], say: (line: string) => void) {
    this.#options = options;
    this.#relays = relays;
    this.#say = say;
    const { members, partitions, ttlMs, store, folder } = options;
    this.#hands = Array.from({ length: members }, (_, index) => {
      const id = `m${index + 1}`;
      const relay = relays[members - 1 - index];
      const log = path.join(folder, `${id}.log`);
      const member = { id, group: demoGroup(partitions), store: relay?.url ?? store, ttlMs, partitions, log };
      return new Hand(program, member, relay, () => this.#wake());
    });
  }

  static async of(program: URL, options: PlayOptions, say: (line: string) => void): Promise<Play> {
    const whyNot = whyNoRelay(options.store);
    if (whyNot !== undefined) say(`nobody is cut off: ${whyNot}`);
    const count = whyNot === undefined ? RELAYED : 0;
    const relays = await Promise.all(Array.from({ length: count }, () => Relay.to(options.store)));
    return new Play(program, options, relays, say);
  }

  async perform(): Promise<void> {
    const { members, partitions, ttlMs } = this.#options;
    this.#say(`${members} processes share ${partitions} partitions, ttl ${ttlMs} ms`);
    await this.#act("begun", undefined, (): void => {});
    await this.#kill(() => this.#victim());
    await this.#stop(() => this.#victim());
    if (this.#relays.length > 0) await this.#cut(() => this.#victim(({ relay }) => relay !== undefined));
    await this.#stop(() => this.#controllerItself());
    await this.#kill(() => this.#controllerItself());
  }

  /** Somebody is chosen when the group is at rest: until then another may become the controller. */
  async #chosen(choose: () => Hand | Promise<Hand>): Promise<Hand> {
    await this.#quiet();
    return await choose();
  }

  async #kill(choose: () => Hand | Promise<Hand>): Promise<void> {
    const hand = await this.#chosen(choose);
    await this.#act("killed", hand, () => void hand.kill());
  }

  async #stop(choose: () => Hand | Promise<Hand>): Promise<void> {
    const hand = await this.#chosen(choose);
    hand.block(BLOCK_MS);
    await this.#until(`${hand.id} to block`, () => hand.isBlocked);
    await this.#act("stopped", hand, () => hand.stop());
    await this.#act("resumed", hand, () => hand.resume());
  }

  async #cut(choose: () => Hand | Promise<Hand>): Promise<void> {
    const hand = await this.#chosen(choose);
    await this.#act("cut", hand, () => hand.cut());
    await this.#act("mended", hand, () => hand.mend());
  }

  /** A member that leads something and does not control the group. */
  #victim(isMeant: (hand: Hand) => boolean = ({ relay }) => relay === undefined): Hand {
    const hand = this.#hands.find((each) => each.isThere && !each.controls && each.leads.size > 0 && isMeant(each));
    if (hand === undefined) throw new Error("there is nobody to kill");
    return hand;
  }

  async #controllerItself(): Promise<Hand> {
    await this.#until("a controller", () => this.#controller() !== undefined);
    return this.#controller() as Hand;
  }

  /** What was on the move has arrived: otherwise it would seem that the next act has moved it. */
  async #quiet(): Promise<void> {
    const { ttlMs } = this.#options;
    const isQuiet = (): boolean =>
      this.#isAtRest() && this.#hands.every(({ changedMs }) => nowMs() - changedMs > ttlMs);
    await this.#until("nothing to move", isQuiet, RESTS_WITHIN_MS);
  }

  async #act(what: Act["what"], hand: Hand | undefined, act: () => void): Promise<void> {
    const startedMs = nowMs();
    const wanted = [...(hand?.leads ?? [])];
    const others = this.#hands.filter((each) => each !== hand && each.isThere);
    const before = countsOf(others);
    const controller = this.#controller();
    this.#hasChangedController = false;
    act();
    await this.#until(...this.#outcomeOf(hand, what, wanted));
    const ms = Math.round(nowMs() - startedMs);
    const led = hand?.isThere === true ? 0 : wanted.length;
    const keptController = !this.#hasChangedController && controller === this.#controller();
    await this.#until("the group to come to rest", () => this.#isAtRest(), RESTS_WITHIN_MS);
    const after = countsOf(others);
    this.#tell({
      what,
      who: hand?.id ?? "all",
      led,
      ms,
      controlled: hand !== undefined && hand === controller,
      keptController,
      ...(led === 0
        ? {}
        : {
            provenMs: this.#provenMs(hand?.id ?? "", startedMs),
            boundMs: this.#boundMs(keptController),
            moved: after.lost > before.lost ? undefined : after.givenUp - before.givenUp,
          }),
    });
    this.#say(`  at rest after ${Math.round(nowMs() - startedMs)} ms: ${this.#loads()}`);
  }

  #outcomeOf(
    hand: Hand | undefined,
    what: Act["what"],
    wanted: readonly number[],
  ): readonly [what: string, isSo: () => boolean, withinMs: number] {
    if (hand === undefined) return ["every partition to be led", () => this.#isWhole(), RESTS_WITHIN_MS];
    if (hand.isThere && what !== "killed") return [`${hand.id} to lead`, () => hand.leads.size > 0, WITHIN_MS];
    return [`the partitions of ${hand.id} to be led`, () => this.#areLed(wanted, hand), WITHIN_MS];
  }

  #boundMs(keptController: boolean): number {
    const { ttlMs } = this.#options;
    return Math.ceil((keptController ? ttlMs : 2 * ttlMs) + ttlMs / RENEWALS);
  }

  #tell(act: Act): void {
    this.acts.push(act);
    const { what, who, led, ms, controlled, keptController, provenMs, boundMs, moved } = act;
    const outcome = who === "all" ? "every partition is led" : led > 0 ? "others lead all of them" : "it leads again";
    const proven = provenMs === undefined ? "" : `, its end was proven after ${provenMs} ms`;
    const replaced = keptController || who === "all" ? "" : ", with another controller";
    const which = led > 0 ? ` with ${led} partitions` : "";
    const name = controlled ? `${who}, the controller,` : who;
    const bound = boundMs === undefined ? "" : ` (of ${boundMs} ms)`;
    this.#say(`${name} ${what}${which}: ${outcome} after ${ms} ms${bound}${proven}${replaced}`);
    if (led === 0) return;
    const unjudged = "another member lost its session meanwhile: what moved is not judged";
    this.#say(moved === undefined ? `  ${unjudged}` : `  ${moved} partitions of the others moved`);
  }

  #provenMs(id: string, startedMs: number): number | undefined {
    const times = this.#hands.flatMap(({ proved }) => proved.get(id) ?? []).filter((atMs) => atMs >= startedMs);
    return times.length === 0 ? undefined : Math.round(Math.min(...times) - startedMs);
  }

  #controller(): Hand | undefined {
    return this.#hands.find(({ controls, isThere }) => controls && isThere);
  }

  #areLed(partitions: readonly number[], gone: Hand): boolean {
    const led = new Set(this.#hands.flatMap((hand) => (hand === gone ? [] : [...hand.leads])));
    return partitions.every((partition) => led.has(partition));
  }

  /** Whether each partition is led once, as the members say. Their messages arrive one by one: for a moment a partition that moves may be in two lists, or in none. */
  #isWhole(): boolean {
    const led = this.#hands.flatMap(({ leads }) => [...leads]);
    return led.length === this.#options.partitions && new Set(led).size === led.length;
  }

  /** Every partition is led, and every member that is there leads its share. */
  #isAtRest(): boolean {
    const there = this.#hands.filter(({ isThere }) => isThere);
    const even = this.#options.partitions / there.length;
    const most = Math.max(1, UNEVEN * even);
    return this.#isWhole() && there.every(({ leads }) => Math.abs(leads.size - even) <= most);
  }

  async #until(what: string, isSo: () => boolean, withinMs = WITHIN_MS): Promise<void> {
    const endMs = nowMs() + withinMs;
    let sayAtMs = nowMs() + SAYS_AFTER_MS;
    while (!isSo()) {
      if (this.#controller() === undefined) this.#hasChangedController = true;
      const dead = this.#hands.find(({ hasFailed }) => hasFailed);
      if (dead !== undefined) throw new Error(`${dead.id} has ended: ${dead.errors.trim()}`);
      if (this.#isInterrupted) throw new Interruption("interrupted");
      if (nowMs() > endMs) throw new Error(`waited for ${what} in vain${this.#troubles()}`);
      if (nowMs() > sayAtMs) {
        this.#say(`  waits for ${what}: ${this.#loads()}${this.#troubles()}`);
        sayAtMs = Infinity;
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 100);
        this.#wake = () => (clearTimeout(timer), resolve());
      });
    }
  }

  #loads(): string {
    return this.#hands.map((each) => `${each.id} ${stateOf(each)}`).join("  ");
  }

  #troubles(): string {
    const hand = this.#hands.find(({ isThere, trouble }) => isThere && trouble !== "");
    return hand === undefined ? "" : `. ${hand.id} was told: ${hand.trouble}`;
  }

  interrupt(): void {
    this.#isInterrupted = true;
    this.#wake();
  }

  async end(): Promise<void> {
    await Promise.all(this.#hands.map((hand) => hand.kill()));
    for (const relay of this.#relays) relay.end();
  }

  judge(): PartitionsVerdict {
    const { folder } = this.#options;
    const logs = readdirSync(folder).filter((name) => name.endsWith(".log"));
    return judgePartitions(logs.map((name) => readFileSync(path.join(folder, name), "utf8")));
  }
}

/** What members have given up, and how often they lost their sessions, since they began. */
function countsOf(hands: readonly Hand[]): { readonly givenUp: number; readonly lost: number } {
  const sum = (of: (hand: Hand) => number): number => hands.reduce((all, hand) => all + of(hand), 0);
  return { givenUp: sum((hand) => hand.givenUp), lost: sum((hand) => hand.lost) };
}

function stateOf({ isKilled, isStopped, isCut, leads }: Hand): string {
  if (isKilled) return "†";
  return isStopped ? "stopped" : isCut ? "cut" : `${leads.size}`;
}
