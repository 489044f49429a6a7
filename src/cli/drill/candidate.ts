// One candidate of a drill, in a process of its own: leads when elected, and writes to the resource (the drill itself, over stdout) every few milliseconds
// while it leads. It reads the clock, then asks whether it holds the term, then acts; so what it notes for the judge was held at that instant.
// It ends when its stdin does, so that it never outlives the drill.
import { openSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import {
  type Candidate,
  createCandidate,
  formatToken,
  isConclaveError,
  openStore,
  type UnfencedTerm,
} from "../../index.ts";
import type { Term } from "../../index.ts";
import { type DrillCandidateOptions, nowMs, type DrillMessage } from "./messages.ts";

const WRITE_EVERY_MS = 5;
const STDOUT = 1;

type Unstamped<T> = T extends DrillMessage ? Omit<T, "at"> : never;

class DrillActor {
  readonly #options: DrillCandidateOptions;
  readonly #log: number;
  #candidate: Candidate<UnfencedTerm> | undefined;
  #term: UnfencedTerm | undefined;
  #token = "0";
  #fence = "";
  #writes = 0;
  #resign: (() => void) | undefined;
  #stand: (() => void) | undefined;

  constructor(options: DrillCandidateOptions) {
    this.#options = options;
    this.#log = openSync(options.log, "a");
  }

  async run(): Promise<void> {
    const { url, id, ttlMs, election: name } = this.#options;
    const candidate = createCandidate({ store: await openStore(url), id, ttlMs, unfenced: true });
    this.#candidate = candidate;
    candidate.subscribe((event) => {
      if (event.type === "leader") this.#say({ event: "waiting" });
      if (event.type === "error") this.#say({ event: "trouble", code: event.error.code, message: event.error.message });
    });
    const election = candidate.election(name);
    for (;;) {
      await election.lead((term) => this.#lead(term));
      await new Promise<void>((resolve) => (this.#stand = resolve));
    }
  }

  obey(word: string): void {
    if (word === "resign") this.#resign?.();
    if (word === "stand") this.#stand?.();
    if (word === "compose") this.#compose();
    if (word === "report") this.#say({ event: "written", writes: this.#writes, lastToken: this.#token });
  }

  /** It was told to leave, or the drill is gone: it gives back what it holds, but does not wait for long. */
  leave(): void {
    setTimeout(() => process.exit(0), 2000).unref();
    void this.#candidate?.close().finally(() => process.exit(0));
    if (this.#candidate === undefined) process.exit(0);
  }

  async #lead(term: UnfencedTerm): Promise<void> {
    const resigned = new Promise<string>((resolve) => (this.#resign = () => resolve("resigned")));
    this.#begin(term);
    const writes = setInterval(() => this.#act(term, "act"), WRITE_EVERY_MS);
    const reason = await Promise.race([term.ended, resigned]);
    clearInterval(writes);
    this.#act(term, "end");
    this.#term = undefined;
    if (reason === "resigned") this.#say({ event: "resigning", token: this.#token });
    else this.#say({ event: "lost", token: this.#token, reason });
    // `lead` stands again for a term that was lost. A term that was given up on purpose is stood for again only when the drill says so.
  }

  #begin(term: UnfencedTerm): void {
    const { token } = term as Partial<Term>;
    // Without tokens, the order in which terms began takes their place.
    this.#token = token === undefined ? `${Math.round(nowMs() * 1000)}` : `${token.value}`;
    this.#fence = token === undefined ? "" : formatToken(token);
    this.#term = term;
    this.#say({ event: "elected", token: this.#token });
    this.#act(term, "begin");
  }

  #act(term: UnfencedTerm, what: "begin" | "act" | "end"): void {
    const at = nowMs();
    if (!term.isHeld()) return;
    writeSync(this.#log, `${at} ${this.#options.id} ${what} ${this.#token}\n`);
    if (term.isLeading()) this.#write(at, false);
  }

  /** Blocks the thread, so that a signal that stops the process now stops it before the write. */
  #compose(): void {
    if (this.#term?.isHeld() !== true) return;
    const at = nowMs();
    this.#say({ event: "composing", token: this.#token });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, this.#options.composeMs);
    this.#write(at, true);
  }

  #write(at: number, composed: boolean): void {
    this.#writes++;
    this.#put({ at, event: "write", number: this.#writes, token: this.#token, fence: this.#fence, composed });
  }

  #say(said: Unstamped<DrillMessage>): void {
    this.#put({ at: nowMs(), ...said });
  }

  /** Is written at once, so that a process that is stopped or killed right after has said it. */
  #put(said: DrillMessage): void {
    try {
      writeSync(STDOUT, `${JSON.stringify(said)}\n`);
    } catch {
      process.exit(0);
    }
  }
}

function main(): void {
  // Ctrl-C reaches all processes of a terminal; the drill decides what becomes of these.
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => {});
  let actor: DrillActor | undefined;
  const lines = createInterface({ input: process.stdin });
  lines.on("close", () => (actor === undefined ? process.exit(0) : actor.leave()));
  lines.on("line", (line) => {
    if (actor !== undefined) return actor.obey(line);
    actor = new DrillActor(JSON.parse(line) as DrillCandidateOptions);
    actor.run().catch((error: unknown) => {
      const code = isConclaveError(error) ? `${error.code}: ` : "";
      process.stderr.write(`${code}${error instanceof Error ? error.message : String(error)}\n`);
      process.exit(1);
    });
  });
}

main();
