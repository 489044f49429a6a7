// One member of the demo, in a process of its own: leads what it is assigned, and notes every partition that it holds, every few milliseconds, for the judge.
// Argument: DemoMember as JSON. It ends when its stdin does, so that it never outlives the demo.
//
// On "block MS" it blocks its thread: a process that is stopped meanwhile is not in the middle of a commit, where it would keep SQLite's lock (docs/stores/sqlite.md).
import { openSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { joinPartitions, type PartitionTerm } from "../../partitions/index.ts";
import { openStore, requireFenced } from "../../index.ts";
import { type DemoMember, noteEveryMs, nowMs, type MemberMessage } from "./messages.ts";

const STDOUT = 1;
const CONTROLS_EVERY_MS = 200;

class GroupMember {
  readonly #options: DemoMember;
  readonly #log: number;
  readonly #terms = new Map<number, PartitionTerm>();
  #isToldSoon = false;

  constructor(options: DemoMember) {
    this.#options = options;
    this.#log = openSync(options.log, "a");
  }

  async join(): Promise<void> {
    const { id, group: name, store: url, ttlMs, partitions } = this.#options;
    const seats = `partitions/${name}/member/`;
    const store = await openStore(url);
    requireFenced(store);
    const group = await joinPartitions(name, {
      store,
      id,
      ttlMs,
      partitions,
      onEvent: (event) => {
        if (event.type === "error")
          this.#say({ event: "trouble", message: event.error.message, isFinal: !event.error.retryable });
        const election = ("election" in event ? event.election : undefined) ?? "";
        const other = election.startsWith(seats) ? election.slice(seats.length) : undefined;
        // A term may end before its deadline because renewals get no answer. Then it is not lost but given up.
        if (event.type === "state" && event.state === "ending" && other === id) this.#say({ event: "lost" });
        if (event.type === "elected" && other !== undefined && other !== id) this.#say({ event: "proved", id: other });
      },
      onAssigned: (partition, term) => this.#lead(partition, term),
    });
    setInterval(() => this.#note("act", [...this.#terms.values()]), noteEveryMs(partitions));
    setInterval(() => this.#say({ event: "controls", is: group.isController() }), CONTROLS_EVERY_MS);
  }

  block(ms: number): void {
    this.#say({ event: "blocked" });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  }

  async #lead(partition: number, term: PartitionTerm): Promise<void> {
    this.#note("begin", [term]);
    this.#terms.set(partition, term);
    this.#tell();
    await new Promise<void>((resolve) => term.signal.addEventListener("abort", () => resolve(), { once: true }));
    this.#note("end", [term]);
    this.#terms.delete(partition);
    this.#tell();
  }

  /** The stamp is read before the terms say that they are held. One write for all, so that lines do not mix. */
  #note(what: "begin" | "act" | "end", terms: readonly PartitionTerm[]): void {
    const at = nowMs();
    const held = terms.filter((term) => term.isHeld());
    const lines = held.map(({ partition, token }) => `${partition} ${at} ${this.#options.id} ${what} ${token.value}\n`);
    if (lines.length > 0) writeSync(this.#log, lines.join(""));
  }

  #tell(): void {
    if (this.#isToldSoon) return;
    this.#isToldSoon = true;
    setImmediate(() => {
      this.#isToldSoon = false;
      this.#say({ event: "leads", partitions: [...this.#terms.keys()] });
    });
  }

  #say(said: MemberMessage): void {
    try {
      writeSync(STDOUT, `${JSON.stringify(said)}\n`);
    } catch {
      process.exit(0);
    }
  }
}

function main(): void {
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => {});
  const member = new GroupMember(JSON.parse(process.argv[2] ?? "{}") as DemoMember);
  const commands = createInterface({ input: process.stdin });
  commands.on("line", (line) => member.block(Number(line.split(" ")[1])));
  commands.on("close", () => process.exit(0));
  member.join().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  });
}

main();
