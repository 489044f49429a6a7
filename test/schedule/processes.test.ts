// Schedules and the recipe of migrations with real processes on one file: killed with SIGKILL, stopped with SIGSTOP. It prints which slots ran, were lost, were repeated.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundle, root } from "../support/bundle.ts";

const EVERY_MS = 400;
const PATIENT = { timeout: 180_000 };
const folder = mkdtempSync(path.join(tmpdir(), "conclave-schedule-"));
const running = new Set<ChildProcess>();

beforeAll(async () => {
  const input = { index: "src/index.ts", schedule: "src/schedule/index.ts" };
  await bundle(input, { dir: path.join(folder, "modules"), entryFileNames: "[name].js" });
});

afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** Processes that share one store and one log. */
class Fleet {
  readonly #options: object;
  readonly #log: string;

  constructor(name: string, options: object) {
    this.#log = path.join(folder, `${name}.log`);
    const store = `sqlite:${path.join(folder, `${name}.db`)}`;
    this.#options = { modules: path.join(folder, "modules"), store, log: this.#log, ...options };
  }

  start(): ChildProcess {
    const program = path.join(root, "test/schedule/replica.mjs");
    const env = { ...process.env, NODE_PATH: path.join(root, "node_modules") };
    const child = spawn(process.execPath, [program, JSON.stringify(this.#options)], {
      stdio: ["ignore", "inherit", "inherit"],
      env,
    });
    running.add(child);
    child.once("exit", () => running.delete(child));
    return child;
  }

  lines(): readonly string[] {
    return existsSync(this.#log) ? readFileSync(this.#log, "utf8").trim().split("\n") : [];
  }

  /** Slots that have begun or ended, in the order in which they have. */
  slots(what: "begun" | "ended"): readonly number[] {
    return this.lines().flatMap((line) => (line.startsWith(what) ? [Number(line.split(" ")[1])] : []));
  }

  /** A busy machine may end one, too. */
  terms(): number {
    return this.lines().filter((line) => line.startsWith("term")).length;
  }

  leader(children: readonly ChildProcess[]): ChildProcess | undefined {
    const pid = Number(this.lines().at(-1)?.split(" ")[2]);
    return children.find((child) => child.pid === pid);
  }
}

const exited = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) =>
    child.exitCode === null && child.signalCode === null ? child.once("exit", resolve) : resolve(child.exitCode),
  );
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Every second one is killed, the others are stopped past their ttl; each time after the leader has begun something. */
async function torment(fleet: Fleet, faults: number): Promise<void> {
  const children = [fleet.start(), fleet.start(), fleet.start()];
  for (let fault = 0; fault < faults; fault++) {
    const before = fleet.slots("begun").length;
    await expect.poll(() => fleet.slots("begun").length, { timeout: 30_000, interval: 20 }).toBeGreaterThan(before + 2);
    const leader = fleet.leader(children);
    if (leader === undefined) continue;
    if (fault % 2 === 0) {
      leader.kill("SIGKILL");
      await exited(leader);
      children.splice(children.indexOf(leader), 1, fleet.start());
    } else {
      leader.kill("SIGSTOP");
      await sleep(2500);
      leader.kill("SIGCONT");
    }
  }
  const before = fleet.slots("begun").length;
  await expect.poll(() => fleet.slots("begun").length, { timeout: 30_000, interval: 20 }).toBeGreaterThan(before + 2);
  for (const child of children) child.kill("SIGTERM");
  expect(await Promise.all(children.map(exited))).toEqual([0, 0, 0]);
}

interface Lists {
  readonly ran: number;
  readonly lost: readonly number[];
  readonly repeated: readonly number[];
  readonly missing: readonly number[];
}

/** Lost: without an end. Missing: among them, without a begin. */
function listsOf(fleet: Fleet, mark: string): Lists {
  const [begun, ended] = [fleet.slots("begun"), new Set(fleet.slots("ended"))];
  const [first, last] = [Math.min(...begun), Math.max(...begun)];
  const all = Array.from({ length: (last - first) / EVERY_MS + 1 }, (_, index) => first + index * EVERY_MS);
  const lists = {
    ran: all.filter((slot) => ended.has(slot)).length,
    lost: all.filter((slot) => !ended.has(slot)),
    repeated: all.filter((slot) => begun.filter((other) => other === slot).length > 1),
    missing: all.filter((slot) => !begun.includes(slot)),
  };
  console.info(
    `mark ${mark}: ${lists.ran} slots ran; lost: ${lists.lost.join(" ") || "none"}; repeated: ${lists.repeated.join(" ") || "none"}`,
  );
  return lists;
}

describe("three processes, whose leader is killed and stopped again and again", () => {
  const FAULTS = 6;

  it('with mark "before" begin no slot twice; lost is at most one for each term that ended so', PATIENT, async () => {
    const fleet = new Fleet("before", { does: "schedule", everyMs: EVERY_MS, mark: "before" });
    await torment(fleet, FAULTS);
    const { lost, repeated } = listsOf(fleet, "before");
    expect(repeated).toEqual([]);
    expect(lost.length).toBeLessThan(fleet.terms());
  });

  it('with mark "after" miss no slot; repeated is at most one for each term that ended so', PATIENT, async () => {
    const fleet = new Fleet("after", { does: "schedule", everyMs: EVERY_MS, mark: "after" });
    await torment(fleet, FAULTS);
    const { lost, repeated, missing } = listsOf(fleet, "after");
    expect([missing, lost]).toEqual([[], []]);
    expect(repeated.length).toBeLessThan(fleet.terms());
  });
});

it(
  "a migration: of forty processes that start at once one migrates, and the others serve after it; a latecomer skips it",
  PATIENT,
  async () => {
    const fleet = new Fleet("migration", { does: "migrate" });
    const children = Array.from({ length: 40 }, () => fleet.start());
    expect(await Promise.all(children.map(exited))).toEqual(children.map(() => 0));
    const words = fleet.lines().map((line) => line.split(" ")[0]);
    expect(words).toEqual(["migrates", "migrated", ...children.map(() => "serves")]);
    expect(await exited(fleet.start())).toBe(0);
    expect(fleet.lines().filter((line) => line.startsWith("migrates"))).toHaveLength(1);
  },
);
