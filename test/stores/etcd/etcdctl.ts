// `etcdctl elect` and `etcdctl lock`, which are the Go client's own recipes, as candidates beside ours.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { promisify } from "node:util";

const ENV = { ...process.env, ETCDCTL_API: "3" };

/** One that waits, and then holds until it is told to leave. */
export class GoCandidate {
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  #said = "";

  constructor(url: string, kind: "elect" | "lock", name: string, value = "go-1", ttlSeconds = 2) {
    const args = kind === "elect" ? ["elect", name, value] : ["lock", `--ttl=${ttlSeconds}`, name];
    this.#child = spawn("etcdctl", [`--endpoints=${url}`, ...args], { env: ENV });
    this.#child.stdout?.on("data", (text: Buffer) => (this.#said += text.toString()));
    this.#child.stderr?.on("data", (text: Buffer) => (this.#said += text.toString()));
    this.#exited = new Promise((resolve) => this.#child.once("close", () => resolve()));
  }

  /** It prints its key when it has won. */
  get hasWon(): boolean {
    return this.#said.includes("/");
  }

  get said(): string {
    return this.#said;
  }

  /** The key it holds, as it printed it. */
  get key(): string {
    return this.#said.split("\n")[0] ?? "";
  }

  async won(withinMs = 15_000): Promise<void> {
    const until = performance.now() + withinMs;
    while (!this.hasWon) {
      if (performance.now() > until) throw new Error(`etcdctl did not win within ${withinMs} ms: ${this.#said}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Resigns, as Ctrl-C makes it. */
  async leave(): Promise<void> {
    this.#child.kill("SIGINT");
    await this.#exited;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }
}

/** Resolves when so many stand for the name, theirs and ours. */
export async function queued(url: string, name: string, count: number): Promise<void> {
  const args = [`--endpoints=${url}`, "get", "--prefix", `${name}/`, "--keys-only"];
  for (let standing = 0; standing < count;) {
    const { stdout } = await promisify(execFile)("etcdctl", args, { env: ENV });
    standing = stdout.split("\n").filter((key) => key !== "").length;
  }
}
