// The keeper of an app alone, told what an app would tell it. Its clock can be driven by the test; what rivals would watch is a pipe of the test.
import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { identify, type ProcessId } from "../../src/keeper/processes.ts";
import type { ToAppKeeper } from "../../src/keeper/messages.ts";
import { bundle, root } from "../support/bundle.ts";
import { happens, Stage, until } from "../supervisor/stage.ts";

const driven = fileURLToPath(new URL("../supervisor/driven-clock.mjs", import.meta.url));

export const MARK: string = `a-mark-of-${process.pid}`;
/** What must not happen is waited for so long. */
export const A_WHILE_MS = 300;

export class KeeperStage extends Stage {
  readonly started: ChildProcess[] = [];
  #keepers = 0;
  #joined: Promise<void> | undefined;

  /** Readable for other users, too. */
  override async program(): Promise<string> {
    const file = this.file("app-keeper.js");
    this.#joined ??= bundle("src/keeper/app-keeper.ts", { file, codeSplitting: false });
    await this.#joined;
    chmodSync(this.folder, 0o777);
    return file;
  }

  /** A process that plays a part; `isMarked`: as an app marks what it starts. `isAlone`: in a session of its own. */
  play(
    script: string,
    { isMarked = false, isAlone = true, under = [] as readonly string[], env = {} } = {},
  ): ChildProcess {
    const [command, ...args] = [...under, "sh", "-c", script];
    const MARKS = isMarked ? { CONCLAVE_MARKS: `app:-:other ${MARK}` } : {};
    const child = spawn(command, args, {
      detached: isAlone,
      stdio: "ignore",
      env: { ...process.env, ...MARKS, ...env },
    });
    this.started.push(child);
    return child;
  }

  /** A keeper of `app`, with a pipe that rivals would watch. `isDriven`: by `setTime`, from 0 on. */
  async keep(app: ProcessId, { isDriven = false, under = [] as readonly string[] } = {}): Promise<LoneKeeper> {
    const clock = this.file(`clock-${++this.#keepers}`);
    const life = this.file(`life-${this.#keepers}.sock`);
    writeFileSync(life, "");
    const flags = isDriven ? ["--import", driven] : [];
    const [command, ...args] = [...under, process.execPath, ...flags, await this.program(), "test"];
    const NODE_PATH = realpathSync(path.join(root, "node_modules"));
    const env = { ...process.env, NODE_PATH, DRIVEN_CLOCK: clock, STAGE_FOLDER: this.folder };
    setTime(clock, 0);
    const keeper = new LoneKeeper(spawn(command, args, { stdio: ["pipe", "pipe", "pipe", "pipe"], env }), clock, life);
    this.started.push(keeper.process);
    keeper.tell({ word: "hello", app, mark: MARK, looksForChildren: true, lives: [life] });
    await until(() => keeper.isReady, "it is ready");
    return keeper;
  }

  override async end(): Promise<void> {
    for (const child of this.started) child.kill("SIGKILL");
    await super.end();
  }
}

export class LoneKeeper {
  readonly process: ChildProcess;
  readonly life: string;
  isReady = false;
  hasLetGo = false;
  hasEnded = false;
  errors = "";
  readonly #clock: string;

  constructor(process: ChildProcess, clock: string, life: string) {
    this.process = process;
    this.life = life;
    this.#clock = clock;
    process.stdout?.on("data", () => (this.isReady = true));
    process.stderr?.on("data", (text: Buffer) => (this.errors += text.toString()));
    process.once("exit", () => (this.hasEnded = true));
    (process.stdio[3] as Readable).on("close", () => (this.hasLetGo = true)).resume();
  }

  tell(word: ToAppKeeper): void {
    this.process.stdin?.write(`${JSON.stringify(word)}\n`);
  }

  /** One session, whose rivals watch the pipe. */
  tellOfSession(quietMs = 0): void {
    const session = { id: "s", candidate: "c", ttlMs: 60_000 };
    this.tell({ word: "session", key: 1, url: "sqlite:nowhere.db", quietMs, life: 0, session, holds: [] });
  }

  setTime(atMs: number): void {
    setTime(this.#clock, atMs);
  }

  cut(): void {
    this.process.stdin?.end();
  }

  /** Sooner than it would give up. */
  letsGo(withinMs = 8000): Promise<boolean> {
    return happens(() => this.hasLetGo, withinMs);
  }
}

function setTime(clock: string, atMs: number): void {
  writeFileSync(`${clock}.new`, JSON.stringify({ atMs }));
  renameSync(`${clock}.new`, clock);
}

export function idOf(child: ChildProcess): ProcessId {
  const id = identify(child.pid ?? -1);
  if (id === undefined) throw new Error("it was not started");
  return id;
}
