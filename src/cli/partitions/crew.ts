// The members of the demo as their director sees them: it starts, hears, kills, stops and resumes them. It knows what they lead only from what they say.
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Relay } from "./relay.ts";
import { type DemoMember, nowMs, type MemberMessage } from "./messages.ts";

export class Hand {
  readonly id: string;
  readonly #child: ChildProcess;
  readonly #gone: Promise<void>;
  readonly #hear: () => void;
  leads: ReadonlySet<number> = new Set();
  /** Id → when this member, as the controller, was last granted its seat. */
  readonly proved: Map<string, number> = new Map();
  controls = false;
  /** When its partitions were last others than before. */
  changedMs = 0;
  /** How many partitions it has ceased to lead so far. */
  givenUp = 0;
  /** How often it has lost its session so far. */
  lost = 0;
  isBlocked = false;
  isStopped = false;
  isCut = false;
  isKilled = false;
  #isToldToEnd = false;
  errors = "";
  /** What the store last answered it with, where trying again may help. */
  trouble = "";
  /** Its way to the store, where that can be cut. */
  readonly relay: Relay | undefined;

  constructor(program: URL, options: DemoMember, relay: Relay | undefined, hear: () => void) {
    this.id = options.id;
    this.relay = relay;
    this.#hear = hear;
    this.#child = spawn(process.execPath, [fileURLToPath(program), JSON.stringify(options)], { stdio: "pipe" });
    this.#gone = new Promise((resolve) => this.#child.once("close", () => resolve()));
    this.#child.once("error", (error) => (this.errors += error.message));
    this.#child.once("close", () => {
      this.isKilled = true;
      this.leads = new Set();
      hear();
    });
    this.#child.stdin?.on("error", () => {});
    this.#child.stderr?.on("data", (text: Buffer) => (this.errors += text.toString()));
    if (this.#child.stdout !== null)
      createInterface({ input: this.#child.stdout }).on("line", (line) =>
        this.#heard(JSON.parse(line) as MemberMessage),
      );
  }

  #heard(said: MemberMessage): void {
    if (said.event === "leads") this.#heardLeads(new Set(said.partitions));
    if (said.event === "lost") this.#heardLost();
    if (said.event === "controls") this.controls = said.is;
    if (said.event === "proved") this.proved.set(said.id, nowMs());
    if (said.event === "blocked") this.isBlocked = true;
    if (said.event === "trouble" && said.isFinal) this.errors += said.message;
    if (said.event === "trouble") this.trouble = said.message;
    this.#hear();
  }

  /** What it led will be others' in a moment: the group is not at rest, though nothing has moved yet. */
  #heardLost(): void {
    this.lost++;
    this.changedMs = nowMs();
  }

  #heardLeads(leads: ReadonlySet<number>): void {
    for (const partition of this.leads) if (!leads.has(partition)) this.givenUp++;
    this.leads = leads;
    this.changedMs = nowMs();
  }

  block(ms: number): void {
    this.isBlocked = false;
    this.#child.stdin?.write(`block ${ms}\n`);
  }

  /** The partitions that it led are led by no process that acts. */
  stop(): void {
    this.#child.kill("SIGSTOP");
    this.isStopped = true;
    this.leads = new Set();
  }

  resume(): void {
    this.isStopped = false;
    this.#child.kill("SIGCONT");
  }

  cut(): void {
    this.isCut = true;
    this.relay?.cut();
  }

  mend(): void {
    this.isCut = false;
    this.relay?.mend();
  }

  /** Whether others count on it to lead something. */
  get isThere(): boolean {
    return !this.isKilled && !this.isStopped && !this.isCut;
  }

  /** It ended by itself, which it should not. */
  get hasFailed(): boolean {
    return this.isKilled && !this.#isToldToEnd;
  }

  async kill(): Promise<void> {
    this.#isToldToEnd = true;
    this.#child.kill("SIGKILL");
    await this.#gone;
  }
}
