// An app's end of its keeper. There is one for the process, however many candidates and stores it has. It starts the keeper, tells it what the app has at its stores, and
// replaces it when it dies. Everything that a keeper must know is kept here too, so that a new one knows it at once.
//
// A new descriptor that rivals watch cannot be given to a running process. So a new keeper is started with all descriptors, and takes the place of the present one
// when it has said that it is ready. So at every instant from the first claim on, some keeper holds the descriptor of every session.
//
// The keeper does not keep the app alive: the event loop does not count its handles.
import type { ChildProcess } from "node:child_process";
import { fstatSync } from "node:fs";
import { strike } from "./estates.ts";
import { readLines } from "./lines.ts";
import { keeperEnvironment } from "./mark.ts";
import type { ProcessId } from "./processes.ts";
import type { FromAppKeeper, KeptHold, KeptSession, ToAppKeeper } from "./messages.ts";

/** A descriptor that rivals watch (`ShowsLife`). */
export interface LifeDescriptor {
  readonly descriptor: number;
  /** Which socket it is, because the system uses the number of a descriptor again. */
  readonly id: string;
  readonly file: string;
}

export interface OpenedSession {
  readonly url: string;
  readonly quietMs: number;
  readonly life: LifeDescriptor | undefined;
  readonly session: KeptSession;
}

export interface LinkOptions {
  readonly program: string;
  readonly app: ProcessId;
  readonly mark: string;
  readonly looksForChildren: boolean;
}

interface TrackedSession extends Omit<OpenedSession, "session"> {
  session: KeptSession;
  readonly holds: Map<string, string>;
}

/** A keeper that runs, or is being started. */
interface Keeper {
  readonly process: ChildProcess;
  readonly lives: readonly string[];
  isReady: boolean;
}

/** Flags of V8 for the keeper, which keeps only a few texts. */
const SMALL = ["--max-old-space-size=32", "--max-semi-space-size=1"];
const PAUSE_FIRST_MS = 100;
const PAUSE_LAST_MS = 5000;
/** How long a keeper that nobody needs stays. Otherwise `elect(…).lead(…)`, called again and again, would start one each time. */
const IDLE_MS = 10_000;
const LEAVES_WITHIN_MS = 2000;
/** A keeper that leaves so much unread is stopped or hangs. */
const UNREAD_MOST_BYTES = 4 * 1024 * 1024;

export class AppKeeperLink {
  readonly #options: LinkOptions;
  readonly #sessions = new Map<number, TrackedSession>();
  readonly #listeners = new Set<(why: string) => void>();
  #keys = 0;
  #keeper: Keeper | undefined;
  /** The keeper before this one, until the present one is ready. */
  #former: Keeper | undefined;
  #waiters: { readonly life: string; readonly resolve: () => void }[] = [];
  #pauseMs = 0;
  #pause: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  /** Somebody needs a keeper until the returned function is called. `lost` is called each time a keeper dies or cannot be started; another is then on its way. */
  attach(lost: (why: string) => void): () => void {
    const listener = (why: string): void => lost(why);
    this.#listeners.add(listener);
    clearTimeout(this.#idle);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#idle = setTimeout(() => this.#dismiss(), IDLE_MS).unref();
    };
  }

  /** For stores where rivals watch nothing: one keeper is enough from now on. Elsewhere `open` starts the keeper, with the descriptors that they watch. */
  begin(): void {
    if (this.#keeper === undefined && this.#pause === undefined) this.#start();
  }

  open(opened: OpenedSession): number {
    const key = ++this.#keys;
    this.#sessions.set(key, { ...opened, holds: new Map() });
    const { life } = opened;
    const isNew = life !== undefined && this.#keeper?.lives.includes(life.id) !== true;
    if (isNew) this.#start(); // a new keeper is told of everything
    else if (this.#keeper === undefined) this.begin();
    else this.#tellOf(key);
    return key;
  }

  /** Resolves when a keeper holds the descriptor. */
  holds(life: LifeDescriptor): Promise<void> {
    const isHeld = [this.#keeper, this.#former].some((each) => each?.isReady === true && each.lives.includes(life.id));
    if (isHeld) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ life: life.id, resolve }));
  }

  beats(key: number, beats: readonly string[]): void {
    const book = this.#sessions.get(key);
    if (book === undefined) return;
    book.session = { ...book.session, beats };
    this.#say({ word: "beats", key, beats });
  }

  claimed(key: number, holds: readonly KeptHold[]): void {
    const book = this.#sessions.get(key);
    for (const { name, bid } of holds) book?.holds.set(name, bid);
    this.#say({ word: "claimed", key, holds });
  }

  returned(key: number, holds: readonly KeptHold[]): void {
    strike(this.#sessions.get(key)?.holds ?? new Map(), holds);
    this.#say({ word: "returned", key, holds });
  }

  over(key: number): void {
    if (this.#sessions.delete(key)) this.#say({ word: "over", key });
  }

  // ---- the process

  #start(): void {
    clearTimeout(this.#pause);
    this.#pause = undefined;
    const present = this.#keeper;
    try {
      this.#keeper = this.#spawn();
    } catch (error) {
      return this.#failed(error instanceof Error ? error.message : String(error));
    }
    if (present?.isReady === true) {
      this.#farewell(this.#former);
      this.#former = present;
    } else this.#farewell(present);
    this.#introduce(this.#keeper);
  }

  #spawn(): Keeper {
    const lives = this.#livesOpen();
    const { program, app, mark } = this.#options;
    const { spawn } = process.getBuiltinModule("node:child_process"); // loaded at first use: most programs have no keeper
    const child = spawn(process.execPath, [...SMALL, program, `of ${app.pid}`], {
      detached: true,
      stdio: ["pipe", "pipe", "inherit", ...lives.map(({ descriptor }) => descriptor)],
      env: keeperEnvironment(mark),
    });
    const keeper: Keeper = { process: child, lives: lives.map(({ id }) => id), isReady: false };
    child.once("exit", (code, signal) => this.#ended(keeper, `it ended (${signal ?? code})`));
    child.once("error", (error) => this.#ended(keeper, error.message));
    child.unref();
    // If the process has no descriptor left, there are no streams, whatever the types say; an `error` follows.
    for (const stream of [child.stdin, child.stdout]) {
      stream?.on("error", () => {});
      (stream as unknown as { unref?: () => void } | null)?.unref?.();
    }
    if (child.stdout) readLines(child.stdout, (line) => this.#hear(keeper, JSON.parse(line) as FromAppKeeper));
    return keeper;
  }

  /** The number of a descriptor that was closed may belong to something else now, which must not be handed on. */
  #livesOpen(): readonly LifeDescriptor[] {
    const found = new Map<string, LifeDescriptor>();
    for (const { life } of this.#sessions.values())
      if (life !== undefined && lifeId(life.descriptor) === life.id) found.set(life.id, life);
    return [...found.values()];
  }

  #introduce(keeper: Keeper): void {
    const { app, mark, looksForChildren } = this.#options;
    const files = new Map([...this.#sessions.values()].map(({ life }) => [life?.id, life?.file]));
    const lives = keeper.lives.map((id) => files.get(id) ?? "");
    const peer = this.#former?.process.pid;
    this.#say({ word: "hello", app, mark, looksForChildren, lives, peer });
    const { pid } = keeper.process;
    if (this.#former !== undefined && pid !== undefined) send(this.#former, { word: "peer", peer: pid });
    for (const key of this.#sessions.keys()) this.#tellOf(key);
  }

  #tellOf(key: number): void {
    const book = this.#sessions.get(key);
    if (book === undefined) return;
    const { url, quietMs, session } = book;
    const index = this.#keeper?.lives.indexOf(book.life?.id ?? "") ?? -1;
    const life = index < 0 ? undefined : index;
    const holds = [...book.holds].map(([name, bid]) => ({ name, bid }));
    this.#say({ word: "session", key, url, quietMs, life, session, holds });
  }

  #say(word: ToAppKeeper): void {
    if (this.#keeper !== undefined) send(this.#keeper, word);
    if (this.#former !== undefined && word.word !== "hello" && word.word !== "session") send(this.#former, word);
  }

  #hear(keeper: Keeper, _ready: FromAppKeeper): void {
    if (keeper !== this.#keeper) return;
    keeper.isReady = true;
    this.#pauseMs = 0;
    this.#farewell(this.#former);
    this.#former = undefined;
    const waiting = this.#waiters;
    this.#waiters = waiting.filter(({ life }) => !keeper.lives.includes(life));
    for (const { life, resolve } of waiting) if (keeper.lives.includes(life)) resolve();
  }

  #ended(keeper: Keeper, why: string): void {
    if (keeper === this.#former) this.#former = undefined;
    if (keeper !== this.#keeper) return;
    this.#keeper = undefined;
    this.#failed(why);
  }

  #failed(why: string): void {
    for (const lost of this.#listeners) lost(why);
    if (this.#listeners.size === 0) return;
    this.#pauseMs = Math.min(PAUSE_LAST_MS, Math.max(PAUSE_FIRST_MS, 2 * this.#pauseMs));
    this.#pause = setTimeout(() => this.#start(), this.#pauseMs).unref();
  }

  #dismiss(): void {
    this.#farewell(this.#keeper);
    this.#farewell(this.#former);
    this.#keeper = undefined;
    this.#former = undefined;
  }

  /** A keeper that is stopped does not hear the farewell, and would hold what rivals watch; so it is killed. */
  #farewell(keeper: Keeper | undefined): void {
    if (keeper === undefined) return;
    send(keeper, { word: "farewell" });
    setTimeout(() => keeper.process.kill("SIGKILL"), LEAVES_WITHIN_MS).unref();
  }
}

/** A keeper that does not read is replaced, because what waits for it takes memory of the app. */
function send(keeper: Keeper, word: ToAppKeeper): void {
  const { stdin } = keeper.process;
  stdin?.write(`${JSON.stringify(word)}\n`);
  // If the process has no descriptor left, there is no stream at all.
  if ((stdin?.writableLength ?? 0) > UNREAD_MOST_BYTES) keeper.process.kill("SIGKILL");
}

/** Undefined if there is no such descriptor. */
export function lifeId(descriptor: number): string | undefined {
  try {
    const { dev, ino } = fstatSync(descriptor, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
