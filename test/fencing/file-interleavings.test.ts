// fileFence, one step of the file system at a time: leaders and a reader are held before each call, and a seeded choice lets one of them go on. Some are
// never let go on again (killed), and renames may land although somebody has tidied up meanwhile. What must hold then is what file.ts argues.
import type * as FileSystem from "node:fs/promises";
import { mkdtemp, readdir, rm, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type FileContent, type FileFence, fileFence } from "conclave/fencing";
import { createRng } from "conclave/protocols";
import { nextChance, nextInteger, nextOf } from "../../src/base/rng.ts";
import { by } from "./tokens.ts";

/** Who is held now, before what, and how to let them go on. */
const held: { readonly before: string; readonly go: () => void }[] = [];
let isStepping = false;
const step = (before: string): Promise<void> =>
  isStepping ? new Promise((go) => held.push({ before, go })) : Promise.resolve();

vi.mock("node:fs/promises", async (importOriginal) => {
  const real = await importOriginal<typeof FileSystem>();
  const names = ["access", "link", "mkdir", "readdir", "readFile", "unlink"] as const;
  const stepped = names.map((name) => {
    const call = real[name] as (...values: unknown[]) => Promise<unknown>;
    const wrapped = async (...values: unknown[]): Promise<unknown> => {
      await step(name);
      return call(...values);
    };
    return [name, wrapped];
  });
  const rename: typeof real.rename = async (from, to) => {
    const bytes = await real.readFile(from).catch(() => undefined);
    await step("rename");
    if (bytes !== undefined) await real.writeFile(from, bytes);
    await real.rename(from, to);
  };
  const open: typeof real.open = async (...values) => {
    await step("open");
    const file = await real.open(...values);
    file.sync = async () => {}; // what a power cut would take is not tried here, and syncing is slow
    return file;
  };
  return { ...real, ...Object.fromEntries(stepped), open, rename };
});

const SEEDS = 200;

interface Write {
  readonly value: number;
  readonly count: number;
}
const textOf = (found: FileContent | undefined): string => found?.content.toString() ?? "0:0";
const parse = (found: FileContent | undefined): Write => {
  const [value = 0, count = 0] = textOf(found).split(":").map(Number);
  return { value, count };
};
const isAtLeast = (a: Write, b: Write): boolean => a.value > b.value || (a.value === b.value && a.count >= b.count);
const most = (writes: readonly Write[]): Write =>
  writes.reduce((best, next) => (isAtLeast(next, best) ? next : best), { value: 0, count: 0 });

/** One world: what was acknowledged so far, and what went wrong. */
class Story {
  readonly acknowledged: Write[] = [];
  readonly problems: string[] = [];
  readonly #make: () => FileFence;

  constructor(make: () => FileFence) {
    this.#make = make;
  }

  async lead(value: number, idleSteps: number): Promise<void> {
    for (let left = idleSteps; left > 0; left--) await step("beginning");
    const file = this.#make();
    try {
      const before = most(this.acknowledged);
      await file.raise(by(value));
      const first = await this.read(file);
      if (!isAtLeast(parse(first), before))
        this.problems.push(`${value} was raised and lost ${JSON.stringify(before)}`);
      const again = await this.read(file);
      const isMine =
        first?.token.value === again?.token.value && (again?.token.value ?? BigInt(value)) === BigInt(value);
      if (isMine && textOf(first) !== textOf(again))
        this.problems.push(`${value} read ${textOf(first)} and then ${textOf(again)}, before it wrote anything`);
      for (let count = 1; count <= 3; count++) {
        await file.write(`${value}:${count}`, by(value));
        this.acknowledged.push({ value, count });
      }
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      if (code !== "TOKEN_STALE") this.problems.push(`${value}: ${code} ${message}`);
    }
  }

  async watch(): Promise<void> {
    const file = this.#make();
    let newest = 0n;
    for (let times = 0; times < 6; times++) {
      const token = (await this.read(file))?.token.value ?? newest;
      if (token < newest) this.problems.push(`token ${token} was read after ${newest}`);
      newest = token;
    }
  }

  /** Sees at least what was acknowledged before it began. */
  async read(file: FileFence = this.#make()): Promise<FileContent | undefined> {
    const before = most(this.acknowledged);
    const found = await file.read();
    if (!isAtLeast(parse(found), before))
      this.problems.push(`read ${JSON.stringify(parse(found))} after ${JSON.stringify(before)} was acknowledged`);
    return found;
  }
}

/** Runs them step by step, in an order and with deaths that the seed decides. */
async function interleave(seed: number, actors: readonly (() => Promise<void>)[]): Promise<void> {
  const rng = createRng(seed);
  const deadly = nextChance(rng, 0.5);
  const haste = nextOf(rng, [0, 0.5, 0.9, 0.97]); // how often the one that went last goes on, so that the others stand still for long
  let alive = actors.length;
  isStepping = true;
  for (const actor of actors) void actor().then(() => alive--);
  while (alive > 0) {
    if (held.length < alive) await new Promise((resolve) => setImmediate(resolve));
    else {
      const last = held.length - 1;
      const [next] = held.splice(nextChance(rng, haste) ? last : nextInteger(rng, 0, last), 1);
      if (deadly && alive > 1 && nextChance(rng, 0.01)) alive--;
      else next?.go();
    }
  }
  isStepping = false;
  held.length = 0;
}

describe("fileFence, step by step", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "conclave-steps-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it("takes over from a predecessor that settles at the last moment, not a late write to what that one has passed over", async () => {
    const place = path.join(folder, "last-moment");
    const file = fileFence(place, "ledger");
    await file.write("1:1", by(1));
    await writeFile(path.join(place, "ledger@0@2@claim"), "etcd-1:2:b2");
    isStepping = true;
    let raised = false;
    const raising = file.raise(by(3)).then(() => (raised = true));
    for (let links = 0; links < 2;) {
      await expect.poll(() => held.length, { interval: 1 }).toBe(1);
      if (held[0]?.before === "link") links++;
      if (links < 2) held.shift()?.go();
    }
    await writeFile(path.join(place, "ledger@0@2"), "1:1"); // 2 settles
    await writeFile(path.join(place, "ledger@0@1"), "1:2"); // 1 writes late
    isStepping = false;
    held.shift()?.go();
    await raising;
    expect(raised).toBe(true);
    expect((await file.read())?.content.toString()).toBe("1:1");
  });

  /** Lets `acting` go on until it is held before this call. */
  async function until(before: readonly string[]): Promise<void> {
    for (;;) {
      await expect.poll(() => held.length, { interval: 1 }).toBe(1);
      if (before.includes(held[0]?.before ?? "")) return;
      held.shift()?.go();
    }
  }

  it("a number that another bid has claimed meanwhile is not taken from it", async () => {
    const file = fileFence(path.join(folder, "two-bids"), "ledger");
    await file.raise(by(1));
    isStepping = true;
    const second = file.raise(by(2, "second")).then(
      () => "raised",
      (error: { code: string }) => error.code,
    );
    await until(["link", "rename"]); // it has seen that nobody has claimed 2, and is about to
    const [late] = held.splice(0);
    isStepping = false;
    await file.write("the first", by(2, "first"));
    late?.go();
    expect(await second).toBe("TOKEN_STALE");
    await file.write("the first again", by(2, "first"));
    expect((await file.read())?.content.toString()).toBe("the first again");
  });

  it("a write that was overtaken before it was renamed is not acknowledged", async () => {
    const file = fileFence(path.join(folder, "overtaken"), "ledger");
    await file.write("1", by(1));
    isStepping = true;
    const old = file.write("1 again", by(1)).then(
      () => "acknowledged",
      (error: { code: string }) => error.code,
    );
    await until(["rename"]);
    const [late] = held.splice(0);
    isStepping = false;
    await file.raise(by(2));
    late?.go();
    expect(await old).toBe("TOKEN_STALE");
    expect((await file.read())?.content.toString()).toBe("1");
  });

  it("a write that was overtaken before it was renamed says that it may have been taken over; one that was overtaken before that is never read", async () => {
    for (const [at, says] of [
      ["rename", "while it wrote"],
      ["open", "The writer has been replaced."],
    ] as const) {
      const file = fileFence(path.join(folder, `overtaken-at-${at}`), "ledger");
      await file.write("1", by(1));
      isStepping = true;
      const old = file.write("1 again", by(1)).then(
        () => "acknowledged",
        (error: Error) => error.message,
      );
      await until([at]);
      const [late] = held.splice(0);
      isStepping = false;
      await file.raise(by(2));
      late?.go();
      expect(await old).toContain(says);
    }
  });

  it("a write whose temporary file somebody has removed is not acknowledged", async () => {
    const place = path.join(folder, "removed");
    const file = fileFence(place, "ledger");
    await file.write("1", by(1));
    isStepping = true;
    const second = file.write("1 again", by(1)).then(
      () => "acknowledged",
      (error: { code: string }) => error.code,
    );
    await until(["open"]);
    held.shift()?.go();
    await until(["readdir"]); // it is written, and looked at once more whether it is the newest
    const [late] = held.splice(0);
    isStepping = false;
    const temporary = (await readdir(place)).filter((each) => each.includes("@tmp-"));
    expect(temporary).toHaveLength(1);
    await unlink(path.join(place, temporary[0] ?? ""));
    late?.go();
    expect(await second).toBe("STORE_FOREIGN_DATA");
    expect((await file.read())?.content.toString()).toBe("1");
  });

  it("a write that was begun before a repair, and lands in the era before it, is not acknowledged", async () => {
    const file = fileFence(path.join(folder, "repaired"), "ledger");
    await file.write("5", by(5));
    isStepping = true;
    const old = file.write("5 again", by(5)).then(
      () => "acknowledged",
      (error: { code: string }) => error.code,
    );
    await until(["rename"]);
    const [late] = held.splice(0);
    isStepping = false;
    await file.adopt({ domain: "etcd-1", from: 5n, to: 4n });
    await file.raise(by(5)); // the same term goes on, in the new era: it has taken over what was there
    late?.go();
    expect(await old).not.toBe("acknowledged");
    expect((await file.read())?.content.toString()).toBe("5");
  });

  /** `first` makes so many steps, `second` comes and is done, `first` goes on: once for each number of steps that it takes. */
  async function atEveryStep(
    prepare: (file: FileFence) => Promise<void>,
    first: (file: FileFence) => Promise<void>,
    second: (file: FileFence) => Promise<void>,
    judge: (file: FileFence, first: string, at: string) => Promise<void>,
  ): Promise<void> {
    let isOver = false;
    for (let steps = 1; !isOver; steps++) {
      const file = fileFence(await mkdtemp(path.join(folder, "step-")), "ledger");
      await prepare(file);
      isStepping = true;
      const outcome = first(file).then(
        () => "done",
        (error: { code: string }) => error.code,
      );
      void outcome.then(() => (isOver = true));
      let before = "";
      for (let made = 0; made < steps && !isOver; made++) {
        while (held.length === 0 && !isOver) await new Promise((resolve) => setImmediate(resolve));
        before = held[0]?.before ?? "";
        if (made < steps - 1) held.shift()?.go();
      }
      isStepping = false;
      const isLast: boolean = isOver;
      if (!isLast) await second(file);
      held.shift()?.go();
      const said = await outcome;
      isOver = isLast;
      if (!isLast) await judge(file, said, `step ${steps}, before ${before}`);
    }
  }
  const contentOf = async (file: FileFence): Promise<string | undefined> => (await file.read())?.content.toString();

  it("a newer token that comes at any step of a raise keeps all that it writes, and the older one is refused afterwards", async () => {
    await atEveryStep(
      (file) => file.write("1", by(1)),
      (file) => file.raise(by(2)),
      async (file) => {
        await file.raise(by(3));
        await file.write("3", by(3));
      },
      async (file, said, at) => {
        expect(await contentOf(file), at).toBe("3");
        // What it did not look at after its last look is allowed: it was the newest then.
        if (said !== "done") expect(said, at).toBe("TOKEN_STALE");
        await expect(file.write("2", by(2)), at).rejects.toMatchObject({ code: "TOKEN_STALE" });
        expect(await contentOf(file), at).toBe("3");
      },
    );
  });

  it("a newer token that comes at any step of a write takes over what was acknowledged", async () => {
    await atEveryStep(
      (file) => file.write("1", by(1)),
      (file) => file.write("1 again", by(1)),
      (file) => file.raise(by(2)),
      async (file, said, at) => {
        const found = await contentOf(file);
        if (said === "done") expect(found, at).toBe("1 again");
        else expect(said, at).toBe("TOKEN_STALE");
        expect(await contentOf(file), at).toBe(found);
      },
    );
  });

  it("a token that is overtaken between its claim and its last look is not raised", async () => {
    const file = fileFence(path.join(folder, "overtaken-raise"), "ledger");
    await file.write("1", by(1));
    isStepping = true;
    const old = file.raise(by(2)).then(
      () => "raised",
      (error: { code: string }) => error.code,
    );
    await until(["link"]); // its claim
    held.shift()?.go();
    await until(["link"]); // of what it takes over
    const [late] = held.splice(0);
    isStepping = false;
    await file.raise(by(3));
    late?.go();
    expect(await old).toBe("TOKEN_STALE");
  });

  it("loses no acknowledged write and shows no older token, in any interleaving, with deaths", async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const story = new Story(() => fileFence(path.join(folder, `${seed}`), "ledger"));
      const rng = createRng(seed, 1);
      const leaders = [1, 2, 3].map((value) => () => story.lead(value, (value - 1) * nextInteger(rng, 0, 60)));
      await interleave(seed, [...leaders, () => story.watch()]);
      await story.read();
      expect(story.problems, `seed ${seed}`).toEqual([]);
    }
  }, 120_000);
});
