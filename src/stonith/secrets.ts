// Secrets of devices: passwords, keys, communities. They come from a file or from a variable of the environment, never from the configuration itself, and never reach a command line, a log,
// an event or an error. Everybody on a host can read /proc/PID/cmdline, and `ps` shows it.
//
// A file that its group or others may read is refused, because anybody who can power a machine off can end the whole cluster. It is read anew for
// each use, so that a changed password needs no restart.
import { readFileSync, statSync } from "node:fs";
import { ConclaveError } from "../base/errors.ts";

/** Where a secret comes from. */
export type SecretSource = { readonly file: string } | { readonly env: string };

const SHELL_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Variables that a shell sets by itself. */
const OF_SHELLS = ["IFS", "OPTIND", "PPID"];
/** Striking out a shorter secret would tell what it is: then nothing of the text is shown. */
const STRUCK_LEAST = 3;

/** Whether a shell keeps a variable of this name as it is. */
export function isShellName(name: string): boolean {
  return SHELL_NAME.test(name) && !OF_SHELLS.includes(name);
}

export function isSecretSource(value: unknown): value is SecretSource {
  if (typeof value !== "object" || value === null || Object.keys(value).length !== 1) return false;
  const { file, env } = value as { readonly file?: unknown; readonly env?: unknown };
  return (typeof file === "string" && file !== "") || (typeof env === "string" && isShellName(env));
}

/** Why it cannot be used now; undefined if it can. */
export function problemOfSecret(source: SecretSource): string | undefined {
  try {
    readSecret(source);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The secret, without the line break at the end of its file. Throws CONFIG_INVALID: the message names the place, never the value. */
export function readSecret(source: SecretSource): string {
  const secret = "env" in source ? fromEnvironment(source.env) : fromFile(source.file);
  const place = "env" in source ? `the environment variable ${source.env}` : `the secret file ${source.file}`;
  if (secret === "") throw unusable(`${place} is empty`);
  // A secret travels as one line, in a file or to an agent's stdin.
  if (/[\n\r\0]/.test(secret)) throw unusable(`${place} holds more than one line`);
  return secret;
}

function fromEnvironment(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw unusable(`the environment variable ${name}, which holds a secret, is not set`);
  return value;
}

function fromFile(file: string): string {
  try {
    const { mode, uid } = statSync(file);
    const own = process.getuid?.() ?? uid;
    if ((mode & 0o077) !== 0) throw unusable(`others may read the secret file ${file}: chmod 600 ${file}`);
    if (uid !== own && uid !== 0) throw unusable(`the secret file ${file} belongs to another user, who can change it`);
    return readFileSync(file, "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    if (error instanceof ConclaveError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw unusable(`the secret file ${file} cannot be read (${code ?? "unknown reason"})`);
  }
}

function unusable(message: string): ConclaveError {
  return new ConclaveError("CONFIG_INVALID", message);
}

/** `text` with every secret struck out, also as an agent may have escaped it. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  if (secrets.some((secret) => secret.length < STRUCK_LEAST)) return "[not shown]";
  const forms = secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]);
  const longestFirst = [...new Set(forms)].toSorted((a, b) => b.length - a.length);
  return longestFirst.reduce((rest, form) => rest.replaceAll(form, "[secret]"), text);
}
