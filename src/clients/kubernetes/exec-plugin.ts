// A program that provides our credential, as kubeconfig files of the big clouds name one (client-go's credential plugins): it is run, and prints an ExecCredential. That credential is shown until it
// expires by its own word, or is refused. One run serves all requests that wait for it. What it prints, its arguments and its environment may be secret: no error repeats them, except for the first line that
// the program itself writes to its users on stderr.
import type { ExecFileException } from "node:child_process";
import path from "node:path";
import type { Credentials, ShownCredential } from "./access.ts";
import { KubernetesError } from "./errors.ts";
import { plainCause } from "../plain-cause.ts";
import { wallClock } from "../wall-clock.ts";

const RUNS_AT_MOST_MS = 30_000;
/** A credential is replaced this long before it expires, because a request takes time. */
const EARLY_MS = 10_000;
const KNOWN_VERSIONS = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint: string | undefined;
  /** The description of the cluster for the plugin, if the kubeconfig wants the plugin to have it. */
  readonly cluster: object | undefined;
  /** A command with a slash in it is looked for from here. */
  readonly folder: string;
}

/** An ExecCredential. */
interface Printout {
  readonly status?: Readonly<Record<string, unknown>> | null;
}

interface Printed {
  readonly shown: ShownCredential;
  readonly expiresAtMs: number;
}

export class ExecCredentials implements Credentials {
  readonly #plugin: ExecPlugin;
  readonly #runsAtMostMs: number;
  #printed: Printed | undefined;
  #running: Promise<ShownCredential> | undefined;

  /** `runsAtMostMs` is for tests. */
  constructor(plugin: ExecPlugin, runsAtMostMs: number = RUNS_AT_MOST_MS) {
    this.#plugin = plugin;
    this.#runsAtMostMs = runsAtMostMs;
  }

  /** Of many requests that were refused with one credential, the first makes the program run again. Those that hear of it later get what it has printed then. */
  get(refused?: ShownCredential): ShownCredential | Promise<ShownCredential> {
    const { shown, expiresAtMs } = this.#printed ?? {};
    const isOver = expiresAtMs !== undefined && wallClock().getTime() > expiresAtMs - EARLY_MS;
    if (shown !== undefined && shown !== refused && !isOver) return shown;
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
    return this.#running;
  }

  async #run(): Promise<ShownCredential> {
    const { apiVersion, command, args, env, cluster, folder } = this.#plugin;
    if (!KNOWN_VERSIONS.includes(apiVersion)) throw this.#failed(`it wants ${apiVersion}, which is not known here`);
    const spec = { interactive: false, ...(cluster === undefined ? {} : { cluster }) };
    const info = JSON.stringify({ apiVersion, kind: "ExecCredential", spec });
    const program = command.includes("/") ? path.resolve(folder, command) : command;
    const { execFile } = await import("node:child_process"); // few kubeconfigs name a program, so this is loaded only here
    const printed = await new Promise<string>((resolve, reject) => {
      const options = {
        env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: info },
        timeout: this.#runsAtMostMs,
        killSignal: "SIGKILL" as const, // a program that takes no notice of SIGTERM would keep every request waiting for ever
        maxBuffer: 1_000_000,
      };
      const child = execFile(program, args, options, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else
          reject(
            this.#failed(
              firstLine(stderr) || endOf(error),
              plainCause(error, () => endOf(error)),
            ),
          );
      });
      child.stdin?.end();
    });
    this.#printed = this.#read(printed);
    return this.#printed.shown;
  }

  #read(printed: string): Printed {
    const { status } = this.#parsed(printed) ?? {};
    const text = (field: string): string | undefined => {
      const value = status?.[field];
      return typeof value === "string" ? value : undefined;
    };
    const shown = { token: text("token"), cert: text("clientCertificateData"), key: text("clientKeyData") };
    if (shown.token === undefined && shown.cert === undefined)
      throw this.#failed("it printed neither token nor certificate");
    if ((shown.cert === undefined) !== (shown.key === undefined))
      throw this.#failed("it printed a certificate or its key, and not both");
    const expires = text("expirationTimestamp");
    return { shown, expiresAtMs: expires === undefined ? Infinity : Date.parse(expires) };
  }

  #parsed(printed: string): Printout | null {
    try {
      return JSON.parse(printed) as Printout | null;
    } catch {
      throw this.#failed("what it printed is no JSON"); // the error of the parser quotes it
    }
  }

  #failed(why: string, cause?: unknown): KubernetesError {
    const { command, installHint } = this.#plugin;
    const hint = installHint === undefined ? "" : `. ${firstLine(installHint).replace(/\.$/, "")}`;
    const message = `the program ${command}, which the kubeconfig names to say who we are, did not: ${why}${hint}`;
    return new KubernetesError("unknown-user", "not-applied", message, cause);
  }
}

/** Node's own message has the whole command in it. */
function endOf({ code, signal }: ExecFileException): string {
  if (typeof code === "number") return `it ended with ${code}`;
  return signal ? `it was ended by ${signal}` : `it could not be run (${code ?? "no reason is known"})`;
}

function firstLine(text: string): string {
  return text.trim().split("\n")[0] ?? "";
}
