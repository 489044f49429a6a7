// Real processes for tests of guards. Children run the source as it is, joined into one file, since Node 20 reads no TypeScript. A child speaks in lines of
// JSON on its standard output, is told things on its standard input, and ends with the test.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundle } from "../support/bundle.ts";

/** What every child begins with: conclave, `by(value)`, `say(thing)` and `heard()`, the next line from the test. */
const PREAMBLE = `
import { createInterface } from "node:readline";
import * as conclave from "CONCLAVE";
const { fileFence, parseToken } = conclave;
const by = (value) => ({ token: parseToken("etcd-1:" + value + ":b" + value) });
const say = (thing) => process.stdout.write(JSON.stringify(thing) + "\\n");
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const heard = async () => (await lines.next()).value;
const folder = process.argv[2];
const value = process.argv[3];
`;

/** Then holds every rename back: says "renaming" and waits for a line. What was to be renamed lands then, also if another has tidied up meanwhile. */
export const SLOW_RENAME = `
import fsPromises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
const { rename, readFile, writeFile } = fsPromises;
fsPromises.rename = async (from, to) => {
  const bytes = await readFile(from);
  say("renaming");
  await heard();
  await writeFile(from, bytes);
  await rename(from, to);
};
syncBuiltinESMExports();
`;

const source = (module: string): string => fileURLToPath(new URL(`../../src/${module}.ts`, import.meta.url));

export class Family {
  readonly folder: string;
  readonly #children: Child[] = [];

  get #bundle(): string {
    return path.join(this.folder, "conclave.mjs");
  }

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async begin(): Promise<Family> {
    const family = new Family(await mkdtemp(path.join(tmpdir(), "conclave-children-")));
    const stores = ["etcd", "memory", "postgres", "redis", "sqlite"].map((name) => `stores/${name}`);
    const entries = ["index", "fencing/index", "fencing/etcd", "fencing/postgres", "fencing/redis", ...stores];
    const modules = entries.map((module) => `export * from "${source(module)}";\n`);
    const input = path.join(family.folder, "entry.ts");
    await writeFile(input, modules.join(""));
    await bundle(input, { file: family.#bundle, codeSplitting: false });
    return family;
  }

  /** A folder for what is guarded. */
  place(name: string): string {
    return path.join(this.folder, name);
  }

  async spawn(code: string, ...args: string[]): Promise<Child> {
    const file = path.join(this.folder, `child-${this.#children.length}.mjs`);
    await writeFile(file, PREAMBLE.replace("CONCLAVE", pathToFileURL(this.#bundle).href) + code);
    // A binding for SQLite is found from the bundle as from the repository.
    const env = { ...process.env, NODE_PATH: fileURLToPath(new URL("../../node_modules", import.meta.url)) };
    const child = new Child(spawn(process.execPath, [file, ...args], { env }));
    this.#children.push(child);
    return child;
  }

  async end(): Promise<void> {
    for (const child of this.#children) child.kill("SIGKILL");
    await Promise.all(this.#children.map(({ ended }) => ended));
    await rm(this.folder, { recursive: true, force: true });
  }
}

export class Child {
  /** Everything that it has said. */
  readonly said: unknown[] = [];
  readonly ended: Promise<void>;
  readonly #process: ChildProcessWithoutNullStreams;
  #complaints = "";
  #over = false;

  constructor(process: ChildProcessWithoutNullStreams) {
    this.#process = process;
    process.stderr.setEncoding("utf8").on("data", (text: string) => (this.#complaints += text));
    const lines = createInterface({ input: process.stdout }).on("line", (line) => this.said.push(JSON.parse(line)));
    this.ended = new Promise((resolve) => {
      lines.once("close", () => {
        this.#over = true;
        resolve();
      });
    });
  }

  tell(line: string): void {
    this.#process.stdin.write(`${line}\n`);
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Resolves when `isDone` holds of what it has said. */
  async until(isDone: (said: readonly unknown[]) => boolean): Promise<void> {
    for (const begin = performance.now(); !isDone(this.said); await new Promise((resolve) => setTimeout(resolve, 2))) {
      if (this.#over)
        throw new Error(`the child ended, and had only said ${JSON.stringify(this.said)} ${this.#complaints}`);
      if (performance.now() - begin > 15_000) throw new Error(`the child only said ${JSON.stringify(this.said)}`);
    }
  }
}
