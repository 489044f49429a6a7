// `conclave memo NAME [KEY]`: what the leaders of an election have noted (`term.memo`). The reads are linearizable, but prove nothing about who leads. The command writes nothing: only the
// term in the seat can.
import { elect, type Memo, type Store } from "../index.ts";
import { readAllMemos } from "../stores/memos.ts";
import { NO, UsageError, YES } from "./command.ts";
import { readFlags } from "./flags.ts";
import { follow } from "./follow.ts";
import { chooseStore, missingFile, onlyLooking, STORE_HELP } from "./store.ts";

export const help: string = `usage: conclave memo NAME [KEY] [--watch] [--store URL] [--json]

Prints the memos of the election NAME, or only the one of KEY: the value, the token of the term that wrote it, and n, which counts the writes of the key in that term.
Keys that begin with conclave/ are written by Conclave itself, such as the marks of schedules.
This command writes nothing, because only a leader can write memos (term.memo).

${STORE_HELP}
  --watch       print the memo of KEY, then a line for every change, until SIGINT (Ctrl-C) or SIGTERM
  --json        one JSON object: {"election", "memos": [{"key", "value", "token", "n"}]};
                with KEY {"election", "key", "memo": {…} | null}, and with --watch one a line, with "at", the time of day here

Exit codes: 0 there are some, or --watch was told to stop, 1 there are none, 2 the command line was not understood, 3 the store keeps no memos, did not answer or refused (the
reason is on stderr, with its code), 130 interrupted (SIGINT).
`;

const WITHIN_MS = 10_000;

const OPTIONS = {
  store: { type: "string" },
  json: { type: "boolean", default: false },
  watch: { type: "boolean", default: false },
} as const;

export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = readFlags({ args: [...args], options: OPTIONS, allowPositionals: true });
  const [name, key, ...others] = positionals;
  if (name === undefined || name === "") throw new UsageError("NAME is missing");
  if (others.length > 0) throw new UsageError(`one NAME and one KEY at a time: ${positionals.join(" ")}`);
  if (values.watch && key === undefined) throw new UsageError("--watch follows one memo: conclave memo NAME KEY");
  const store = await chooseStore(values.store);
  if (values.watch && key !== undefined) return await watch(store, name, key, values.json);
  try {
    return key === undefined ? await all(store, name, values.json) : await one(store, name, key, values.json);
  } finally {
    await store.close();
  }
}

async function all(store: Store, name: string, isJson: boolean): Promise<number> {
  elect(name, onlyLooking(store)); // refuses a text that is no name
  const call = { signal: AbortSignal.timeout(WITHIN_MS), sentAtMs: 0 };
  const memos = isMissing(store) ? [] : await readAllMemos(store, name, call);
  if (isJson) process.stdout.write(`${JSON.stringify({ election: name, memos: memos.map(memoJson) })}\n`);
  else for (const memo of memos) process.stdout.write(`${say(name, memo.key, memo)}\n`);
  if (!isJson && memos.length === 0) process.stdout.write(`"${name}" has no memos\n`);
  return memos.length === 0 ? NO : YES;
}

async function one(store: Store, name: string, key: string, isJson: boolean): Promise<number> {
  const election = elect(name, onlyLooking(store));
  const memo = isMissing(store) ? undefined : await election.memo(key);
  process.stdout.write(
    `${isJson ? JSON.stringify({ election: name, key, memo: memoJson(memo) }) : say(name, key, memo)}\n`,
  );
  return memo === undefined ? NO : YES;
}

async function watch(store: Store, name: string, key: string, isJson: boolean): Promise<number> {
  return await follow(
    "memo",
    store,
    (watcher, signal) => watcher.election(name).observeMemo(key, { signal }),
    (memo, at) =>
      isJson ? JSON.stringify({ at, election: name, key, memo: memoJson(memo) }) : `${at}  ${say(name, key, memo)}`,
  );
}

function isMissing(store: Store): boolean {
  const missing = missingFile(store);
  if (missing !== undefined) process.stderr.write(`conclave memo: there is no file ${missing} yet\n`);
  return missing !== undefined;
}

interface Shown extends Pick<Memo, "key" | "value" | "n"> {
  readonly token: { readonly value: bigint };
}

function memoJson(memo: Shown | undefined): object | null {
  return memo === undefined ? null : { key: memo.key, value: memo.value, token: `${memo.token.value}`, n: memo.n };
}

/** The value as JSON, so that each memo is one line. */
function say(name: string, key: string, memo: Shown | undefined): string {
  if (memo === undefined) return `"${name}" has no memo ${JSON.stringify(key)}`;
  return `${JSON.stringify(key)} is ${JSON.stringify(memo.value)}, written with token ${memo.token.value}, n ${memo.n}`;
}
