// `conclave fence adopt`: tells a guard that the store was moved on purpose (docs/FENCING.md). The operator names the domain that is left,
// and it is refused if that is not the present one: nobody adopts by mistake what somebody else has moved already.
import type { Adopted, Move } from "../fencing/index.ts";
import { type ErrorCode, isConclaveError } from "../index.ts";
import { NO, UNKNOWN, UsageError, YES } from "./command.ts";
import { onlyName, readFlags } from "./flags.ts";
import type { GuardOptions } from "../drivers/driver.ts";
import { guardAt } from "./guards.ts";

export const help: string = `usage: conclave fence adopt RESOURCE --guard URL --from DOMAIN --to DOMAIN [options]

After you have moved an election to another store on purpose: makes a guard take the tokens of the new store's domain. The message of TOKEN_FOREIGN
names both domains, and this command. Make sure that no candidate uses the old store any more: from now on its tokens are refused, however great.
Doing it twice is doing it once.

  --guard URL       where the guard is:
                      sqlite:FILE       sqliteFence() in this database; RESOURCE is what it was told to guard
                      file:FOLDER       fileFence(FOLDER, RESOURCE)
                      etcd://HOST       etcdFence(URL)
                      postgres://HOST/  postgresFence() in this database; the user may read and write its table
  --table NAME      the guard's table, if it is not conclave_fence; for sqlite: and postgres:
  --prefix PREFIX   what the guard's keys begin with, if it is not conclave-fence/; for etcd:
  --from DOMAIN     the domain that the guard knows now; refused if it knows another one
  --to DOMAIN       the domain of the new store
  --json            one JSON object: {"resource", "place", "changed", "from": {"domain", "value"}, "to": {"domain", "value"}}
                    value is the greatest token met of that domain as decimal text, or null

Guards in memory, and durableFence, belong to the process that guards: call adopt there.

Exit codes: 0 done, or done before; 1 refused, nothing was changed; 2 the command line was not understood; 3 the guard could not be reached (the reason is on stderr).
`;

export async function run(args: readonly string[]): Promise<number> {
  const { resource, move, json, ...asked } = readArgs(args);
  const guard = await guardAt(asked.guard, asked);
  if (guard.isMissing) {
    process.stderr.write(`conclave fence adopt: there is no ${guard.place}. Nothing was changed.\n`);
    return UNKNOWN;
  }
  try {
    const adopted = await guard.adopt(resource, move);
    process.stdout.write(
      json ? `${JSON.stringify(toJson(resource, guard.place, adopted))}\n` : say(resource, guard.place, adopted),
    );
    return YES;
  } catch (error) {
    process.stderr.write(`conclave fence adopt: ${explain(error, guard.place)}\n`);
    return isConclaveError(error) && !NOT_DONE.has(error.code) ? NO : UNKNOWN;
  }
}

interface Asked extends GuardOptions {
  readonly resource: string;
  readonly move: Move;
  readonly guard: string;
  readonly json: boolean;
}

function readArgs(args: readonly string[]): Asked {
  const text = { type: "string" } as const;
  const options = { guard: text, table: text, prefix: text, from: text, to: text, json: { type: "boolean" } } as const;
  const { values, positionals } = readFlags({ args: [...args], options, allowPositionals: true });
  const [verb, ...rest] = positionals;
  if (verb !== "adopt")
    throw new UsageError(
      verb === undefined ? "say what to do: adopt" : `there is no "fence ${verb}", only "fence adopt"`,
    );
  const resource = onlyName(rest, "RESOURCE");
  const { guard, table, prefix, from, to } = values;
  if (guard === undefined)
    throw new UsageError("--guard URL is needed: sqlite:FILE, file:FOLDER, etcd://… or postgres://…");
  if (from === undefined || to === undefined)
    throw new UsageError("--from and --to are needed: the domain that is left, and the new one");
  if (from === to) throw new UsageError(`--from and --to are both ${from}`);
  return { resource, move: { from, to }, guard, table, prefix, json: values.json === true };
}

/** Not the guard's own word: it could not be asked, or did not answer. */
const NOT_DONE: ReadonlySet<ErrorCode> = new Set([
  "STORE_UNREACHABLE",
  "STORE_TIMEOUT",
  "STORE_DENIED",
  "STORE_UNSUPPORTED",
  "FENCE_BUSY",
]);

function explain(error: unknown, place: string): string {
  if (isConclaveError(error)) return `${error.code}: ${error.message}`;
  const message = error instanceof Error ? error.message : String(error);
  return `${place}: ${message}. When that is mended, run it again: doing it twice is doing it once.`;
}

function toJson(resource: string, place: string, { changed, from, to }: Adopted): object {
  return { resource, place, changed, from: sideJson(from), to: sideJson(to) };
}

function sideJson({ domain, value }: Adopted["from"]): object {
  return { domain, value: value === undefined ? null : `${value}` };
}

function say(resource: string, place: string, { changed, from, to }: Adopted): string {
  if (!changed) return `"${resource}" in ${place} had adopted ${to.domain} before. Nothing was changed.\n`;
  const upTo = from.value === undefined ? "" : `, up to ${from.value}`;
  const above = to.value === undefined ? "" : ` above ${to.value}`;
  return `"${resource}" in ${place} knew tokens of ${from.domain}${upTo}.\nFrom now on it takes those of ${to.domain}${above}, and refuses those of ${from.domain}.\n`;
}
