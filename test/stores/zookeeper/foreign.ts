// Candidates of others as processes: kazoo's Election, Curator's LeaderLatch and LeaderSelector.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const JARS = [
  "curator-recipes",
  "curator-framework",
  "curator-client",
  "zookeeper",
  "zookeeper-jute",
  "guava",
  "slf4j-api",
  "slf4j-nop",
].map((name) => `/usr/share/java/${name}.jar`);

/** Compiles the program in Java once. */
export function compileCurator(): { readonly folder: string; readonly remove: () => void } {
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-curator-"));
  const source = path.join(here, "CuratorCandidate.java");
  const args = ["-17", "-nowarn", "-proc:none", "-cp", JARS.join(":"), "-d", folder, source];
  execFileSync("ecj", args, { stdio: "pipe" });
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

export class ForeignCandidate {
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  #said = "";

  constructor(command: string, args: readonly string[]) {
    this.#child = spawn(command, [...args]);
    this.#child.stdout?.on("data", (text: Buffer) => (this.#said += text.toString()));
    this.#child.stderr?.on("data", (text: Buffer) => (this.#said += text.toString()));
    this.#exited = new Promise((resolve) => this.#child.once("close", () => resolve()));
  }

  static kazoo(hosts: string, node: string, id: string, ...more: readonly "curator"[]): ForeignCandidate {
    const script = path.join(here, "kazoo-candidate.py");
    return new ForeignCandidate("/usr/bin/python3", [script, hosts, node, id, ...more]);
  }

  static curator(
    kind: "latch" | "selector",
    folder: string,
    hosts: string,
    node: string,
    id: string,
  ): ForeignCandidate {
    const java = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx96m", "-cp", [folder, ...JARS].join(":")];
    return new ForeignCandidate("java", [...java, "CuratorCandidate", kind, hosts, node, id]);
  }

  get hasWon(): boolean {
    return this.#said.includes("elected");
  }

  async says(word: "standing" | "elected", withinMs = 30_000): Promise<void> {
    const until = performance.now() + withinMs;
    while (!this.#said.includes(word)) {
      if (performance.now() > until) throw new Error(`not ${word} within ${withinMs} ms: ${this.#said}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Gives up what it leads. */
  async leave(): Promise<void> {
    this.#child.stdin?.end();
    await this.#exited;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }
}
