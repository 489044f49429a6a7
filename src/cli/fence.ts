// `conclave fence adopt`: tells a guard that the store was moved on purpose (docs/FENCING.md). `conclave fence lower`: takes back a token that no store has granted.
// The operator names what the guard knows now, the domain or the value. If the guard knows something else, the change is refused: so nobody changes
// by mistake what somebody else has changed already.
import type { Adopted, Lowering, Move } from "../fencing/index.ts";
import { type ErrorCode, isConclaveError } from "../index.ts";
import { NO, UNKNOWN, UsageError, YES } from "./command.ts";
import { onlyName, readFlags } from "./flags.ts";
import type { FencingGuardOptions } from "../drivers/driver.ts";
import { guardAt } from "./guards.ts";

export const help: string = `usage: conclave fence adopt RESOURCE --guard URL --from DOMAIN --to DOMAIN [options]
       conclave fence lower RESOURCE --guard URL --domain DOMAIN --from VALUE --to VALUE [options]

adopt: after you have moved an election to another store on purpose: makes a guard take the tokens of the new store's domain. The message of TOKEN_FOREIGN
names both domains, and this command. Make sure that no candidate uses the old store any more: from now on its tokens are refused, however great.
lower: after a guard was shown a token that no store has granted, and refuses every leader since. Makes it take tokens above --to again. Withdraw the key
that signed it, or close the way it came, first; and make sure that no leader older than the present one still writes: its token may be above --to, too.
Doing either twice is doing it once.

  --guard URL       where the guard is:
                      sqlite:FILE       sqliteFence() in this database; RESOURCE is what it guards
                      file:FOLDER       fileFence(FOLDER, RESOURCE)
                      etcd://HOST       etcdFence(URL)
                      postgres://HOST/  postgresFence() in this database
                      redis://HOST      redisFence() on this server
  --table NAME      the guard's table, if it is not conclave_fence; for sqlite: and postgres:
  --prefix PREFIX   what the guard's keys begin with, if it is not the usual one; for etcd: and redis:
  --from DOMAIN     adopt: the domain that the guard knows now; refused if it knows another one
  --to DOMAIN       adopt: the domain of the new store
  --domain DOMAIN   lower: the domain that the guard knows
  --from VALUE      lower: the value that the guard knows now, as TOKEN_STALE names it; refused if it knows a greater one
  --to VALUE        lower: one less than the token of the present leader (conclave leader NAME shows it), so that this leader goes on
  --json            one JSON object: {"resource", "place", "changed", "from": {"domain", "value"}, "to": {"domain", "value"}};
                    value is the greatest token met of that domain as decimal text, or null

Guards in memory, and durableFence, belong to the process that guards: call adopt there, with { domain, from, to } to lower.

Exit codes: 0 done, or done before; 1 refused, nothing was changed; 2 the command line was not understood; 3 the guard could not be reached (the reason is on stderr).
`;

export async function run(args: readonly string[]): Promise<number> {
  const { verb, resource, move, json, ...asked } = readArgs(args);
  const guard = await guardAt(asked.guard, asked);
  if (guard.isMissing) {
    process.stderr.write(`conclave fence ${verb}: there is no ${guard.place}. Nothing was changed.\n`);
    return UNKNOWN;
  }
  try {
    const adopted = await guard.adopt(resource, move);
    process.stdout.write(
      json ? `${JSON.stringify(toJson(resource, guard.place, adopted))}\n` : say(resource, guard.place, adopted),
    );
    return YES;
  } catch (error) {
    process.stderr.write(`conclave fence ${verb}: ${explain(error, guard.place)}\n`);
    return isConclaveError(error) && !NOT_DONE.has(error.code) ? NO : UNKNOWN;
  }
}

interface Asked extends FencingGuardOptions {
  readonly verb: "adopt" | "lower";
  readonly resource: string;
  readonly move: Move | Lowering;
  readonly guard: string;
  readonly json: boolean;
}

function readArgs(args: readonly string[]): Asked {
  const text = { type: "string" } as const;
  const options = {
    guard: text,
    table: text,
    prefix: text,
    domain: text,
    from: text,
    to: text,
    json: { type: "boolean" },
  } as const;
  const { values, positionals } = readFlags({ args: [...args], options, allowPositionals: true });
  const [verb, ...rest] = positionals;
  if (verb !== "adopt" && verb !== "lower")
    throw new UsageError(
      verb === undefined
        ? "say what to do: adopt or lower"
        : `there is no "fence ${verb}", only "fence adopt" and "fence lower"`,
    );
  const resource = onlyName(rest, "RESOURCE");
  const { guard, table, prefix } = values;
  if (guard === undefined)
    throw new UsageError("--guard URL is needed: sqlite:FILE, file:FOLDER, etcd://…, postgres://… or redis://…");
  const move = verb === "adopt" ? readMove(values) : readLowering(values);
  return { verb, resource, move, guard, table, prefix, json: values.json === true };
}

interface Ends {
  readonly domain?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

function readMove({ domain, from, to }: Ends): Move {
  if (domain !== undefined) throw new UsageError("--domain goes with fence lower");
  if (from === undefined || to === undefined)
    throw new UsageError("--from and --to are needed: the domain that is left, and the new one");
  if (from === to) throw new UsageError(`--from and --to are both ${from}`);
  return { from, to };
}

function readLowering({ domain, from, to }: Ends): Lowering {
  if (domain === undefined || from === undefined || to === undefined)
    throw new UsageError(
      "--domain, --from and --to are needed: the domain, the value that the guard knows, and the smaller one",
    );
  const [known, lower] = [readValue("--from", from), readValue("--to", to)];
  if (lower >= known) throw new UsageError(`--to ${lower} is not below --from ${known}`);
  return { domain, from: known, to: lower };
}

function readValue(flag: string, text: string): bigint {
  if (!/^(?:0|[1-9][0-9]{0,38})$/.test(text)) throw new UsageError(`${flag} is the value of a token, in decimal`);
  return BigInt(text);
}

/** Errors that are not the guard's own answer: it could not be asked, or did not answer. */
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
  if (from.domain === to.domain)
    return changed
      ? `"${resource}" in ${place} knew token ${from.value} of ${from.domain}.\nFrom now on it takes those above ${to.value}.\n`
      : `"${resource}" in ${place} knew token ${to.value} of ${to.domain} already. Nothing was changed.\n`;
  if (!changed) return `"${resource}" in ${place} had adopted ${to.domain} before. Nothing was changed.\n`;
  const upTo = from.value === undefined ? "" : `, up to ${from.value}`;
  const above = to.value === undefined ? "" : ` above ${to.value}`;
  return `"${resource}" in ${place} knew tokens of ${from.domain}${upTo}.\nFrom now on it takes those of ${to.domain}${above}, and refuses those of ${from.domain}.\n`;
}
