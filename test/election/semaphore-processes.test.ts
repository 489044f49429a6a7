// n leaders as real processes: more of them than permits, some killed, some stopped past their ttl; judged from outside by what they noted themselves.
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openStore, semaphore } from "conclave";
import { readTerms, type TermSpan } from "conclave/testing";
import * as etcd from "../../scripts/servers/etcd.mjs";
import * as postgres from "../../scripts/servers/postgres.mjs";
import { urlOf } from "../stores/etcd/etcd.ts";
import { root } from "../support/bundle.ts";
import { sleep, Stage } from "../support/processes.ts";
import { useServers } from "../support/servers.ts";

const PERMITS = 3;
const PROCESSES = 7;
const TTL_MS = 3000;
const stage = new Stage();
const [inEtcd, inPostgres] = [useServers(etcd), useServers(postgres)];
const STORES: readonly [name: string, url: () => string][] = [
  ["sqlite", () => `sqlite:${stage.file("permits.db")}`],
  ["etcd", () => urlOf(inEtcd())],
  ["postgres", () => inPostgres().urls[0] ?? ""],
];
afterAll(() => stage.end());

class Holder {
  readonly id: string;
  readonly #child: ChildProcess;
  readonly #gone: Promise<void>;
  had = 0;
  isGone = false;

  constructor(id: string, options: object) {
    this.id = id;
    const script = path.join(root, "test/support/permit-holder.mjs");
    const env = { ...process.env, NODE_PATH: path.join(root, "node_modules") };
    const given = JSON.stringify({ id, permits: PERMITS, ttlMs: TTL_MS, holdMs: 300, ...options });
    this.#child = spawn(process.execPath, [script, given], { stdio: ["pipe", "pipe", "inherit"], env });
    this.#child.stdout?.on("data", () => this.had++);
    this.#gone = new Promise((resolve) => this.#child.once("close", () => resolve()));
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#gone;
    this.isGone = true;
  }
}

/** The greatest number of terms that were held at one instant. */
function mostAtOnce(terms: readonly TermSpan[]): number {
  const changes = terms.flatMap(({ fromMs, untilMs }) => [
    { at: fromMs, by: 1 },
    { at: untilMs, by: -1 },
  ]);
  // An end and a beginning at one instant count as one after the other.
  changes.sort((a, b) => a.at - b.at || a.by - b.by);
  let now = 0;
  let most = 0;
  for (const { by } of changes) most = Math.max(most, (now += by));
  return most;
}

const seatOf = ({ who }: TermSpan): string => who.slice(who.indexOf("#"));

describe.each(STORES)(`on %s`, { timeout: 180_000 }, (name, url) => {
  it(`at most ${PERMITS} of ${PROCESSES} hold a permit at once, through kills and stops, and all permits are used again`, async () => {
    const log = stage.file(`${name}.log`);
    const modules = await stage.modules();
    const holders = Array.from(
      { length: PROCESSES },
      (_, place) => new Holder(`p${place}`, { modules, store: url(), log }),
    );
    const store = await openStore(url());
    const watcher = semaphore("workers", { store, permits: PERMITS, unfenced: true });
    try {
      await expect.poll(() => holders.filter(({ had }) => had > 0).length, { timeout: 60_000 }).toBe(PROCESSES);
      const held = await expect
        .poll(() => watcher.holders(), { timeout: 30_000, interval: 20 })
        .toHaveLength(PERMITS)
        .then(() => watcher.holders());
      const victim = holders.find(({ id }) => held.some((each) => each.id.startsWith(`${id}_`))) ?? holders[0]!;
      await victim.kill();
      const [stopped] = holders.filter(({ isGone }) => !isGone);
      stopped?.signal("SIGSTOP");
      await sleep(2.5 * TTL_MS);
      stopped?.signal("SIGCONT");
      const before = holders.map(({ had }) => had);
      const goesOn = (): boolean => holders.every(({ had, isGone }, place) => isGone || had > (before[place] ?? 0));
      await expect.poll(goesOn, { timeout: 60_000 }).toBe(true);
    } finally {
      await Promise.all(holders.map((holder) => holder.kill()));
      await watcher.close();
    }
    const { terms, unread } = readTerms(readFileSync(log, "utf8"));
    expect(unread).toEqual([]);
    expect(mostAtOnce(terms)).toBe(PERMITS);
    for (const seat of new Set(terms.map(seatOf)))
      expect(mostAtOnce(terms.filter((term) => seatOf(term) === seat))).toBe(1);
    expect(new Set(terms.map(seatOf))).toEqual(new Set(["#0", "#1", "#2"]));
  });
});
