// One candidate of the demo, in a process of its own: leads when elected, writes to the ledger while it leads, and notes its terms for the judge.
// Argument: DemoCandidateOptions as JSON. It ends when its stdin does, so that it never outlives the demo, however that ends.
//
// To be shown refused, a stale write must really be attempted. So "compose" does what careless programs do: it checks the term, takes its time, and
// writes without checking again. It takes its time with its thread blocked: a process that is stopped meanwhile is not in the middle of a commit, where
// it would keep SQLite's lock (docs/stores/sqlite.md).
import { openSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { createCandidate, type Term, isConclaveError } from "../../index.ts";
import { StaleTokenError } from "../../fencing/index.ts";
import { sqlite } from "../../stores/sqlite.ts";
import { Ledger } from "./ledger.ts";
import { type DemoCandidateOptions, nowMs, type DemoMessage } from "./messages.ts";

const NOTE_EVERY_MS = 5;
const WRITE_EVERY_MS = 100;
const STDOUT = 1;

type Unstamped<T> = T extends DemoMessage ? Omit<T, "at"> : never;

class DemoActor {
  readonly #options: DemoCandidateOptions;
  readonly #ledger: Ledger;
  readonly #log: number;
  #term: Term | undefined;
  #minded = 0;

  constructor(options: DemoCandidateOptions) {
    this.#options = options;
    this.#ledger = new Ledger(options.ledger);
    this.#log = openSync(options.log, "a");
  }

  async stand(): Promise<void> {
    const { who, store, ttlMs } = this.#options;
    const candidate = createCandidate({ store: sqlite(store), id: who, ttlMs });
    candidate.subscribe((event) => {
      if (event.type === "error") this.#say({ event: "trouble", message: event.error.message });
    });
    this.#say({ event: "ready" });
    await candidate.election("demo").lead((term) => this.#lead(term));
  }

  obey(line: string): void {
    const [word, pid] = line.split(" ");
    if (word === "compose") this.#compose();
    if (word === "mind") this.#minded = Number(pid);
  }

  /** The demo is gone. */
  leave(): void {
    try {
      if (this.#minded > 0) process.kill(this.#minded, "SIGCONT");
    } finally {
      process.exit(0);
    }
  }

  async #lead(term: Term): Promise<void> {
    this.#note("begin", term);
    this.#term = term;
    const token = `${term.token.value}`;
    this.#say({ event: "elected", token });
    this.#write(term, false);
    const notes = setInterval(() => this.#note("act", term), NOTE_EVERY_MS);
    const writes = setInterval(() => term.isLeading() && this.#write(term, false), WRITE_EVERY_MS);
    const reason = await term.ended;
    clearInterval(notes);
    clearInterval(writes);
    this.#note("end", term);
    this.#term = undefined;
    this.#say({ event: "lost", token, reason });
  }

  #compose(): void {
    const term = this.#term;
    if (term?.isHeld() !== true) return;
    this.#say({ event: "composing", token: `${term.token.value}` });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, this.#options.composeMs);
    this.#write(term, true);
  }

  #write(term: Term, composed: boolean): void {
    const token = `${term.token.value}`;
    try {
      this.#ledger.append(term, this.#options.who, composed ? 1000 : 1);
      this.#say({ event: "wrote", token, composed });
    } catch (error) {
      if (error instanceof StaleTokenError)
        this.#say({ event: "refused", token: `${error.presented.value}`, newest: `${error.newest.value}`, composed });
      else this.#say({ event: "trouble", message: error instanceof Error ? error.message : String(error) });
    }
  }

  /** The stamp is read before the term says that it is held. */
  #note(what: "begin" | "act" | "end", term: Term): void {
    const at = nowMs();
    if (term.isHeld()) writeSync(this.#log, `${at} ${this.#options.who} ${what} ${term.token.value}\n`);
  }

  /** Is written at once, so that a process that is stopped right after has said it. */
  #say(said: Unstamped<DemoMessage>): void {
    try {
      writeSync(STDOUT, `${JSON.stringify({ at: nowMs(), ...said })}\n`);
    } catch {
      this.leave();
    }
  }
}

function main(): void {
  // Ctrl-C reaches all processes of a terminal; the demo decides what becomes of these.
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => {});
  const actor = new DemoActor(JSON.parse(process.argv[2] ?? "{}") as DemoCandidateOptions);
  const commands = createInterface({ input: process.stdin });
  commands.on("line", (line) => actor.obey(line));
  commands.on("close", () => actor.leave());
  actor.stand().catch((error: unknown) => {
    const code = isConclaveError(error) ? `${error.code}: ` : "";
    process.stderr.write(`${code}${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  });
}

main();
